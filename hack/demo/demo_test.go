package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/hack/testbed"
)

// TestScript plays the whole script on real control planes, with a binary of this tree.
func TestScript(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	linkwright := filepath.Join(t.TempDir(), "linkwright")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", linkwright, "../../cmd/linkwright")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build linkwright: %v\n%s", err, out)
	}
	if err := play(t.Context(), t.Output(), options{Linkwright: linkwright, Once: true}); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "linkwright-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("after the demo: %v, %v", left, err)
	}
	if err := leaks.Left(); err != nil {
		t.Error(err)
	}
}
