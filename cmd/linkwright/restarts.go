package main

import (
	"context"
	"maps"
	"slices"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/rollout/restart"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report"
)

// restarts returns what restarts workloads with outdated proxies during one period of leadership.
func (e engine) restarts() *restart.Runner {
	return restart.New(restart.Options{Owner: e.Loop.Owner, Config: e.Clusters.Config, Explain: cluster.Explain, Log: e.Loop.Log})
}

// restartTargets returns the clusters of a report that have a rollout. Those that this process does not write are read-only: their waves count, too.
// False: the report does not have all clusters yet.
func restartTargets(r report.Report, only []api.ClusterName) ([]restart.Target, bool) {
	if r.Partial() {
		return nil, false
	}
	var out []restart.Target
	for _, c := range r.Clusters {
		d, ours := c.Step.Rollout, len(only) == 0 || slices.Contains(only, c.Name)
		switch {
		case d == nil || d.Declared == nil && !ours:
		case d.Declared == nil:
			out = append(out, restart.Target{Cluster: c.Name, Ended: true})
		default:
			out = append(out, restart.Target{
				Cluster: c.Name, Rollout: d.Declared.From, Wave: d.Declared.Wave, Policy: d.Declared.Rollout, Linkerd: d.Linkerd, Inputs: d.Inputs,
				Hold: d.Hold, Untouched: d.Untouched, ReadOnly: !ours, Progress: d.Progress,
			})
		}
	}
	return out, true
}

// restarting restarts workloads beside syncs until ctx ends, as reports say.
func (e engine) restarting(ctx context.Context, beside *gosync.WaitGroup, publish func(report.Report)) func(report.Report) {
	runner := e.restarts()
	beside.Go(func() { runner.Run(ctx) })
	return func(r report.Report) {
		if targets, ok := restartTargets(r, e.Loop.Only); ok {
			runner.Set(targets)
		}
		publish(r)
	}
}

// restartOnce restarts the workloads that may restart now, without waiting for any, and returns how far each cluster is, in a line.
func (e engine) restartOnce(ctx context.Context, r report.Report) (lines []string) {
	targets, ok := restartTargets(r, e.Loop.Only)
	if !ok || len(targets) == 0 || ctx.Err() != nil {
		return nil
	}
	progress := e.restarts().Once(ctx, targets)
	for _, name := range slices.Sorted(maps.Keys(progress)) {
		lines = append(lines, "Rollout in cluster "+string(name)+": "+report.RolloutLine(progress[name]))
	}
	return lines
}
