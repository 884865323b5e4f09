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

// stage is one measured apply.
type stage string

const (
	firstApply stage = "first apply"
	noChange   stage = "nothing changed"
	onePercent stage = "1 % changed"
)

// arm is one way to apply the same objects, with the same result.
type arm struct {
	name   string
	stages []stage
	// prepare makes what is done at a stage, outside of what is measured.
	prepare func(context.Context, stage) (func(context.Context) error, error)
	end     func() error // nil: nothing is left to be ended
}

// benchmark is one run: a control plane, the objects of both commits, and the measurements.
type benchmark struct {
	env               *environment
	fleet             *declared
	managementCluster *simCluster
	targets           map[api.ClusterName]*simCluster
	links             int

	objects  map[stage][]object.Object              // after each stage, in the order in which linkwright wrote them
	digests  map[stage]map[string][sha256.Size]byte // what is live then
	changed  int                                    // objects of the last stage's commit that differ
	rewrites int                                    // writes of the first apply beyond one for each object
	costs    map[string]map[stage][]cost            // by arm, in order of rounds
}

// newBenchmark starts a control plane and makes a dry run, of which it leaves nothing.
func newBenchmark(ctx context.Context, opts options) (*benchmark, error) {
	b, err := newEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	d, each := &declared{}, perLink
	if opts.discovery {
		d.extraFields, each = discoveryFields, perLink+1
	}
	c := &benchmark{
		env: b, fleet: d, managementCluster: &simCluster{}, links: max(10, opts.objects/each),
		objects: map[stage][]object.Object{}, digests: map[stage]map[string][sha256.Size]byte{}, costs: map[string]map[stage][]cost{},
	}
	if err := c.dryRun(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("rehearse: %w", err), b.Close())
	}
	return c, nil
}

// syncOnce makes everything be as after a single sync.
func (c *benchmark) syncOnce(ctx context.Context) error {
	if _, err := c.syncLinks(ctx, firstApply); err != nil {
		return err
	}
	return c.env.ready(ctx)
}

func takeApply(ctx context.Context, opts options) (err error) {
	c, err := newBenchmark(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.env.Close()) }()
	c.env.meter.profiles = opts.profiles
	arms := c.arms(opts.widths)
	if opts.arms != "" {
		arms = slices.DeleteFunc(arms, func(a arm) bool { return !slices.Contains(strings.Split(opts.arms, ","), a.name) })
	}
	for round := range opts.rounds {
		for _, a := range arms {
			if err := c.measureArm(ctx, a); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, a.name, err)
			}
		}
		slices.Reverse(arms)
	}
	c.report(opts.widths)
	return nil
}

// dryRun lets linkwright write both commits once: so it is known which objects there are, the targets have all of theirs
// in place, and every server is warm.
func (c *benchmark) dryRun(ctx context.Context) error {
	cs, err := open(ctx, c.env.counted(), c.env.count, nil)
	if err != nil {
		return err
	}
	like, err := readSource(ctx, cs)
	if err = errors.Join(err, cs.close(ctx)); err != nil {
		return err
	}
	c.targets = c.targetClusters(like)
	for _, s := range []stage{firstApply, onePercent} {
		wrote, err := c.syncLinks(ctx, s)
		if err != nil {
			return err
		}
		c.record(s, wrote)
		if c.digests[s], err = c.env.digest(ctx); err != nil {
			return err
		}
		if len(c.digests[s]) != len(c.objects[s]) {
			return fmt.Errorf("%d objects were written, %d are there", len(c.objects[s]), len(c.digests[s]))
		}
	}
	c.objects[noChange], c.digests[noChange] = c.objects[firstApply], c.digests[firstApply]
	logf("%d links, %d objects of which %d change", c.links, len(c.objects[firstApply]), c.changed)
	return c.env.clean(ctx)
}

// targetClusters plays all targets, with nothing of ours in them.
func (c *benchmark) targetClusters(like object.Observation) map[api.ClusterName]*simCluster {
	out := map[api.ClusterName]*simCluster{}
	for i := range c.links {
		out[api.ClusterName(target(i))] = newSimCluster(like, "uid-of-"+target(i))
	}
	return out
}

// record remembers what a commit's objects are, of the namespace aside: that stays.
func (c *benchmark) record(s stage, wrote []object.Change) {
	at := map[object.Key]int{}
	if s == onePercent {
		c.objects[s] = slices.Clone(c.objects[firstApply])
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
			if s == firstApply {
				c.rewrites++
			} else {
				c.changed++
			}
		}
	}
	c.env.addKinds(c.objects[s])
}

// syncLinks is linkwright's one pass, of a process that was just started, over what is declared at a stage.
func (c *benchmark) syncLinks(ctx context.Context, s stage) ([]object.Change, error) {
	run, wrote, err := c.newSync(s)
	if err != nil {
		return nil, err
	}
	err = run(ctx)
	return wrote(), err
}

// declare puts the commit of a stage in force.
func (c *benchmark) declare(s stage) error {
	level := defaultLogLevel
	if s == onePercent {
		level = "debug"
	}
	return c.fleet.declare(c.links, c.links*perLink/100, level)
}

func (c *benchmark) newSync(s stage) (run func(context.Context) error, wrote func() []object.Change, err error) {
	if err := c.declare(s); err != nil {
		return nil, nil, err
	}
	var cs *clusters
	run = func(ctx context.Context) (err error) {
		if cs, err = open(ctx, c.env.Clusters[0].Config, c.env.count, c.targets); err != nil {
			return err
		}
		report, err := loop(c.fleet, cs, c.managementCluster, nil).Once(ctx, 1)
		return errors.Join(err, failures(report), cs.close(ctx))
	}
	return run, func() []object.Change { return cs.takeWrites() }, nil
}

// measureArm is one arm's turn of one round: every stage is checked, and nothing is left behind.
func (c *benchmark) measureArm(ctx context.Context, a arm) error {
	if c.costs[a.name] == nil {
		c.costs[a.name] = map[stage][]cost{}
	}
	for _, s := range a.stages {
		do, err := a.prepare(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		took, err := c.env.meter.measure(ctx, a.name+" "+string(s), do)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		logf("%-12s %-16s %6.2f s; %s", a.name, s, took.wall.Seconds(), took.requests)
		c.costs[a.name][s] = append(c.costs[a.name][s], took)
		live, err := c.env.digest(ctx)
		if err = errors.Join(err, compareDigests(c.digests[s], live)); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if s == firstApply {
			if err := c.env.ready(ctx); err != nil {
				return err
			}
		}
	}
	if a.end != nil {
		if err := a.end(); err != nil {
			return err
		}
	}
	return c.env.clean(ctx)
}

func rawName(width int) string { return fmt.Sprintf("raw %d", width) }
