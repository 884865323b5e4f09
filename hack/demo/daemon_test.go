package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		t.Errorf("mesh: got %v", err)
	}
	if ctx.Err() != nil {
		t.Error("mesh waited for its timeout")
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if err := leaks.Left(); err != nil {
		t.Error(err)
	}
}

// unreachable is a demo of one cluster that refuses connections, and of a shell script in linkwright's place.
func unreachable(t *testing.T, script string) *demo {
	t.Helper()
	linkwright := filepath.Join(t.TempDir(), "linkwright")
	if err := os.WriteFile(linkwright, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	c, err := newCluster(&testbed.Cluster{Name: management, Config: &rest.Config{Host: "http://127.0.0.1:1"}}, "192.0.2.11")
	if err != nil {
		t.Fatal(err)
	}
	return &demo{
		options: options{Linkwright: linkwright}, screen: &screen{out: io.Discard, start: time.Now()},
		dir: t.TempDir(), clusters: []*cluster{c},
	}
}
