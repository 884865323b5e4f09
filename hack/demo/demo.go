package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
)

// options of one run.
type options struct {
	Linkwright string // path of the binary
	Clusters   int    // how many
	Once       bool   // end after the script
	Idle       bool   // only start clusters, and link nothing
	SVG        string // path of the picture to write after the script, or ""
	In         io.Reader
}

// demo is one run of the demo. What it starts is closed in reverse order.
type demo struct {
	options
	screen   *screen
	dir      string // everything on disk is below it
	clusters []*cluster
	repo     repository
	daemon   *daemon
	closers  []func() error
}

var errInterrupted = errors.New("interrupted before the end of the script")

// play runs the script, keeps everything running unless Once is set, and cleans up in any case.
func play(ctx context.Context, out io.Writer, o options) error {
	d := &demo{options: o, screen: &screen{out: out, start: time.Now()}}
	err := d.run(ctx)
	if err != nil && ctx.Err() == nil {
		d.showLogs()
	}
	if err == nil && o.SVG != "" {
		err = d.writeSVG()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = errInterrupted
	case err == nil && o.Idle && !o.Once:
		err = d.stayIdle(ctx)
	case err == nil && !o.Once:
		err = d.stayUp(ctx)
	}
	d.screen.note("\nCleaning up.")
	return errors.Join(err, d.close())
}

// run runs the steps in order; the first that fails ends it.
func (d *demo) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "linkwright-demo-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	d.dir = dir
	if err := claim(dir); err != nil {
		return err
	}
	removeDead(filepath.Dir(dir))
	d.atClose(func() error { return os.RemoveAll(dir) })
	script := d.script()
	if d.Idle {
		script = d.onlyClusters()
	}
	for _, step := range script {
		d.screen.heading(step.title)
		if err := d.whileDaemonRuns(ctx, step.do); err != nil {
			return err
		}
	}
	if !d.Idle {
		d.screen.result("All checks passed.")
	}
	return nil
}

// whileDaemonRuns runs a step, and cancels it when the daemon ends. Before the daemon was started it only runs the step.
func (d *demo) whileDaemonRuns(ctx context.Context, do func(context.Context) error) error {
	if d.daemon == nil {
		return do(ctx)
	}
	daemon := d.daemon
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-daemon.ended:
			cancel()
		case <-done:
		}
	}()
	err := do(ctx)
	select {
	case <-daemon.ended:
		return fmt.Errorf("the daemon ended: %w", cmp.Or(daemon.err, errors.New("it was stopped")))
	default:
		return err
	}
}

func (d *demo) atClose(f func() error) { d.closers = append(d.closers, f) }

func (d *demo) close() error {
	var errs []error
	for _, f := range slices.Backward(d.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (d *demo) cluster(name api.ClusterName) *cluster {
	for _, c := range d.clusters {
		if c.Name == string(name) {
			return c
		}
	}
	return nil
}
