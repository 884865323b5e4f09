package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	strike "github.com/linkwright/linkwright/hack/fault"
)

// pseudoterminal gives both ends of one, of that size: what a program writes to the second is read from the first.
func pseudoterminal(width, height uint16) (ours, its *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(ours.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width})
	}
	if err != nil {
		return nil, nil, err
	}
	its, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	return ours, its, err
}

// onTerminal: on a terminal a sync shows a tree, and then the report in its place, with colours.
func (s *slow) onTerminal() {
	if os.Getenv("TERM") == "dumb" || os.Getenv("NO_COLOR") != "" {
		s.t.Skip("no tree and no colours are wanted")
	}
	ours, its, err := pseudoterminal(100, 30)
	if err != nil {
		s.t.Skipf("no pseudoterminal: %v", err)
	}
	defer func() { _ = ours.Close() }()
	s.east.Set(strike.Rule{Verb: "list", Fault: strike.Fault{Delay: 4 * time.Second}})
	defer s.east.Set()
	c := s.startTo(s.t.Context(), its, its, "sync")
	_ = its.Close() // the program has it
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(ours) // ends with an error, as a terminal does that nobody has any more
		read <- string(text)
	}()
	err = c.Wait()
	text := <-read
	if file := os.Getenv("LINKWRIGHT_FRAMES"); file != "" {
		_ = os.WriteFile(file, []byte(text), 0o600)
	}
	if exit, ok := err.(*exec.ExitError); err != nil && !ok { //nolint:errorlint // as Wait gives it
		s.t.Fatal(exit, err)
	}
	if !regexp.MustCompile(`sync  \d+s`).MatchString(text) || !regexp.MustCompile(`east  does not answer, \d+s, a request may take 15s`).MatchString(text) {
		s.t.Errorf("no tree:\n%q", text)
	}
	last := text[strings.LastIndex(text, "\x1b[J")+len("\x1b[J"):]
	if !regexp.MustCompile(`1 link: 1 \x1b\[3[26]m(Ready|Progressing)\x1b\[0m; `).MatchString(last) || strings.Contains(last, "sync  ") {
		s.t.Errorf("the report is not the last:\n%q", last)
	}
	if strings.Contains(text, "level=INFO") {
		s.t.Errorf("the log is shown beside the tree:\n%q", text)
	}
}

// TestTerminal: no line of the tree is longer than the terminal is wide, also after it became narrower. With TERM=dumb there is no tree, and no
// sequence.
func TestTerminal(t *testing.T) {
	t.Parallel()
	m := newMute(t)
	for _, term := range []string{"xterm", "dumb"} {
		t.Run(term, func(t *testing.T) {
			t.Parallel()
			ours, its, err := pseudoterminal(20, 10)
			if err != nil {
				t.Skipf("no pseudoterminal: %v", err)
			}
			defer func() { _ = ours.Close() }()
			c := exec.CommandContext(t.Context(), "linkwright", m.args("get links --kubeconfig KUBECONFIG")...) //nolint:gosec // our own
			c.Stdout, c.Stderr, c.Env = its, its, append(os.Environ(), "TERM="+term, "NO_COLOR=1")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			_ = its.Close() // the program has it
			var shown lines
			ended := make(chan struct{})
			go func() {
				_, _ = io.Copy(&shown, ours) // ends with an error, as a terminal does that nobody has any more
				close(ended)
			}()
			wide, narrow := frames(term)
			shows(t, &shown, wide)
			if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 10, Col: 12}); err != nil {
				t.Error(err)
			}
			shows(t, &shown, narrow)
			_ = c.Process.Signal(os.Interrupt)
			_ = c.Wait() // with an exit code
			<-ended
			if text := shown.String(); term == "dumb" && strings.Contains(text, "\x1b") {
				t.Errorf("sequences of a terminal:\n%q", text)
			}
		})
	}
}

// frames are those of a terminal with 20 columns, and then with 12, which break both lines that are drawn.
func frames(term string) (wide, narrow string) {
	if term == "dumb" {
		const line = `^waiting \d+s: for the management cluster\r\n`
		return line, line
	}
	return `get links  \d+s\x1b\[K\r\n► the management cl…\x1b\[K\r\n`, `\x1b\[4Aget links  …\x1b\[K\r\n► the manag…\x1b\[K\r\n`
}

// shows waits until a terminal has shown what matches.
func shows(t *testing.T, shown *lines, pattern string) {
	t.Helper()
	for began := time.Now(); !regexp.MustCompile(pattern).MatchString(shown.String()); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("no %q in\n%q", pattern, shown.String())
		}
	}
}
