package main

import (
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
}

// demo is the stage and who stands on it, in the order in which they came; they leave in the reverse one.
type demo struct {
	options
	screen   *screen
	dir      string // of everything on disk
	clusters []*cluster
	repo     repository
	daemon   *daemon
	fail     context.CancelCauseFunc // ends the script: somebody left who should have stayed
	leave    []func() error
}

var errInterrupted = errors.New("interrupted before the script was through")

// play runs the script, stays up if it is to, and leaves nothing behind, however it went.
func play(ctx context.Context, out io.Writer, o options) error {
	script, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d := &demo{options: o, screen: &screen{out: out, start: time.Now()}, fail: fail}
	err := d.run(script)
	switch {
	case err != nil && ctx.Err() != nil:
		err = errInterrupted
	case err != nil:
		d.explain()
	case !o.Once:
		d.invite()
		err = d.linger(script)
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
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	d.screen.line("")
	d.screen.done("All promises held.")
	return nil
}

// linger ends without an error at Ctrl-C.
func (d *demo) linger(ctx context.Context) error {
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		d.explain()
		return cause
	}
	return nil
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
