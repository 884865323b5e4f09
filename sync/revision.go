package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// noting is what was written down of revisions, and warned of, during this leadership.
type noting struct {
	last    inventory.Revision
	waiting *amendment // that is to be written with the first cluster's identity; nil: none
	outages int        // polls in a row that found no commit
	warned  bool       // of clusters to be abandoned that nobody knows
}

// note writes down which revision is applied, which was observed, and why that one is not applied, if that is news. Before the first
// cluster is written down it waits for that: both are one write. See flush.
func (e *engine) note(ctx context.Context, head polled, err error) {
	why, known := e.board.unapplied(head, err)
	if !e.loop.remembersRevisions() || !known {
		return
	}
	if e.noting.outages++; head.Commit != "" || head.err == nil {
		e.noting.outages = 0
	}
	if e.noting.outages == 1 && e.daemon() {
		return // a daemon asks again before it calls that an outage
	}
	next := e.board.revisions(why)
	if record := e.board.lastRecord(); next.Stands(e.noting.last) && !record.Revision.IsZero() || next.Stands(inventory.Revision{}) && record.Revision.IsZero() {
		return // also if another process has noted something else since: each notes what is news to it
	}
	e.noting.last = next
	a := &amendment{change: func(r *inventory.Record) bool {
		if !r.Revision.IsZero() && r.Revision.Stands(next) {
			return false
		}
		r.Revision = next.Noted(e.loop.Holder, time.Now())
		return true
	}}
	e.board.gather(a)
	e.noting.waiting = a
	if good, _ := e.board.inForce(); good == nil || len(e.board.lastRecord().Clusters) > 0 {
		e.flush(ctx)
	}
}

// flush writes what waits, if nobody did. What fails is written with the next pass.
func (e *engine) flush(ctx context.Context) {
	a := e.noting.waiting
	if a == nil || ctx.Err() != nil {
		return
	}
	e.noting.waiting = nil
	err := e.board.amend(ctx, func(*inventory.Record) bool { return false })
	if err = errors.Join(err, a.err); err != nil {
		e.noting.last = inventory.Revision{}
		e.loop.Log.Warn("the revision was not written down", "why", err)
	}
}

// remembersRevisions says that passes apply revisions, and may say so.
func (l *Loop) remembersRevisions() bool {
	return l.Holder != "" && !l.ReadOnly && l.Adopt == nil && l.Release == nil
}

// unapplied says why the head is not applied, if it is not; false: what went wrong is nothing about revisions.
func (b *board) unapplied(head polled, err error) (*object.Reason, bool) {
	if good, _ := b.inForce(); good != nil && head.err == nil && good.Commit == head.Commit {
		return nil, true
	}
	why := unapplied(head, err)
	return why, why != nil
}

// revisions are those of a pass whose fleet was chosen. why is of the observed one, which is not applied; nil: it is.
func (b *board) revisions(why *object.Reason) inventory.Revision {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := inventory.Revision{Observed: b.head, Why: why}
	if b.good != nil {
		next.Applied = b.good.Commit
		next.Links, next.Suspended, next.SuspendedLinks = writtenBy(b.good)
	}
	return next
}

// writtenBy is how many links of a fleet are to be written, the clusters in which nothing is, and the other links that are suspended.
func writtenBy(f *fleet.Fleet) (written int, suspended []api.ClusterName, links []api.Pair) {
	closed := map[api.ClusterName]bool{}
	for _, c := range f.Clusters {
		if c.Spec.Suspend {
			closed[c.Name], suspended = true, append(suspended, c.Name)
		}
	}
	for l := range f.Links() {
		switch {
		case closed[l.Source.Name] || closed[l.Target.Name]:
		case closed[l.Target.Canonical()]: // by a second name of the target
			links = append(links, l.Pair())
		case l.Spec.Suspend:
			links = append(links, l.Pair())
		default:
			written++
		}
	}
	slices.SortFunc(links, api.Pair.Compare)
	return written, suspended, links
}

// unapplied says why the head is not applied; nil: what went wrong is nothing about revisions.
func unapplied(head polled, why error) *object.Reason {
	switch {
	case errors.Is(head.err, ErrInvalid):
		return object.Because(inventory.InvalidDeclarations, "%s", report.First(head.Problems))
	case head.err != nil && head.Commit == "":
		return object.Because(inventory.RepositoryNotRead, "%v", head.err)
	case head.err != nil:
		return object.Because(inventory.RevisionNotRead, "%v", head.err)
	}
	if refused, ok := errors.AsType[RefusedHead](why); ok {
		return object.Because(plan.Rewound, "%v", refused)
	}
	return nil
}

// RefusedHead says that the head may not be applied after what was applied before.
type RefusedHead struct{ error }

func (r RefusedHead) Unwrap() error { return r.error }
