package sync

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// decided is what follows from the decisions of the record and from flags. Nobody changes it.
type decided struct {
	accepted  map[api.ClusterName]string
	abandoned map[api.ClusterName]bool
	allowed   []api.Commit
	suspended []inventory.Decision
}

// decide adds decisions to flags, which one sync was started with: they count before the record.
func (l *Loop) decide(all []inventory.Decision) decided {
	now := time.Now()
	d := decided{accepted: map[api.ClusterName]string{}, abandoned: map[api.ClusterName]bool{}, allowed: slices.Clone(l.Allowed)}
	for _, one := range all {
		switch {
		case !one.Active(now):
		case one.Kind == inventory.AcceptCluster:
			d.accepted[one.Cluster] = one.UID
		case one.Kind == inventory.AbandonCluster:
			d.abandoned[one.Cluster] = true
		case one.Kind == inventory.AllowNonFastForward:
			d.allowed = append(d.allowed, one.Revision)
		case one.Kind == inventory.Suspend:
			d.suspended = append(d.suspended, one)
		}
	}
	maps.Copy(d.accepted, l.Accepted)
	maps.Copy(d.abandoned, l.Forget)
	return d
}

// heed takes the decisions of a record over, and logs those that are new; b.mu is held.
func (b *board) heed(next []inventory.Decision) {
	if slices.Equal(b.record.Decisions, next) {
		return
	}
	for _, d := range next {
		if b.loop.Log == nil || slices.Contains(b.record.Decisions, d) || d.Over(time.Now()) {
			continue
		}
		if err := d.Check(); err != nil {
			b.loop.Log.Warn("decision not understood: nothing follows from it", "decision", d.String(), "error", err)
			continue
		}
		b.loop.Log.Info("decision taken up", "decision", d.String())
	}
	was := b.decided.allowed
	if b.decided = b.loop.decide(next); !slices.Equal(was, b.decided.allowed) {
		clear(b.answers)
		b.derived.barred, b.derived.rules = nil, nil
	}
}

// unread logs approvals that nothing follows from, once; b.mu is held.
func (b *board) unread(next []string) {
	for _, text := range next {
		if b.loop.Log != nil && !slices.Contains(b.record.Unread, text) {
			b.loop.Log.Warn("approval not understood: nothing follows from it", "approval", text)
		}
	}
}

// misread logs limits and denials that were not understood, once; b.mu is held.
func (b *board) misread(next []string) {
	for _, text := range next {
		if b.loop.Log != nil && !slices.Contains(b.record.Misread, text) {
			b.loop.Log.Warn("record not understood: until another revision is applied, nothing is removed that you do not approve",
				"record", inventory.RecordKey(b.loop.Owner, b.loop.Home.Namespace).String(), "text", text)
		}
	}
}

// allowed are the commits that people let be applied whatever was before.
func (b *board) allowed() []api.Commit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.decided.allowed
}

// suspends says that a person's decision keeps all that is in a cluster suspended.
func (b *board) suspends(name api.ClusterName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return state.Snapshot{Record: state.Record{Suspended: b.decided.suspended}, Now: time.Now()}.Suspends(name)
}

// attend takes decisions over as they are recorded, and tells of them until ctx ends: true, where the newest head is wanted for
// them. Several that nobody heard of yet are told as one. end waits for it.
func (e *engine) attend(ctx context.Context) (decided <-chan bool, end func()) {
	b, told, done := e.board, make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.loop.Recorded:
			}
			something, polls := b.decides(ctx)
			if !something {
				continue
			}
			select {
			case before := <-told:
				polls = polls || before
			default:
			}
			told <- polls // nobody else sends
		}
	}()
	return told, func() { <-done }
}

// decides takes the record over if people decided something since: then a sync is to begin. polls says that it is to begin with
// the newest head.
func (b *board) decides(ctx context.Context) (something, polls bool) {
	b.recording.Lock()
	defer b.recording.Unlock()
	record, err := b.recall(ctx)
	last := b.lastRecord().Decisions
	if err != nil || slices.Equal(record.Decisions, last) {
		return false, false // who could not read it reads it again with the next sync
	}
	b.setRecord(record)
	return true, slices.ContainsFunc(record.Decisions, func(d inventory.Decision) bool {
		// what is declared decides whether a cluster may be abandoned
		return (d.Kind == inventory.Reconcile || d.Kind == inventory.AbandonCluster) && !slices.Contains(last, d)
	})
}

