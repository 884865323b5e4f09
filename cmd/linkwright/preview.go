package main

import (
	"context"
	"fmt"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// previews tries the last change of every object. What cannot be tried is shown as it is rendered.
func (e dryRuns) previews(ctx context.Context, w state.Snapshot, name api.ClusterName, steps []plan.Step) (report.ClusterDiff, []error) {
	var failed []error
	cd := report.ClusterDiff{Name: name}
	cd = ends(cd, steps)
	for _, ch := range lastChanges(steps) {
		if bookkeeping(e.Loop.Owner, ch.Key) {
			continue
		}
		od, why := e.try(ctx, w, ch)
		if why != nil {
			failed = append(failed, fmt.Errorf("cluster %s: dry run: %s %s: %s: %s", name, ch.Action, ch.Key, why.Code, why.Message))
		}
		cd.Objects = append(cd.Objects, od)
	}
	return cd, failed
}

// try previews a change; of one that is refused for good, what would be done instead.
func (e dryRuns) try(ctx context.Context, w state.Snapshot, ch object.Change) (report.ObjectDiff, *object.Reason) {
	od, err := e.preview(ctx, ch)
	if refusal, ok := cluster.Rejection(err); ok {
		instead, why := plan.Replacement(w.Fleet.Policy, ch, refusal)
		if why == nil {
			why = plan.PrunePolicy(w, ch.End, []object.Change{instead})
		}
		if why != nil {
			return od, why
		}
		od, err = e.preview(ctx, instead)
	}
	if err == nil {
		return od, nil
	}
	why := e.Loop.Explained(err)
	if why.Code == reason.NotFound { // a create where our namespace is still to be made
		return od, nil
	}
	return od, why
}

func (e dryRuns) preview(ctx context.Context, ch object.Change) (report.ObjectDiff, error) {
	od := report.ObjectDiff{Action: ch.Action, Key: ch.Key, Why: ch.Why, After: ch.Object.Body}
	err := e.Clusters.WithClient(ctx, ch.End.Cluster, func(c *cluster.Client) error {
		was, next, err := c.Preview(ctx, ch)
		if err == nil {
			od.Before, od.After = was, next
		}
		return err
	})
	return od, err
}
