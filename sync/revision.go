package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

// polled is what a poll of Git found: a fleet, or an error.
type polled struct {
	Declaration
	at  time.Time // when it was asked
	err error
}

// poll asks what the head declares.
func (l *Loop) poll(ctx context.Context) polled {
	at := time.Now()
	d, err := l.Declared.Next(ctx)
	if err == nil && d.Fleet == nil {
		err = ErrInvalid
	}
	if err != nil {
		d.Fleet = nil
	}
	return polled{d, at, err}
}

// same reports whether two polls found the same.
func (p polled) same(o polled) bool {
	return p.Commit == o.Commit && cause(p.err) == cause(o.err)
}

// revisions records which revision is applied.
type revisions struct {
	shared
	last    inventory.Revision
	waiting *record.Change // that is to be written with the first cluster's identity; nil: none
	outages int            // polls in a row that found no commit
}

// recordRevision records the applied revision, the observed one, and why that one is not applied, if any of it changed. The first time it waits for
// the first cluster's entry, and both are one write: see flush. A daemon polls twice before it calls a failure an outage.
func (n *revisions) recordRevision(ctx context.Context, head polled, daemon bool, err error) {
	why, known := n.unapplied(head, err)
	if !n.loop.remembersRevisions() || !known {
		return
	}
	if n.outages++; head.Commit != "" || head.err == nil {
		n.outages = 0
	}
	if n.outages == 1 && daemon {
		return
	}
	good, _ := n.store.Declared.Applied()
	observed := n.store.Declared.Observe("")
	next := nextRevision(n.store.Record.Last().Revision, good, observed, why)
	if record := n.store.Record.Last(); next.SameState(n.last) && !record.Revision.IsZero() || next.SameState(inventory.Revision{}) && record.Revision.IsZero() {
		return // also if another process has noted something else since: each notes what is news to it
	}
	n.last = next
	n.waiting = n.record.Queue(func(r *inventory.Record) bool {
		next := nextRevision(r.Revision, good, observed, why)
		if !r.Revision.IsZero() && r.Revision.SameState(next) {
			return false
		}
		r.Revision = next.Recorded(n.loop.Holder, time.Now()).Replacing(r.Revision)
		return true
	})
	if good == nil || len(n.store.Record.Last().Clusters) > 0 {
		n.flush(ctx)
	}
}

// flush writes what waits. What fails is written with the next sync.
func (n *revisions) flush(ctx context.Context) {
	a := n.waiting
	if a == nil || ctx.Err() != nil {
		return
	}
	n.waiting = nil
	if err := n.record.Flush(ctx, a); err != nil {
		n.last = inventory.Revision{}
		n.loop.Log.Warn("the revision was not recorded", "why", err)
	}
}

// remembersRevisions reports whether syncs apply revisions and record them.
func (l *Loop) remembersRevisions() bool {
	return l.Holder != "" && !l.ReadOnly && l.Adopt == nil && l.Release == nil
}

// unapplied returns why the head is not applied, if it is not; false: what went wrong is nothing about revisions.
func (n *revisions) unapplied(head polled, err error) (*object.Reason, bool) {
	if good, _ := n.store.Declared.Applied(); good != nil && head.err == nil && good.Commit == head.Commit {
		return nil, true
	}
	why := unapplied(head, err)
	return why, why != nil
}

// nextRevision returns what is recorded of revisions after a round. good is the applied fleet; nil: it could not be loaded, and stays as it is
// recorded. why is of the observed revision, which is not applied; nil: it is.
func nextRevision(recorded inventory.Revision, good *fleet.Fleet, observed api.Commit, why *object.Reason) inventory.Revision {
	next := recorded
	next.Observed, next.Why = observed, why
	if good != nil {
		next.Applied, next.UninstallSince = good.Commit, time.Time{}
		next.Links, next.Suspended, next.SuspendedLinks = countWritten(good)
	}
	return next
}

// countWritten returns how many links of a fleet are written, the clusters in which nothing is, and the other suspended links.
func countWritten(f *fleet.Fleet) (written int, suspended []api.ClusterName, links []api.Pair) {
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

// unapplied returns why the head is not applied; nil: what went wrong is nothing about revisions.
func unapplied(head polled, why error) *object.Reason {
	switch {
	case errors.Is(head.err, ErrInvalid):
		return object.Because(reason.InvalidDeclarations, "%s", report.First(head.Problems))
	case head.err != nil && head.Commit == "":
		return object.Because(reason.RepositoryNotRead, "%v", head.err)
	case head.err != nil:
		return object.Because(reason.RevisionNotRead, "%v", head.err)
	}
	if refused, ok := errors.AsType[DeniedRevision](why); ok {
		return object.Because(reason.NonFastForward, "%v", refused.Unwrap())
	}
	return nil
}

// DeniedRevision means that the observed revision may not be applied after the applied one. It wraps the reason.
type DeniedRevision struct{ error }

func (r DeniedRevision) Error() string {
	return fmt.Sprintf("the observed revision is not applied: %v", r.error)
}

func (r DeniedRevision) Unwrap() error { return r.error }
