package main

import (
	"context"
	"errors"
)

// arms are all that have a turn in a round.
func (c *contest) arms(widths []int) []arm {
	arms := []arm{c.oneShot(), c.daemon(), c.flux()}
	for _, width := range widths {
		arms = append(arms, arm{name: rawName(width), stages: []stage{first}, prepare: func(_ context.Context, s stage) (func(context.Context) error, error) {
			r, err := newRaw(c.bed.counted(), width)
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

// oneShot is linkwright as a process that makes one pass.
func (c *contest) oneShot() arm {
	return arm{name: oneShotName, stages: []stage{first, nothing, onePart}, prepare: func(_ context.Context, s stage) (func(context.Context) error, error) {
		run, _, err := c.pass(s)
		return run, err
	}}
}

func (c *contest) flux() arm {
	return arm{name: fluxName, stages: []stage{first, nothing, onePart}, prepare: func(_ context.Context, s stage) (func(context.Context) error, error) {
		f, err := newFlux(c.bed.counted())
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

// daemon is linkwright as a process that stays. What it does by itself is measured over some passes.
func (c *contest) daemon() arm {
	var d *daemon
	prepare := func(ctx context.Context, s stage) (func(context.Context) error, error) {
		if err := c.declare(s); err != nil {
			return nil, err
		}
		switch s {
		case nothing: // what the first apply moved, Deployments among it, has to be looked at first
			if err := d.rest(ctx); err != nil {
				return nil, err
			}
			if _, err := d.passes(ctx, 1); err != nil {
				return nil, err
			}
			return func(ctx context.Context) error {
				last, err := d.passes(ctx, idlePasses)
				return errors.Join(err, failures(last))
			}, nil
		case onePart:
			return func(ctx context.Context) error {
				d.poke <- struct{}{}
				return d.written(ctx, c.changed)
			}, nil
		}
		return func(ctx context.Context) (err error) {
			if d, err = c.start(ctx); err != nil {
				return err
			}
			return d.written(ctx, len(c.objects[first])+c.again)
		}, nil
	}
	return arm{name: daemonName, stages: []stage{first, nothing, onePart}, prepare: prepare, end: func() error { return d.stop() }}
}

// idlePasses are the passes over which a daemon's rest is measured.
const idlePasses = 3
