package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
)

// options of one run.
type options struct {
	Linkwright string // path of the binary
	Once       bool   // end after the script
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
	switch {
	case err != nil && ctx.Err() != nil:
		err = errInterrupted
	case err != nil:
		d.showLogs()
	case !o.Once:
		d.showTries()
		err = d.stayUp(ctx)
	}
	d.screen.line("\nCleaning up.")
	return errors.Join(err, d.close())
}

// run runs the steps in order; the first that fails ends it.
func (d *demo) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "linkwright-demo-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	d.dir = dir
	d.atClose(func() error { return os.RemoveAll(dir) })
	for _, step := range d.script() {
		d.screen.head(step.title)
		if err := d.whileDaemonRuns(ctx, step.do); err != nil {
			return err
		}
	}
	d.screen.line("")
	d.screen.done("All checks passed.")
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
		return fmt.Errorf("the daemon ended: %v", daemon.err) //nolint:errorlint // the error may be nil
	default:
		return err
	}
}

// stayUp ends at Ctrl-C. If the daemon ends, it starts another one when the user presses Enter.
func (d *demo) stayUp(ctx context.Context) error {
	enter := make(chan struct{})
	go func() {
		for in := bufio.NewReader(d.In); ; {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			select {
			case enter <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	ended := d.daemon.ended
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			d.screen.line("\nThe daemon has ended (%v). Press Enter to start it again.", d.daemon.err)
			ended = nil
		case <-enter:
			if ended != nil {
				continue
			}
			if err := d.start(); err != nil {
				return err
			}
			ended = d.daemon.ended
			d.screen.line("The daemon runs again, as process %d.", d.daemon.cmd.Process.Pid)
		}
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
