package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/hack/program"
	"github.com/linkwright/linkwright/hack/testbed"
)

// TestScript runs the whole script on real control planes, with a binary of this tree.
func TestScript(t *testing.T) {
	o := prepare(t)
	o.SVG = filepath.Join(t.TempDir(), "demo.svg")
	if err := play(t.Context(), t.Output(), o); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(o.SVG); err != nil {
		t.Error(err)
	}
	nothingLeft(t)
}

// TestInterrupt: Ctrl-C ends the demo in any step, and leaves no process and no directory.
func TestInterrupt(t *testing.T) {
	o := prepare(t)
	o.Clusters = 2
	for _, tt := range []struct {
		name, after string
		delay       time.Duration
	}{
		{"while control planes start", " 1. Start", time.Second},
		{"while the daemon links", " 3. Start", 500 * time.Millisecond},
		{"while the daemon removes a link", " 5. Commit", 500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := play(ctx, &trigger{out: t.Output(), text: tt.after, do: func() { time.AfterFunc(tt.delay, cancel) }}, o)
			if !errors.Is(err, errInterrupted) {
				t.Errorf("got %v, want %v", err, errInterrupted)
			}
			nothingLeft(t)
		})
	}
}

// trigger does something when a text is written.
type trigger struct {
	out  io.Writer
	text string
	do   func()
}

func (w *trigger) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.do()
	}
	return w.out.Write(p)
}

// prepare builds linkwright, and gives the demo a temporary directory of its own.
func prepare(t *testing.T) options {
	t.Helper()
	testbed.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
	linkwright, err := program.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return options{Linkwright: linkwright, Clusters: defaultClusters, Once: true}
}

// nothingLeft fails the test if a directory, a process or a goroutine of the demo is left.
func nothingLeft(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "linkwright-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("directories: %v, %v", left, err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(processes) == 0 {
		t.Fatalf("list processes: %v", err)
	}
	for _, p := range processes {
		// A process that has just ended cannot be read.
		if command, err := os.ReadFile(p); err == nil && bytes.Contains(command, []byte(os.TempDir())) {
			t.Errorf("process %s: %s", p, bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		}
	}
	if err := leaks.Left(); err != nil {
		t.Error(err)
	}
}