// urge has the clusters that people want reconciled now, or abandoned, read by requests, and gives those decisions. No back-off
// counts for them.
func (e *engine) urge() (urged []inventory.Decision) {
	for _, d := range e.board.lastRecord().Decisions {
		wanted := d.Kind == inventory.Reconcile || d.Kind == inventory.AbandonCluster
		if !wanted || !d.Active(time.Now()) || !e.loop.writes(d.Cluster) {
			continue
		}
		urged = append(urged, d)
		e.urgeCluster(d.Cluster)
	}
	return urged
}

// urgeCluster has a cluster read by requests in this round.
func (e *engine) urgeCluster(name api.ClusterName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.worker(name); w != nil {
		if e.board.pardon(name); e.requests(w) {
			e.now(w)
		}
	}
}

// ended are those of the urged decisions that this pass may end. If the repository could not be read, a cluster may be declared no more:
// whoever merges that and abandons the cluster need not wait for the next poll.
func ended(urged []inventory.Decision, polled error) []inventory.Decision {
	if polled == nil {
		return urged
	}
	return slices.DeleteFunc(slices.Clone(urged), func(d inventory.Decision) bool { return d.Kind == inventory.AbandonCluster })
}

// pardon ends what keeps objects of a cluster from being corrected.
func (b *board) pardon(name api.ClusterName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.corrected, name)
	b.derived.contested = nil
}

// strike removes decisions from the record that are used up. Who observes removes none, nor does who only adopts or releases.
func (e *engine) strike(ctx context.Context, urged []inventory.Decision) {
	if e.loop.ReadOnly || e.loop.Adopt != nil || e.loop.Release != nil || ctx.Err() != nil {
		return
	}
	var done []inventory.Decision
	for _, d := range e.board.lastRecord().Decisions {
		if e.usedUp(ctx, d, urged) {
			done = append(done, d)
		}
	}
	if len(done) == 0 {
		return
	}
	var gone []inventory.Decision
	err := e.board.amend(ctx, func(r *inventory.Record) bool {
		gone = r.Undecide(func(d inventory.Decision) bool { return slices.Contains(done, d) })
		return len(gone) > 0
	})
	switch {
	case err == nil:
		e.board.struck(gone)
	case e.loop.Log != nil:
		e.loop.Log.Warn("decisions that are used up were not removed: the next sync tries again", "error", err)
	}
}

// struck logs which decisions were removed.
func (b *board) struck(gone []inventory.Decision) {
	for _, d := range gone {
		if b.loop.Log != nil {
			b.loop.Log.Info("decision used up", "decision", d.String())
		}
	}
}

// usedUp says that nothing follows from a decision any more:
//
//	AcceptCluster        the record has the identity, and the base the name
//	AllowNonFastForward  the commit in force is it or descends from it, and every cluster of the record carries that; or its time is over
//	AbandonCluster       the cluster is declared, in a sync that began with the decision and read the repository; or it is not in the record either
//	Reconcile            its cluster had its turn in this pass, or there is none
//	Suspend              its time is over
func (e *engine) usedUp(ctx context.Context, d inventory.Decision, urged []inventory.Decision) bool {
	if d.Check() != nil {
		return false
	}
	switch d.Kind {
	case inventory.AcceptCluster:
		return e.board.world().Confirmed(d.Cluster, d.UID)
	case inventory.AllowNonFastForward:
		return d.Over(time.Now()) || e.board.everywhere(ctx, d.Revision)
	case inventory.AbandonCluster:
		_, remembered := e.board.lastRecord().Clusters[d.Cluster]
		if e.board.declares(d.Cluster) { // it must not act one day, when the cluster leaves the repository for another reason
			return slices.Contains(urged, d)
		}
		return !remembered
	case inventory.Reconcile:
		return slices.Contains(urged, d) && e.hadTurn(d.Cluster)
	}
	return d.Over(time.Now())
}

// declares says that what is declared now has the cluster.
func (b *board) declares(name api.ClusterName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.fleet.Cluster(name)
	return ok
}

// everywhere says that all clusters of the record carry the commit in force, and that this is a commit or descends from it.
func (b *board) everywhere(ctx context.Context, commit api.Commit) bool {
	good, _ := b.inForce()
	if good == nil || good.Commit == "" {
		return false
	}
	applied := b.applied()
	for name := range b.lastRecord().Clusters {
		if last := applied[name]; !b.side(name).Known || last != "" && last != good.Commit {
			return false
		}
	}
	return good.Commit == commit || b.loop.Declared.Follows(ctx, good.Commit, commit, nil) == nil
}
