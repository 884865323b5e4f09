package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// The next demo removes what a killed one left, and nothing that may be in use.
func TestRemoveDead(t *testing.T) {
	in := t.TempDir()
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, pid := range map[string]string{"dead": strconv.Itoa(ended.Process.Pid), "alive": strconv.Itoa(os.Getpid()), "garbage": "x", "none": ""} {
		dir := filepath.Join(in, "linkwright-demo-"+name)
		if err := os.MkdirAll(filepath.Join(dir, "clusters"), 0o700); err != nil {
			t.Fatal(err)
		}
		if pid != "" {
			if err := os.WriteFile(filepath.Join(dir, claimed), []byte(pid), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeDead(in)
	for name, want := range map[string]bool{"dead": false, "alive": true, "garbage": true, "none": true} {
		if _, err := os.Stat(filepath.Join(in, "linkwright-demo-"+name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
