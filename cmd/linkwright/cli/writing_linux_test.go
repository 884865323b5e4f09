package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal: what is written to the person's end is read from the program's end.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there is no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// A person on a terminal is asked, and only a yes goes on; --yes and a dry run ask nothing.
func TestConfirmOnATerminal(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "yess\n": false} {
		person, program := terminal(t)
		var w Writing
		var stderr bytes.Buffer
		c := &cobra.Command{Use: "uninstall"}
		w.AddAsking(c.Flags())
		c.SetIn(program)
		c.SetErr(&stderr)
		c.SetContext(t.Context())
		if _, err := person.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		err := w.Confirm(c, "Remove all of this?")
		var exit Exit
		if want != (err == nil) || err != nil && (!errors.As(err, &exit) || exit.Code != ExitPartial) || !strings.Contains(stderr.String(), "Remove all of this? [y/N] ") {
			t.Errorf("%q: %v, asked %q", answer, err, &stderr)
		}
	}
}

// Without a terminal the error has the command that goes on, as a shell reads it, without a password or token of an address.
func TestConfirmWithoutATerminal(t *testing.T) {
	var w Writing
	var only []string
	root, c := &cobra.Command{Use: "linkwright"}, &cobra.Command{Use: "release"}
	root.AddCommand(c)
	w.AddAsking(c.Flags())
	c.Flags().String("git-proxy", "", "")
	c.Flags().String("repo", "", "")
	c.Flags().Bool("all", false, "")
	c.Flags().StringArrayVar(&only, "only-write", nil, "")
	if err := c.ParseFlags([]string{"west → it's", "--all", "--git-proxy", "http://ann:secret@proxy:80", "--repo", "https://secret@git.example.com/x", "--only-write", "a", "--only-write", "b"}); err != nil {
		t.Fatal(err)
	}
	c.SetIn(strings.NewReader("y\n"))
	err := w.Confirm(c, "Give this up?")
	want := `linkwright release 'west → it'\''s' --all --git-proxy http://ann:xxxxx@proxy:80 --only-write a --only-write b --repo https://xxxxx@git.example.com/x --yes`
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want the command\n%s", err, want)
	}
	if err := c.ParseFlags([]string{"--yes"}); err != nil || w.Confirm(c, "Give this up?") != nil {
		t.Errorf("with --yes: %v", err)
	}
	if err := c.ParseFlags([]string{"--dry-run", "client"}); err != nil || w.Yes() || !w.Dry() {
		t.Errorf("--yes writes in a dry run, or %v", err)
	}
}
