package main

import (
	"context"
	"errors"
)

// arms are all arms of a round.
func (c *benchmark) arms(widths []int) []arm {
	arms := []arm{c.oneShot(), c.daemon(), c.flux()}
	for _, width := range widths {
		arms = append(arms, arm{name: rawName(width), stages: []stage{firstApply}, prepare: func(_ context.Context, s stage) (func(context.Context) error, error) {
			r, err := newRaw(c.env.counted(), width)
			return func(ctx context.Context) error { return r.apply(ctx, c.objects[s]) }, err
		}})
	}
	return arms
}

// Names of arms.
const (
	oneShotName = "one-shot"
	daemonName  = "daemon"
	fluxName    = "flux"
)

// oneShot is linkwright as a process that syncs once.
func (c *benchmark) oneShot() arm {
	return arm{name: oneShotName, stages: []stage{firstApply, noChange, onePercent}, prepare: func(_ context.Context, s stage) (func(context.Context) error, error) {
		run, _, err := c.newSync(s)
		return run, err
	}}
}

func (c *benchmark) flux() arm {
	return arm{name: fluxName, stages: []stage{firstApply, noChange, onePercent}, prepare: func(_ context.Context, s stage) (func(context.Context) error, error) {
		f, err := newFlux(c.env.counted())
		if err != nil {
			return nil, err
		}
		objects, err := decoded(c.objects[s])
		return func(ctx context.Context) error {
			_, err := f.apply(ctx, objects)
			return err
		}, err
	}}
}

// daemon is linkwright as a daemon. Its idle time is measured over some syncs.
func (c *benchmark) daemon() arm {
	var d *daemon
	prepare := func(ctx context.Context, s stage) (func(context.Context) error, error) {
		if err := c.declare(s); err != nil {
			return nil, err
		}
		switch s {
		case noChange: // what the first apply moved, Deployments among it, has to be looked at first
			if err := d.waitReady(ctx); err != nil {
				return nil, err
			}
			if _, err := d.nextReports(ctx, 1); err != nil {
				return nil, err
			}
			return func(ctx context.Context) error {
				last, err := d.nextReports(ctx, idlePasses)
				return errors.Join(err, failures(last))
			}, nil
		case onePercent:
			return func(ctx context.Context) error {
				d.poke <- struct{}{}
				return d.written(ctx, c.changed)
			}, nil
		}
		return func(ctx context.Context) (err error) {
			if d, err = c.start(ctx); err != nil {
				return err
			}
			return d.written(ctx, len(c.objects[firstApply])+c.rewrites)
		}, nil
	}
	return arm{name: daemonName, stages: []stage{firstApply, noChange, onePercent}, prepare: prepare, end: func() error { return d.stop() }}
}

// idlePasses is the number of syncs over which a daemon's idle time is measured.
const idlePasses = 3
