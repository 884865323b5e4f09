package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// harden keeps the credentials in this process's memory from its own dumps, and from other processes of the same user: there is no core
// dump, and nobody without CAP_SYS_PTRACE may attach to it or read its memory (prctl(2), PR_SET_DUMPABLE). Stack traces are as before.
func harden() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("disable core dumps: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect this process's memory: %w", err)
	}
	return nil
}
