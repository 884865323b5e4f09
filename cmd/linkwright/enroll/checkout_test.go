package enroll

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/render/overlay/sandbox"
)

// newCheckout is a repository with one commit on main.
func newCheckout(t *testing.T) checkout {
	t.Helper()
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "person")
		t.Setenv("GIT_"+who+"_EMAIL", "person@example.com")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	c := checkout{dir: t.TempDir()}
	c.must(t, "init", "--quiet", "--initial-branch=main")
	c.must(t, "commit", "--quiet", "--allow-empty", "--message", "begin")
	return c
}

func (c checkout) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.git(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (c checkout) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// What git would refuse to commit is known before anything is written.
func TestFree(t *testing.T) {
	files := west()
	for name, tt := range map[string]struct {
		says    string
		prepare func(t *testing.T, c checkout)
	}{
		"a clean checkout": {"", func(*testing.T, checkout) {}},
		"an ignored path": {".gitignore", func(t *testing.T, c checkout) {
			c.write(t, ".gitignore", "clusters/\n", 0o600)
		}},
		"a merge": {"MERGE_HEAD", func(t *testing.T, c checkout) {
			c.must(t, "switch", "--quiet", "--create", "side")
			c.must(t, "commit", "--quiet", "--allow-empty", "--message", "side")
			c.must(t, "switch", "--quiet", "main")
			c.must(t, "merge", "--quiet", "--no-ff", "--no-commit", "side")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t)
			tt.prepare(t, c)
			err := c.free(t.Context(), files)
			if tt.says == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("free: %v, want %q", err, tt.says)
			}
			if _, failed := c.commit(t.Context(), files, "Declare west"); (failed == nil) != (err == nil) {
				t.Errorf("free: %v, but commit: %v", err, failed)
			}
		})
	}
}

// A rebase has no branch checked out.
func TestOpenCheckoutInRebase(t *testing.T) {
	c := newCheckout(t)
	c.must(t, "switch", "--quiet", "--detach")
	if _, err := openCheckout(t.Context(), c.dir); err == nil || !strings.Contains(err.Error(), "finish a rebase") {
		t.Errorf("openCheckout: %v", err)
	}
}

// A Ctrl-C in the terminal ends git and its hooks, too. Either the commit is there, or nothing of it is and the next run makes it.
func TestInterruptedCommit(t *testing.T) {
	if os.Getenv("LINKWRIGHT_COMMIT_IN") != "" {
		commitInterrupted(t)
		return
	}
	for hook, want := range map[string]string{"pre-commit": "begin", "post-commit": "Declare west"} {
		t.Run(hook, func(t *testing.T) {
			c := newCheckout(t)
			c.write(t, ".git/hooks/"+hook, "#!/bin/sh\nkill -INT 0; sleep 1\n", 0o700)
			commitApart(t, c)
			if got := c.must(t, "log", "-1", "--format=%s"); got != want {
				t.Errorf("the last commit is %q, want %q", got, want)
			}
			if got := c.must(t, "status", "--porcelain"); got != "" {
				t.Errorf("it left %s", got)
			}
			if err := os.Remove(filepath.Join(c.dir, ".git/hooks", hook)); err != nil {
				t.Fatal(err)
			}
			if want == "begin" {
				if _, err := c.commit(t.Context(), west(), "Declare west"); err != nil {
					t.Errorf("run again: %v", err)
				}
			}
		})
	}
}

// commitApart commits in a process group of its own, as in a terminal: the signal does not reach this test.
func commitApart(t *testing.T, c checkout) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptedCommit$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), "LINKWRIGHT_COMMIT_IN="+c.dir)
	cmd.SysProcAttr = sandbox.Apart()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func west() map[string]string { return map[string]string{"clusters/west.yaml": "kind: Cluster\n"} }

// commitInterrupted commits as the program does, which catches the signal.
func commitInterrupted(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	c := checkout{dir: os.Getenv("LINKWRIGHT_COMMIT_IN")}
	hash, err := c.commit(ctx, west(), "Declare west")
	if head := c.must(t, "rev-parse", "HEAD"); (err == nil) != (hash == head) {
		t.Errorf("commit: %q, %v, but the branch has %s", hash, err, head)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Error("no signal came")
	}
}
