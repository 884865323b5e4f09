package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// dryRuns sends changes by dryRun=All, and writes nothing.
type dryRuns struct{ *cli.Engine }

// dryRun sends a change to its cluster.
func (e dryRuns) dryRun(ctx context.Context, ch object.Change) error {
	return e.Clusters.WithClient(ctx, ch.End.Cluster, func(c *cluster.Client) error { return c.DryRun(ctx, ch) })
}

// rehearse sends changes, each on its own.
func (e dryRuns) rehearse(ctx context.Context, changes []object.Change) error {
	defer e.Live.Show(ctx, live.DryRuns)()
	var failed []error
	for _, ch := range changes {
		err := e.dryRun(ctx, ch)
		if err == nil {
			continue
		}
		if why := e.Loop.Explained(err); !harmless(ch, why.Code) {
			failed = append(failed, fmt.Errorf("cluster %s: dry run: %s %s: %s: %s", ch.End.Cluster, ch.Action, ch.Key, why.Code, why.Message))
		}
	}
	if err := cli.Interrupted(ctx); err != nil {
		return err
	}
	if len(failed) > 0 {
		return cli.Exit{Code: cli.ExitPartial, Err: errors.Join(failed...)}
	}
	return nil
}

// harmless says that a dry run does not show whether a write fails. A change may need what an earlier one makes. An object that goes may have changed
// since it was read, as a Lease does every few seconds: a sync reads it again.
func harmless(ch object.Change, code reason.Code) bool {
	return code == reason.NotFound || code == reason.Conflict && ch.Action == object.Delete
}

// liveChanges are the changes of simulated steps, against what is live: what is deleted is the object that is there now.
func liveChanges(owner string, seen object.Observation, changes []object.Change) (out []object.Change) {
	for _, ch := range changes {
		if bookkeeping(owner, ch.Key) {
			continue
		}
		if ch.Action == object.Delete || ch.Action == object.Release {
			if ch.Was = seen.Record(ch.Key); ch.Was.IsZero() {
				continue
			}
		}
		out = append(out, ch)
	}
	return out
}

// drySync shows what a sync would write, as diff does, and writes nothing. In a dry run of the client each object is shown as it would be
// sent.
func drySync(c *cobra.Command, f *cli.Common, out printer) error {
	e, w, err := f.Read(c)
	if err != nil {
		return err
	}
	defer e.Close(c.Context())
	w.IssuedCredentials = missingCredentials(w)
	_, steps := plan.Simulate(w, e.Loop.Renderer, e.Loop.Policies...)
	d := difference{after: w, Diff: engine{e}.written(linksDiff(w, steps, e.Loop.Renderer, e.Loop.Policies))}
	shown := e.Live.Show(c.Context(), live.DryRuns)
	defer shown()
	for _, name := range sortedNames(w) {
		if !(engine{e}).writes(name) {
			continue
		}
		cd, failed := dryRuns{e}.dryStep(c.Context(), w, name, dryStep{steps[name], f.Writing.Mode})
		d.Clusters, d.failed = append(d.Clusters, cd), append(d.failed, failed...)
	}
	shown()
	if err := cli.Interrupted(c.Context()); err != nil {
		return err
	}
	if err := d.write(out.Writer, out.format); err != nil {
		return err
	}
	f.Writing.Ended(out.notes)
	if len(d.failed) > 0 || d.Stopped() || d.Unfinished() {
		return cli.Exit{Code: cli.ExitPartial, Err: errors.Join(d.failed...)}
	}
	return nil
}

// writes reports whether the process may write to a cluster: with --only-write, it writes only to some.
func (e engine) writes(name api.ClusterName) bool {
	return len(e.Loop.Only) == 0 || slices.Contains(e.Loop.Only, name)
}

// written leaves out links of which the process writes no end.
func (e engine) written(d report.Diff) report.Diff {
	d.Unlinks = slices.DeleteFunc(d.Unlinks, func(u plan.Unlink) bool { return !e.writes(u.Link.Source) && !e.writes(u.Target) })
	d.Created = slices.DeleteFunc(d.Created, func(n plan.NewLink) bool { return !e.writes(n.Link.Source) })
	d.Narrowed = slices.DeleteFunc(d.Narrowed, func(n plan.Narrowing) bool { return !e.writes(n.Link.Source) })
	return d
}

// dryStep are the steps of one cluster, and how they are tried.
type dryStep struct {
	steps []plan.Step
	mode  cli.DryRun
}

// dryStep is what the steps of a cluster would write, and what its API server refuses of that.
func (e dryRuns) dryStep(ctx context.Context, w state.Snapshot, name api.ClusterName, s dryStep) (report.ClusterDiff, []error) {
	seen := w.Clusters[name].Live
	if s.mode == cli.DryRunServer {
		cd, failed := e.previews(ctx, w, name, s.steps)
		removals := slices.DeleteFunc(liveChanges(e.Loop.Owner, seen, lastChanges(s.steps)), func(ch object.Change) bool { return ch.Action != object.Delete })
		if err := e.rehearse(ctx, removals); err != nil {
			failed = append(failed, err)
		}
		return cd, failed
	}
	cd := ends(report.ClusterDiff{Name: name}, s.steps)
	for _, ch := range lastChanges(s.steps) {
		if bookkeeping(e.Loop.Owner, ch.Key) {
			continue
		}
		od := report.ObjectDiff{Action: ch.Action, Key: ch.Key, Why: ch.Why, After: ch.Object.Body}
		if ch.Action == object.Delete {
			od.Before, _ = seen.Body(ch.Key)
		}
		cd.Objects = append(cd.Objects, od)
	}
	return cd, nil
}
