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

// options of one play.
type options struct {
	Linkwright string // path of the binary
	Once       bool   // end after the script instead of staying up
	In         io.Reader
}

// demo is the stage and who stands on it, in the order in which they came; they leave in the reverse one.
type demo struct {
	options
	screen   *screen
	dir      string // of everything on disk
	clusters []*cluster
	repo     repository
	daemon   *daemon
	leave    []func() error
}

var errInterrupted = errors.New("interrupted before the script was through")

// play runs the script, stays up if it is to, and leaves nothing behind, however it went.
func play(ctx context.Context, out io.Writer, o options) error {
	d := &demo{options: o, screen: &screen{out: out, start: time.Now()}}
	err := d.run(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		err = errInterrupted
	case err != nil:
		d.explain()
	case !o.Once:
		d.invite()
		err = d.linger(ctx)
	}
	d.screen.line("\nCleaning up.")
	return errors.Join(err, d.close())
}

// run makes one step after the other; the first that does not hold ends it.
func (d *demo) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "linkwright-demo-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	d.dir = dir
	d.leaving(func() error { return os.RemoveAll(dir) })
	for _, step := range d.script() {
		d.screen.head(step.title)
		if err := d.whileDaemonRuns(ctx, step.do); err != nil {
			return err
		}
	}
	d.screen.line("")
	d.screen.done("All promises held.")
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

// linger ends at Ctrl-C. If the daemon ends, it starts another one when somebody presses Enter.
func (d *demo) linger(ctx context.Context) error {
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

func (d *demo) leaving(f func() error) { d.leave = append(d.leave, f) }

func (d *demo) close() error {
	var errs []error
	for _, f := range slices.Backward(d.leave) {
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
