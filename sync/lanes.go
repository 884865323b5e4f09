package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// start begins a turn of every lane that is due.
func (t *term) start(ctx context.Context) {
	now := time.Now()
	for _, l := range t.order {
		if l.running || l.gone || !t.open {
			continue
		}
		if !l.wake.IsZero() && !l.wake.After(now) {
			t.ring(l)
		}
		switch at := l.repairs(); {
		case !at.IsZero() && !now.Before(at):
			l.drifts = true
			t.launch(ctx, l, (*turn).drift)
		case l.ready && !now.Before(l.quiet):
			l.ready, l.owes, l.unseen, l.wake = false, false, false, time.Time{}
			t.launch(ctx, l, (*turn).whole)
		}
	}
}

// ring makes a lane ready whose time has come, and with it the clusters its ends wait for: where nothing is watched, those must
// be read again, too.
func (t *term) ring(l *lane) {
	l.wake, l.ready = time.Time{}, true
	if t.loop.Changes != nil {
		return
	}
	l.stale = true
	for _, row := range l.step.Rows {
		if row.Standing != plan.Waiting && row.Standing != plan.Held || row.End.IsBase() {
			continue
		}
		for _, other := range []api.ClusterName{row.End.Link.Source, row.End.Link.Target} {
			if peer := t.lane(other); peer != nil {
				peer.ready, peer.stale = true, true
			}
		}
	}
}

// launch has a lane take a turn.
func (t *term) launch(ctx context.Context, l *lane, take func(*turn, context.Context)) {
	u := &turn{
		loop: t.loop, board: t.board, lane: l, cluster: l.cluster, began: time.Now(),
		pass: t.number, epoch: t.board.now(), fresh: l.fresh && !l.stale && l.looked != t.number, first: !l.told,
		observes: t.loop.Changes == nil || l.looked == t.number, last: l.step, keys: l.keys,
		folds: t.loop.Changes == nil && l.looked != t.number,
	}
	ctx, l.cut = context.WithCancel(ctx)
	l.running, l.fresh, l.stale, l.short, l.keys = true, false, false, false, nil
	l.hear()
	go func() {
		take(u, ctx)
		t.ended <- u
	}()
}

// end takes over what became of a turn.
func (t *term) end(u *turn) {
	l := u.lane
	l.running = false
	if l.cut(); l.short {
		u.outcomes = slices.DeleteFunc(u.outcomes, untried)
	}
	if u.known {
		t.answered, t.slowest = true, max(t.slowest, u.read)
	}
	l.drifts = false
	t.loop.wrote(u.cluster.Name, u.step.Commit, u.outcomes)
	t.board.correct(u.cluster.Name, u.outcomes, u.drifts)
	if t.board.did(u.cluster.Name, u.outcomes); len(u.outcomes) > 0 {
		t.news = true
	}
	switch {
	case l.gone:
	case u.stale || u.epoch != t.board.now():
		l.ready = true
	case u.met:
		l.fresh, l.ready = true, true
		t.stir(u)
	case u.err != nil:
		t.failed, l.still, l.wake = u.err, false, time.Now().Add(again)
	case u.drifts:
		l.unseen = false
		t.repaired(u)
		t.sweep(l)
	default:
		u.blame()
		l.unseen = t.restored(u)
		t.news = t.news || !slices.EqualFunc(l.step.Rows, u.step.Rows, stands)
		l.step, l.basis, l.still = t.loop.bare(u.step), u.basis, l.unseen || u.still()
		l.told = l.told || u.pass == t.number
		t.board.tell(u.cluster.Name, u.step)
		l.fresh = u.kept
		t.ask(u.step)
		t.next(u)
		if t.board.outdated(u) { // a neighbour that was read meanwhile did not know that this one's step waits for it
			t.want(u.cluster.Name)
		}
		t.look(u)
		t.sweep(l)
	}
}

// bare is a step without what it wanted written: of what is ours to write, all of that; else the objects.
func (l *Loop) bare(s plan.Step) plan.Step {
	s.Tries = nil
	if l.writes(s.Cluster) {
		s.Ahead, s.Changes, s.After = nil, nil, nil
		return s
	}
	for _, part := range []*[]object.Change{&s.Ahead, &s.Changes, &s.After} {
		*part = slices.Clone(*part)
		for i := range *part {
			(*part)[i].Object = object.Object{}
		}
	}
	return s
}

// stands says that two rows tell the same.
func stands(a, b plan.Row) bool {
	return a.End == b.End && a.Standing == b.Standing && (a.Why == nil) == (b.Why == nil) && (a.Why == nil || *a.Why == *b.Why)
}

// untried says that a write was not begun because its turn was cut short.
func untried(o object.Outcome) bool {
	return errors.Is(o.Err, errEnded) || errors.Is(o.Err, errSkipped) || errors.Is(o.Err, context.Canceled)
}

// unbegun says that a write was not begun, for whatever reason.
func unbegun(o object.Outcome) bool {
	return errors.Is(o.Err, errEnded) || errors.Is(o.Err, errSkipped)
}

// next says who has a turn after this one: the cluster itself while it writes, its neighbours when what
// they depend on moved, and both when something waited for may have happened.
func (t *term) next(u *turn) {
	l := u.lane
	written, failed := tally(u.outcomes)
	if l.unseen { // a turn about keys is for that
		written, l.fails = 0, 0
	}
	switch {
	case written > 0:
		l.turns++
		l.fails, l.quiet = 0, time.Time{}
	case failed > 0:
		l.fail(u.began)
	case t.loop.Changes != nil:
		l.quiet = time.Now().Add(calm * u.planned)
	}
	if written > 0 || u.moved {
		l.waits = 0
	}
	switch {
	case t.stuck(l):
	case written > 0:
		l.ready = true
	case failed > 0:
		l.wake = l.pause
	case !u.step.Next.IsZero() && u.step.Next.Before(t.deadline): // else it is not for this pass
		l.wake = time.Now().Add(min(patient, max(time.Until(u.step.Next), hasty)<<l.waits))
		l.waits = min(l.waits+1, doublings)
	}
	t.stir(u)
	if l.turns >= t.maxTurns() {
		t.board.refuse(u.cluster.Name, object.Because("Contested",
			"still not as declared after %d turns that wrote: somebody else keeps changing the same objects", l.turns))
	}
}

// stir makes those ready whose steps may differ after this turn. One about keys is no first look at its cluster: while others go
// on changing objects, there would be no end of it.
func (t *term) stir(u *turn) {
	for _, other := range u.issued {
		t.want(other)
	}
	if !u.moved && (u.drifts || !u.first) {
		return
	}
	for _, other := range t.board.neighbours(u.cluster.Name, u.moved) {
		t.want(other)
	}
}
