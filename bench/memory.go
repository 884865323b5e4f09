package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
)

// fine is how many bytes are allocated for each one that a profile knows of: what is looked for is small.
const fine = 512

// use is what a process holds: live heap, garbage taken away, and the stacks of its goroutines.
type use struct{ heap, stacks float64 }

func (u use) less(before use) use { return use{u.heap - before.heap, u.stacks - before.stacks} }

// held is what the process holds now; with a directory, a profile of it is written there.
func held(profiles, name string) use {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now := use{float64(m.HeapAlloc), float64(m.StackInuse)}
	if profiles == "" {
		return now
	}
	file, err := os.Create(filepath.Join(profiles, name+".heap"))
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(file), file.Close())
	}
	if err != nil {
		say("no profile of the heap: %v", err)
	}
	return now
}

// takeMemory returns what a daemon retains for every object that it owns.
func takeMemory(ctx context.Context, opts options) (err error) {
	if opts.profiles != "" {
		runtime.MemProfileRate = fine
	}
	c, err := newContest(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bed.Close()) }()
	var m memory
	for range opts.rounds {
		if err := m.alone(ctx, c, opts.profiles); err != nil {
			return err
		}
	}
	if err := c.declare(first); err != nil {
		return err
	}
	if err := c.fill(ctx); err != nil {
		return err
	}
	for range opts.rounds {
		if err := m.linked(ctx, c, opts.profiles); err != nil {
			return err
		}
	}
	m.tell(c)
	return nil
}

// memory is what was measured, by round; of clusters and daemons without links nothing of ours is in the source.
type memory struct{ connected, stacks, bare, mirror, whole []float64 }

// alone measures what there is without any link.
func (m *memory) alone(ctx context.Context, c *contest, profiles string) error {
	one, err := c.connected(ctx, profiles)
	if err != nil {
		return err
	}
	bare, err := c.unlinked(ctx, profiles)
	m.connected, m.stacks, m.bare = append(m.connected, one.heap), append(m.stacks, one.stacks), append(m.bare, bare)
	return err
}

// linked measures what there is with all links in place.
func (m *memory) linked(ctx context.Context, c *contest, profiles string) error {
	mirror, err := c.mirrored(ctx, profiles)
	if err != nil {
		return err
	}
	whole, err := c.retained(ctx, profiles, "daemon")
	m.mirror, m.whole = append(m.mirror, mirror), append(m.whole, whole)
	return err
}

func (m *memory) tell(c *contest) {
	n := float64(len(c.objects[first]))
	each := func(values []float64, less, of float64) []float64 {
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = (v - less) / of
		}
		return out
	}
	fmt.Printf("\n%.0f objects of %d links from one cluster to as many others; bytes of live heap\n\n", n, c.links)
	table([]any{"what", "median (least–most)"}, [][]any{
		{"for each object: watches and records of the source alone", spread(each(m.mirror, 0, n), " B")},
		{"(a) for each object: a daemon at rest over the idle process; what played clusters show is kept by these", spread(each(m.whole, 0, n), " B")},
		{"(b) for each object: the same over a daemon at rest with the same clusters and no link", spread(each(m.whole, median(m.bare), n), " B")},
		{"for each cluster: a daemon at rest without links, clusters played", spread(each(m.bare, 0, float64(c.links+1)), " B")},
		{"for each cluster: a connection that watches all, and nothing of ours is there: heap", spread(each(m.connected, 0, connections), " B")},
		{"the same: stacks of goroutines", spread(each(m.stacks, 0, connections), " B")},
	})
}

// connections are how many are opened to tell what one takes.
const connections = 20

// connected is what connections take that watch all, in a cluster without anything of ours.
func (c *contest) connected(ctx context.Context, profiles string) (took use, err error) {
	registry := cluster.New(cluster.Options{})
	before := held(profiles, "nothing")
	for i := range connections {
		name := api.ClusterName(target(i))
		if err := registry.Spawn(ctx, name, c.bed.Clusters[0].Config); err != nil {
			return took, err
		}
		err := registry.WithClient(ctx, name, func(client *cluster.Client) error {
			_, err := client.Live(ctx, all())
			return err
		})
		if err != nil {
			return took, err
		}
	}
	took = held(profiles, "connected").less(before)
	for _, name := range registry.Names() {
		err = errors.Join(err, registry.Stop(ctx, name))
	}
	return took, err
}

// all is what is looked at in a cluster that nothing unusual is declared for.
func all() []object.Watch {
	usual := api.Cluster{}.WithDefaults()
	return slices.Concat(plan.Ledger(), linkerd.Watches(usual), linkerd.MirrorWatches(usual.Linkerd), render.Watches(usual.Linkerd, nil))
}

// unlinked is what a daemon at rest takes for the same clusters without links.
func (c *contest) unlinked(ctx context.Context, profiles string) (float64, error) {
	cs, err := open(ctx, c.bed.counted(), c.bed.count, nil)
	if err != nil {
		return 0, err
	}
	like, err := look(ctx, cs)
	if err = errors.Join(err, cs.close(ctx), c.fleet.alone(c.links)); err != nil {
		return 0, err
	}
	linked := c.targets
	defer func() { c.targets = linked }()
	c.targets = c.dressed(like)
	return c.retained(ctx, profiles, "unlinked")
}

// mirrored is what the watches on everything that links own retain.
func (c *contest) mirrored(ctx context.Context, profiles string) (float64, error) {
	before := held(profiles, "nothing")
	cs, err := open(ctx, c.bed.Clusters[0].Config, c.bed.count, c.targets)
	if err != nil {
		return 0, err
	}
	var seen object.Observation
	err = cs.registry.WithClient(ctx, source, func(client *cluster.Client) (err error) {
		seen, err = client.Live(ctx, all())
		return err
	})
	took := held(profiles, "watches").less(before)
	if err == nil && seen.Len() < len(c.objects[first]) {
		err = fmt.Errorf("only %d objects are seen", seen.Len())
	}
	runtime.KeepAlive(seen)
	return took.heap, errors.Join(err, cs.close(ctx))
}

// retained is what a daemon at rest takes for what is declared.
func (c *contest) retained(ctx context.Context, profiles, name string) (float64, error) {
	before := held(profiles, "nothing")
	d, err := c.start(ctx)
	if err != nil {
		return 0, err
	}
	err = d.rest(ctx)
	if err == nil {
		_, err = d.passes(ctx, 1)
	}
	if err != nil {
		return 0, errors.Join(err, d.stop())
	}
	took := held(profiles, name).less(before)
	return took.heap, d.stop()
}
