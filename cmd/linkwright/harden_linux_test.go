package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const hardened = "LINKWRIGHT_TEST_HARDENED"

// Core dumps are off, and other processes of the same user may not look into this one.
func TestHarden(t *testing.T) {
	if os.Getenv(hardened) != "" {
		var core unix.Rlimit
		dumpable, _, errno := unix.Syscall6(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE, 0, 0, 0, 0, 0)
		fmt.Println(harden(), unix.Getrlimit(unix.RLIMIT_CORE, &core), core, dumpable, errno)
		dumpable, _, errno = unix.Syscall6(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE, 0, 0, 0, 0, 0)
		fmt.Println(dumpable, errno)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestHarden$", "-test.v") // it cannot be undone in this process
	cmd.Env = append(os.Environ(), hardened+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "<nil> <nil> {0 0} 1 errno 0\n0 errno 0\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
