package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/hack/testbed"
)

// TestDaemonEnds: a daemon that ends while it is started ends the step at once, not after the step's own timeout.
func TestDaemonEnds(t *testing.T) {
	d := unreachable(t, "exit 3")
	ctx, cancel := context.WithTimeout(t.Context(), timeout/3)
	defer cancel()
	err := d.linkAll(ctx)
	if err == nil || !strings.Contains(err.Error(), "the daemon ended: exit status 3") {
		t.Errorf("linkAll: got %v", err)
	}
	if ctx.Err() != nil {
		t.Error("linkAll waited for its timeout")
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if err := leaks.Left(); err != nil {
		t.Error(err)
	}
}

// TestStayUp: what the user types is done, also if a cluster does not answer, and Ctrl-C ends it.
func TestStayUp(t *testing.T) {
	d := unreachable(t, "exit 3")
	in, user := io.Pipe()
	seen := &lines{found: make(chan string)}
	d.In, d.screen.out = in, seen
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	for _, try := range d.tries() {
		for _, s := range try.steps {
			if n := utf8.RuneCountInString("   " + s); n > 80 {
				t.Errorf("%d columns: %s", n, s)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout/3)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- d.stayUp(ctx) }()
	seen.wait(ctx, t, "Delete a controller")
	seen.wait(ctx, t, "The daemon has ended (exit status 3). Press Enter")
	for typed, want := range map[string]string{"d\n": "Deleting Deployment controller-west in cluster east failed", "help\n": "Type d and press Enter", "\n": "The daemon runs again"} {
		go func() { _, _ = io.WriteString(user, typed) }()
		seen.wait(ctx, t, want)
	}
	cancel()
	go func() {
		for range seen.found { // the rest of the screen
		}
	}()
	if err := errors.Join(<-ended, user.Close(), d.daemon.stop()); err != nil {
		t.Error(err)
	}
	close(seen.found)
	if err := leaks.Left(); err != nil {
		t.Error(err)
	}
}

// lines hands each write over to a test.
type lines struct{ found chan string }

func (l *lines) Write(p []byte) (int, error) {
	l.found <- string(p)
	return len(p), nil
}

// wait reads the screen until it shows a text.
func (l *lines) wait(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l.found:
			if strings.Contains(line, text) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("the screen does not show: %s", text)
		}
	}
}

// unreachable is a demo of two clusters that refuse connections, and of a shell script in linkwright's place.
func unreachable(t *testing.T, script string) *demo {
	t.Helper()
	linkwright := filepath.Join(t.TempDir(), "linkwright")
	if err := os.WriteFile(linkwright, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	d := &demo{
		options: options{Linkwright: linkwright, Clusters: 2},
		screen:  &screen{out: io.Discard, start: time.Now()}, dir: t.TempDir(),
	}
	for _, name := range []string{management, "east"} {
		c, err := newCluster(&testbed.Cluster{Name: name, Config: &rest.Config{Host: "http://127.0.0.1:1"}}, "192.0.2.11")
		if err != nil {
			t.Fatal(err)
		}
		d.clusters = append(d.clusters, c)
	}
	return d
}
