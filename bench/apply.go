package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// stage is what an arm is measured at.
type stage string

const (
	first   stage = "first apply"
	nothing stage = "nothing changed"
	onePart stage = "1 % changed"
)

// arm applies the same objects in its own way, and leaves the same behind.
type arm struct {
	name   string
	stages []stage
	// prepare makes what is done at a stage, outside of what is measured.
	prepare func(context.Context, stage) (func(context.Context) error, error)
	end     func() error // nil: nothing is left to be ended
}

// contest is one run: a bed, the objects of both commits, and what was measured.
type contest struct {
	bed     *bed
	fleet   *declared
	home    *played
	targets map[api.ClusterName]*played
	links   int

	objects map[stage][]object.Object              // after each stage, in the order in which linkwright wrote them
	prints  map[stage]map[string][sha256.Size]byte // what is live then
	changed int                                    // objects of the last stage's commit that differ
	again   int                                    // writes of the first apply beyond one for each object
	costs   map[string]map[stage][]cost            // by arm, in order of rounds
}

// newContest starts a bed and rehearses; nothing of it is left behind.
func newContest(ctx context.Context, opts options) (*contest, error) {
	b, err := newBed(ctx)
	if err != nil {
		return nil, err
	}
	d, each := &declared{}, perLink
	if opts.discovery {
		d.more, each = discovering, perLink+1
	}
	c := &contest{
		bed: b, fleet: d, home: &played{}, links: max(10, opts.objects/each),
		objects: map[stage][]object.Object{}, prints: map[stage]map[string][sha256.Size]byte{}, costs: map[string]map[stage][]cost{},
	}
	if err := c.rehearse(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("rehearse: %w", err), b.Close())
	}
	return c, nil
}

// fill has everything in place, as a process leaves it that made one pass.
func (c *contest) fill(ctx context.Context) error {
	if _, err := c.once(ctx, first); err != nil {
		return err
	}
	return c.bed.ready(ctx)
}

func takeApply(ctx context.Context, opts options) (err error) {
	c, err := newContest(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bed.Close()) }()
	c.bed.meter.profiles = opts.profiles
	arms := c.arms(opts.widths)
	if opts.arms != "" {
		arms = slices.DeleteFunc(arms, func(a arm) bool { return !slices.Contains(strings.Split(opts.arms, ","), a.name) })
	}
	for round := range opts.rounds {
		for _, a := range arms {
			if err := c.turn(ctx, a); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, a.name, err)
			}
		}
		slices.Reverse(arms)
	}
	c.tell(opts.widths)
	return nil
}

// rehearse lets linkwright write both commits once: so it is known which objects there are, the targets have all of theirs
// in place, and every server is warm.
func (c *contest) rehearse(ctx context.Context) error {
	cs, err := open(ctx, c.bed.counted(), c.bed.count, nil)
	if err != nil {
		return err
	}
	like, err := look(ctx, cs)
	if err = errors.Join(err, cs.close(ctx)); err != nil {
		return err
	}
	c.targets = c.dressed(like)
	for _, s := range []stage{first, onePart} {
		wrote, err := c.once(ctx, s)
		if err != nil {
			return err
		}
		c.note(s, wrote)
		if c.prints[s], err = c.bed.print(ctx); err != nil {
			return err
		}
		if len(c.prints[s]) != len(c.objects[s]) {
			return fmt.Errorf("%d objects were written, %d are there", len(c.objects[s]), len(c.prints[s]))
		}
	}
	c.objects[nothing], c.prints[nothing] = c.objects[first], c.prints[first]
	say("%d links, %d objects of which %d change", c.links, len(c.objects[first]), c.changed)
	return c.bed.clean(ctx)
}

// dressed plays all targets, with nothing of ours in them.
func (c *contest) dressed(like object.Observation) map[api.ClusterName]*played {
	out := map[api.ClusterName]*played{}
	for i := range c.links {
		out[api.ClusterName(target(i))] = dressed(like, "uid-of-"+target(i))
	}
	return out
}

// note remembers what a commit's objects are, of the namespace aside: that stays.
func (c *contest) note(s stage, wrote []object.Change) {
	at := map[object.Key]int{}
	if s == onePart {
		c.objects[s] = slices.Clone(c.objects[first])
	}
	for i, o := range c.objects[s] {
		at[o.Key] = i
	}
	for _, ch := range wrote {
		i, known := at[ch.Key]
		switch {
		case ch.Key.Kind == "Namespace":
			continue
		case !known:
			at[ch.Key] = len(c.objects[s])
			c.objects[s] = append(c.objects[s], ch.Object)
		default:
			c.objects[s][i] = ch.Object
			if s == first {
				c.again++
			} else {
				c.changed++
			}
		}
	}
	c.bed.knows(c.objects[s])
}

// once is linkwright's one pass, of a process that was just started, over what is declared at a stage.
func (c *contest) once(ctx context.Context, s stage) ([]object.Change, error) {
	run, wrote, err := c.pass(s)
	if err != nil {
		return nil, err
	}
	err = run(ctx)
	return wrote(), err
}

// declare puts the commit of a stage in force.
func (c *contest) declare(s stage) error {
	level := usual
	if s == onePart {
		level = "debug"
	}
	return c.fleet.declare(c.links, c.links*perLink/100, level)
}

func (c *contest) pass(s stage) (run func(context.Context) error, wrote func() []object.Change, err error) {
	if err := c.declare(s); err != nil {
		return nil, nil, err
	}
	var cs *clusters
	run = func(ctx context.Context) (err error) {
		if cs, err = open(ctx, c.bed.Clusters[0].Config, c.bed.count, c.targets); err != nil {
			return err
		}
		report, err := loop(c.fleet, cs, c.home, nil).Once(ctx, 1)
		return errors.Join(err, failures(report), cs.close(ctx))
	}
	return run, func() []object.Change { return cs.taken() }, nil
}

// turn is one arm's turn of one round: every stage is checked, and nothing is left behind.
func (c *contest) turn(ctx context.Context, a arm) error {
	if c.costs[a.name] == nil {
		c.costs[a.name] = map[stage][]cost{}
	}
	for _, s := range a.stages {
		do, err := a.prepare(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		took, err := c.bed.meter.measure(ctx, a.name+" "+string(s), do)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		say("%-12s %-16s %6.2f s; %s", a.name, s, took.wall.Seconds(), took.requests)
		c.costs[a.name][s] = append(c.costs[a.name][s], took)
		live, err := c.bed.print(ctx)
		if err = errors.Join(err, differ(c.prints[s], live)); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if s == first {
			if err := c.bed.ready(ctx); err != nil {
				return err
			}
		}
	}
	if a.end != nil {
		if err := a.end(); err != nil {
			return err
		}
	}
	return c.bed.clean(ctx)
}

func rawName(width int) string { return fmt.Sprintf("raw %d", width) }
