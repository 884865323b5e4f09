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

// profileRate is the rate of memory profiles in bytes; it is small because the measured objects are.
const profileRate = 512

// use is the memory of a process: live heap after a garbage collection, and the stacks of its goroutines.
type use struct{ heap, stacks float64 }

func (u use) less(before use) use { return use{u.heap - before.heap, u.stacks - before.stacks} }

// memoryInUse measures the process; with a directory it writes a profile there.
func memoryInUse(profiles, name string) use {
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
		logf("no profile of the heap: %v", err)
	}
	return now
}

// takeMemory returns what a daemon retains for every object that it owns.
func takeMemory(ctx context.Context, opts options) (err error) {
	if opts.profiles != "" {
		runtime.MemProfileRate = profileRate
	}
	c, err := newBenchmark(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.env.Close()) }()
	var m memory
	for range opts.rounds {
		if err := m.measureUnlinked(ctx, c, opts.profiles); err != nil {
			return err
		}
	}
	if err := c.declare(firstApply); err != nil {
		return err
	}
	if err := c.syncOnce(ctx); err != nil {
		return err
	}
	for range opts.rounds {
		if err := m.measureLinked(ctx, c, opts.profiles); err != nil {
			return err
		}
	}
	m.report(c)
	return nil
}

// memory is what was measured, by round; of clusters and daemons without links nothing of ours is in the source.
type memory struct{ connected, stacks, bare, mirror, whole []float64 }

// measureUnlinked measures what there is without any link.
func (m *memory) measureUnlinked(ctx context.Context, c *benchmark, profiles string) error {
	one, err := c.connectionMemory(ctx, profiles)
	if err != nil {
		return err
	}
	bare, err := c.unlinkedMemory(ctx, profiles)
	m.connected, m.stacks, m.bare = append(m.connected, one.heap), append(m.stacks, one.stacks), append(m.bare, bare)
	return err
}

// measureLinked measures what there is with all links in place.
func (m *memory) measureLinked(ctx context.Context, c *benchmark, profiles string) error {
	mirror, err := c.mirroredMemory(ctx, profiles)
	if err != nil {
		return err
	}
	whole, err := c.daemonMemory(ctx, profiles, "daemon")
	m.mirror, m.whole = append(m.mirror, mirror), append(m.whole, whole)
	return err
}

func (m *memory) report(c *benchmark) {
	n := float64(len(c.objects[firstApply]))
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

// connectionMemory is what connections take that watch all, in a cluster without anything of ours.
func (c *benchmark) connectionMemory(ctx context.Context, profiles string) (took use, err error) {
	registry := cluster.New(cluster.Options{})
	before := memoryInUse(profiles, "nothing")
	for i := range connections {
		name := api.ClusterName(target(i))
		if err := registry.Spawn(ctx, name, c.env.Clusters[0].Config); err != nil {
			return took, err
		}
		err := registry.WithClient(ctx, name, func(client *cluster.Client) error {
			_, err := client.Live(ctx, usualWatches())
			return err
		})
		if err != nil {
			return took, err
		}
	}
	took = memoryInUse(profiles, "connected").less(before)
	for _, name := range registry.Names() {
		err = errors.Join(err, registry.Stop(ctx, name))
	}
	return took, err
}

// usualWatches are the watches of a cluster with the default declarations.
func usualWatches() []object.Watch {
	usual := api.Cluster{}.WithDefaults()
	return slices.Concat(plan.InventoryWatches(), linkerd.Watches(usual), linkerd.MirrorWatches(usual.Linkerd), render.Watches(usual.Linkerd, nil))
}

// unlinkedMemory is what a daemon at rest takes for the same clusters without links.
func (c *benchmark) unlinkedMemory(ctx context.Context, profiles string) (float64, error) {
	cs, err := open(ctx, c.env.counted(), c.env.count, nil)
	if err != nil {
		return 0, err
	}
	like, err := readSource(ctx, cs)
	if err = errors.Join(err, cs.close(ctx), c.fleet.declareUnlinked(c.links)); err != nil {
		return 0, err
	}
	linked := c.targets
	defer func() { c.targets = linked }()
	c.targets = c.targetClusters(like)
	return c.daemonMemory(ctx, profiles, "unlinked")
}

// mirroredMemory is what the watches on everything that links own retain.
func (c *benchmark) mirroredMemory(ctx context.Context, profiles string) (float64, error) {
	before := memoryInUse(profiles, "nothing")
	cs, err := open(ctx, c.env.Clusters[0].Config, c.env.count, c.targets)
	if err != nil {
		return 0, err
	}
	var seen object.Observation
	err = cs.registry.WithClient(ctx, source, func(client *cluster.Client) (err error) {
		seen, err = client.Live(ctx, usualWatches())
		return err
	})
	took := memoryInUse(profiles, "watches").less(before)
	if err == nil && seen.Len() < len(c.objects[firstApply]) {
		err = fmt.Errorf("only %d objects are seen", seen.Len())
	}
	runtime.KeepAlive(seen)
	return took.heap, errors.Join(err, cs.close(ctx))
}

// daemonMemory is what a daemon at rest takes for what is declared.
func (c *benchmark) daemonMemory(ctx context.Context, profiles, name string) (float64, error) {
	before := memoryInUse(profiles, "nothing")
	d, err := c.start(ctx)
	if err != nil {
		return 0, err
	}
	err = d.waitReady(ctx)
	if err == nil {
		_, err = d.nextReports(ctx, 1)
	}
	if err != nil {
		return 0, errors.Join(err, d.stop())
	}
	took := memoryInUse(profiles, name).less(before)
	return took.heap, d.stop()
}
