package overlay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Where memory runs out, the kernel is to take a child, not its parent.
func TestOffer(t *testing.T) {
	c := newCage(t, Options{Children: 1})
	if _, err := c.build(t.Context(), smallJob()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", c.idle[0].cmd.Process.Pid))
	if diff := cmp.Diff("1000\n", string(text)); diff != "" || err != nil {
		t.Errorf("oom_score_adj of a child: %v, -want +got\n%s", err, diff)
	}
}

// Where linkwright runs as root, what builds does not.
func TestDropRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this test is for root")
	}
	c := newCage(t, Options{Children: 1})
	if _, err := c.build(t.Context(), smallJob()); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", c.idle[0].cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads: %v, %v", threads, err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"\nUid:\t65534\t65534\t65534\t65534\n", "\nGid:\t65534\t65534\t65534\t65534\n", "\nGroups:\t \n",
			"\nCapPrm:\t0000000000000000\n", "\nCapEff:\t0000000000000000\n", "\nCapAmb:\t0000000000000000\n", "\nNoNewPrivs:\t1\n",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q:\n%s", thread, want, text)
			}
		}
	}
}

// A file that this process was started with, and that a child would inherit, is not there once it builds.
func TestShed(t *testing.T) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], 0); err != nil { // no O_CLOEXEC
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(unix.Close(ends[0]), unix.Close(ends[1])) }()
	pipe, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", ends[0]))
	if err != nil {
		t.Fatal(err)
	}
	c := newCage(t, Options{Children: 1})
	if _, err := c.build(t.Context(), smallJob()); err != nil {
		t.Fatal(err)
	}
	dir := fmt.Sprintf("/proc/%d/fd", c.idle[0].cmd.Process.Pid)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the child: %v, %v", files, err)
	}
	for _, f := range files {
		if to, _ := os.Readlink(dir + "/" + f.Name()); to == pipe {
			t.Errorf("the child holds %s, as %s", pipe, f.Name())
		}
	}
}
