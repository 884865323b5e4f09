package pages

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// shell is one bash that lives as long as a page is followed.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	n   int
}

const done = "block-is-done"

func newShell(t *testing.T, dir string, env []string) *shell {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = to, to
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = to.Close()
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait(); _ = out.Close() })
	return &shell{t: t, in: in, out: bufio.NewReader(out)}
}

// run gives the exit code of the last command that failed, 0 if none did, and all that the block printed.
func (s *shell) run(commands string) (int, string) {
	s.t.Helper()
	s.n++
	file := filepath.Join(s.t.TempDir(), strconv.Itoa(s.n))
	if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "set -E; failed=0; trap 'failed=$?' ERR; . %s; trap - ERR; echo; echo %s $failed\n", file, done); err != nil {
		s.t.Fatal(err)
	}
	var text strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s\n%s: the shell ended: %v", commands, text.String(), err)
		}
		if code, ok := strings.CutPrefix(line, done+" "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(code))
			if err != nil {
				s.t.Fatal(err)
			}
			return n, strings.TrimRight(text.String(), "\n") + "\n"
		}
		text.WriteString(line)
	}
}
