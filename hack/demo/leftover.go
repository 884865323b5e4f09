package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// claimed is the file of a demo's directory that has the id of its process.
const claimed = "pid"

// claim notes that this process uses a directory.
func claim(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, claimed), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return fmt.Errorf("claim directory: %w", err)
	}
	return nil
}

// removeDead removes the directories that killed demos left in a directory. One without a process id, or whose process id was given to
// another process, stays: nobody knows whether it is in use.
func removeDead(in string) {
	all, _ := filepath.Glob(filepath.Join(in, "linkwright-demo-*")) // the pattern is valid
	for _, dir := range all {
		text, err := os.ReadFile(filepath.Join(dir, claimed))
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(string(text))
		if err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // somebody else's stays
		}
	}
}
