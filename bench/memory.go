package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
)

// fine is how many bytes are allocated for each one that a profile knows of: what is looked for is small.
const fine = 512

// held is the live heap, garbage taken away; with a directory, a profile of it is written there.
func held(profiles, name string) float64 {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if profiles == "" {
		return float64(m.HeapAlloc)
	}
	file, err := os.Create(filepath.Join(profiles, name+".heap"))
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(file), file.Close())
	}
	if err != nil {
		say("no profile of the heap: %v", err)
	}
	return float64(m.HeapAlloc)
}

// takeMemory tells what a daemon retains for every object that it owns.
func takeMemory(ctx context.Context, opts options) (err error) {
	if opts.profiles != "" {
		runtime.MemProfileRate = fine
	}
	c, err := newContest(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bed.Close()) }()
	if err := c.fill(ctx); err != nil {
		return err
	}
	n := float64(len(c.objects[first]))
	var mirror, whole []float64
	for range opts.rounds {
		m, err := c.mirrored(ctx, opts.profiles)
		if err != nil {
			return err
		}
		w, err := c.retained(ctx, opts.profiles)
		if err != nil {
			return err
		}
		mirror, whole = append(mirror, m/n), append(whole, w/n)
	}
	fmt.Printf("\n%.0f objects of %d links; bytes of live heap per object, over the same process before\n\n", n, c.links)
	table([]any{"what", "median (least–most)"}, [][]any{
		{"watches and records of the source alone", spread(mirror, " B")},
		{"a daemon at rest: these, what it planned, and its report", spread(whole, " B")},
	})
	return nil
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
		seen, err = client.Live(ctx, append(plan.Ledger(), render.Watches(api.Cluster{}.WithDefaults().Linkerd, nil)...))
		return err
	})
	after := held(profiles, "watches")
	if err == nil && seen.Len() < len(c.objects[first]) {
		err = fmt.Errorf("only %d objects are seen", seen.Len())
	}
	runtime.KeepAlive(seen)
	return after - before, errors.Join(err, cs.close(ctx))
}

// retained is what a daemon at rest does.
func (c *contest) retained(ctx context.Context, profiles string) (float64, error) {
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
	after := held(profiles, "daemon")
	return after - before, d.stop()
}
