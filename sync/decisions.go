package sync

import (
	"context"
	"slices"
	"time"

	"github.com/linkwright/linkwright/prune/inventory"
)

// watchDecisions follows decisions as they are recorded, until ctx ends. The channel receives true if Git must be polled for them. Several decisions
// are one. end waits for the goroutine.
func (e *engine) watchDecisions(ctx context.Context) (decided <-chan bool, end func()) {
	reported, done := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-e.loop.Recorded:
			}
			something, polls := e.record.Decided(ctx)
			if !something {
				continue
			}
			select {
			case before := <-reported:
				polls = polls || before
			default:
			}
			reported <- polls // nobody else sends
		}
	}()
	return reported, func() { <-done }
}

// requestDecided reads the clusters by requests that people want reconciled or abandoned, without any back-off, and returns those decisions.
func (e *engine) requestDecided() (urged []inventory.Decision) {
	for _, d := range e.store.Record.Last().Decisions {
		wanted := d.Kind == inventory.Reconcile || d.Kind == inventory.AbandonCluster
		if !wanted || !d.Active(time.Now()) || !e.loop.writes(d.Cluster) {
			continue
		}
		urged = append(urged, d)
		e.readByRequests(d.Cluster)
	}
	return urged
}

// mayEnd returns the decisions that this sync may end. If Git could not be read, the cluster of an abandonment may no longer be declared, so that
// decision stays.
func mayEnd(urged []inventory.Decision, polled error) []inventory.Decision {
	if polled == nil {
		return urged
	}
	return slices.DeleteFunc(slices.Clone(urged), func(d inventory.Decision) bool { return d.Kind == inventory.AbandonCluster })
}

// removeUsedUp removes used-up decisions from the record. A process that only reads, adopts or releases removes none.
func (e *engine) removeUsedUp(ctx context.Context, urged []inventory.Decision) {
	if e.loop.ReadOnly || e.loop.Adopt != nil || e.loop.Release != nil || ctx.Err() != nil {
		return
	}
	var done []inventory.Decision
	for _, d := range e.store.Record.Last().Decisions {
		if e.usedUp(ctx, d, urged) {
			done = append(done, d)
		}
	}
	if len(done) == 0 {
		return
	}
	var gone []inventory.Decision
	err := e.record.Amend(ctx, func(r *inventory.Record) bool {
		gone = r.RemoveDecisions(func(d inventory.Decision) bool { return slices.Contains(done, d) })
		r.Resumed(gone, "", time.Now())
		return len(gone) > 0
	})
	switch {
	case err == nil:
		e.loop.logUsedUp(gone)
	case e.loop.Log != nil:
		e.loop.Log.Warn("decisions that are used up were not removed: the next sync tries again", "error", err)
	}
}

// usedUp reports whether nothing follows from a decision any more:
//
//	AcceptCluster        the record has the identity, and the base the name
//	AllowNonFastForward  the applied commit is it or descends from it, and every cluster of the record has that; or its time is over
//	AbandonCluster       the cluster is declared, in a sync that began with the decision and read the repository; or it is not in the record either
//	Reconcile            its cluster was reconciled in this sync, or does not exist
//	Suspend              its time is over
//	Resume, Approve, WithdrawApproval   it is a week old
func (e *engine) usedUp(ctx context.Context, d inventory.Decision, urged []inventory.Decision) bool {
	if d.Check() != nil {
		return false
	}
	switch d.Kind {
	case inventory.AcceptCluster:
		return e.store.Snapshot().Confirmed(d.Cluster, d.UID)
	case inventory.AllowNonFastForward:
		return d.Expired(time.Now()) || e.history.appliedEverywhere(ctx, d.Revision)
	case inventory.AbandonCluster:
		_, remembered := e.store.Record.Last().Clusters[d.Cluster]
		if e.store.Declared.Declares(d.Cluster) { // it must not act one day, when the cluster leaves the repository for another reason
			return slices.Contains(urged, d)
		}
		return !remembered
	case inventory.Reconcile:
		return slices.Contains(urged, d) && e.wasReconciled(d.Cluster)
	}
	return d.Expired(time.Now())
}
