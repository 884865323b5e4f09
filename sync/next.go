package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

const (
	// Reconciles that wrote, of one cluster in one round: who still writes then fights with somebody. Tokens of other
	// clusters may come one by one, so each adds some.
	maxWrites, writesPerPeer = 60, 2

	maxFails = 3           // reconciles with a failed write, before the next round tries again
	again    = time.Second // after a reconcile whose writes failed
	// Between two looks at what does not come; each look in vain doubles the time.
	hasty, patient = 100 * time.Millisecond, 10 * time.Second
	// calm is how long a cluster is not planned after a plan that wrote nothing, in times of what that took.
	calm = 9

	// maxTimes is how often a cluster is read by requests in one round because others must know for certain.
	maxTimes = 20
)

// begin begins a reconcile of a cluster; nil: none is due, or may begin now. The context is its own.
func (e *engine) begin(ctx context.Context, name api.ClusterName) (*reconcile, context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.worker(name)
	if w == nil || w.run != nil || !e.mayBegin(ctx, w) {
		return nil, nil
	}
	now := time.Now()
	if e.mode == open && past(w.alarm, now) {
		e.ring(w)
	}
	t := task{
		began: now, round: e.round.number, epoch: e.board.now(), how: e.howToRead(w), onlyRead: e.mode == reading,
		current: w.read == current && w.since != e.round.number,
	}
	inner, cut := context.WithCancelCause(ctx)
	w.run = &run{round: t.round, pending: w.pending, cut: cut}
	w.run.hear()
	w.read, w.schedule = unread, schedule{ended: w.ended}
	if w.last.state == owed {
		w.last.state = unfinished
	}
	return &reconcile{loop: e.loop, board: e.board, cluster: w.cluster, run: w.run, task: t}, inner
}

// mayBegin says that a reconcile of the cluster may begin now. e.mu is held.
func (e *engine) mayBegin(ctx context.Context, w *worker) bool {
	switch e.mode {
	case reading:
		first := !e.board.has(w.cluster.Name) && !e.round.tried[w]
		if first {
			e.round.tried[w] = true
		}
		return first
	case open:
		at := w.starts()
		if at.After(time.Now()) {
			e.enqueue(w)
			return false
		}
		return !at.IsZero() && ctx.Err() == nil
	}
	return false
}

// howToRead says how the cluster is read in this round. e.mu is held.
func (e *engine) howToRead(w *worker) how {
	switch {
	case w.since == e.round.number:
		return forDeletion
	case e.loop.Changes == nil:
		return byRequests
	}
	return byWatches
}

// end takes over what became of a reconcile.
func (e *engine) end(ctx context.Context, r *reconcile) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.tell()
	w := e.workers[r.cluster.Name]
	w.run.cut(nil)
	if w.run.short {
		r.outcomes = slices.DeleteFunc(r.outcomes, untried)
	}
	w.run, w.ended = nil, time.Now()
	if r.known {
		e.round.answer(r.took.read)
	}
	e.loop.wrote(r.cluster.Name, r.step.Commit, r.outcomes)
	e.board.correct(r.cluster.Name, r.outcomes)
	e.board.did(r.cluster.Name, r.outcomes)
	if !w.gone {
		e.takeOver(ctx, w, r)
		e.enqueue(w)
	}
}

// takeOver has a worker go on after a reconcile. e.mu is held.
func (e *engine) takeOver(ctx context.Context, w *worker, r *reconcile) {
	switch {
	case e.mode == reading && r.round != e.round.number && !r.known: // it began in an earlier round: it is tried once more
		e.board.drop(w.cluster.Name)
	case r.stage == overtaken || r.epoch != e.board.now():
		e.want(w.cluster.Name)
	case r.stage == read:
		w.read = w.read.after(true)
		e.want(w.cluster.Name)
		e.stir(w, r)
	case r.err != nil:
		e.round.failed, w.last.state = r.err, unfinished
		w.alarm = soonest(w.alarm, time.Now().Add(again))
		e.abort()
	default:
		e.after(ctx, w, r)
	}
}

// abort ends a round in which nothing can be written any more. e.mu is held.
func (e *engine) abort() {
	if e.round.open {
		e.mode = closed
	}
}

// after takes over a step that was done. e.mu is held.
func (e *engine) after(ctx context.Context, w *worker, r *reconcile) {
	state := r.left()
	if state == repaired {
		r.step = r.step.Repaired()
	}
	r.blame()
	w.last = last{step: e.loop.bare(r.step), basis: r.basis, state: state}
	e.board.tell(w.cluster.Name, r.step)
	if r.stage == struckOff {
		w.gone, w.done = true, true // what moves there is no concern of ours any more
		return
	}
	w.read = w.read.after(r.kept)
	e.verify(ctx, r.step)
	e.next(w, r)
	if r.round == e.round.number {
		w.done = true
	}
	if e.board.outdated(r) { // a peer that was read meanwhile did not know that this cluster's step waits for it
		e.want(w.cluster.Name)
	}
	e.request(w, r)
}

// next says when the cluster is reconciled again: at once while it writes, after a pause where that failed, and when the step says
// that something waited for may have happened. e.mu is held.
func (e *engine) next(w *worker, r *reconcile) {
	written, failed := tally(r.outcomes)
	e.count(w, r, written, failed)
	if written > 0 || r.moved {
		e.backoff.Forget(w.cluster.Name)
	}
	switch {
	case e.exhausted(w):
	case w.last.state == repaired:
		w.hurry()
		e.need(w, r.run.pending && w.repairs < 2)
	case written > 0:
		e.want(w.cluster.Name)
	case failed > 0:
		w.alarm, w.pending = soonest(w.alarm, w.pause), true
	default:
		e.wait(w, r.step)
	}
	e.stir(w, r)
	if w.writes >= e.maxWrites() {
		e.board.refuse(w.cluster.Name, object.Because(reason.Contested,
			"still not as declared after %d turns that wrote: somebody else keeps changing the same objects", w.writes))
	}
}

// count adds a reconcile to what the worker did in this round, and says how long it rests. e.mu is held.
func (e *engine) count(w *worker, r *reconcile, written, failed int) {
	w.rest = time.Time{}
	w.repairs++
	if w.last.state != repaired {
		w.repairs = 0
	}
	switch {
	case w.last.state == repaired:
		w.fails = 0
	case written > 0:
		w.writes++
		w.fails, w.pause = 0, time.Time{}
	case failed > 0:
		w.fail(r.began)
	case e.loop.Changes != nil && w.urgent:
		w.hurry()
	case e.loop.Changes != nil:
		w.rest = time.Now().Add(calm * r.took.plan)
	}
}

// wait has the cluster reconciled when its step may differ by the clock. The round waits for what comes before its deadline. A daemon
// comes back later for the rest. e.mu is held.
func (e *engine) wait(w *worker, s plan.Step) {
	now := time.Now()
	if !s.Next.IsZero() {
		at := later(s.Next, now.Add(e.backoff.When(w.cluster.Name)))
		if before := s.Next.Before(e.round.deadline); before || e.daemon() {
			w.alarm, w.pending = soonest(w.alarm, at), w.pending || before && at.Before(e.round.deadline)
		}
	}
	if !e.daemon() {
		return
	}
	for _, at := range s.Moments() {
		if at.After(now) && at != s.Next {
			w.alarm = soonest(w.alarm, at)
		}
	}
}

// daemon says that the engine goes on after a round.
func (e *engine) daemon() bool { return e.patience > 0 }

// ring has a worker whose time has come read its cluster, and with it the peers that its ends wait for: where nothing is watched, those
// must be read again, too. e.mu is held.
func (e *engine) ring(w *worker) {
	if e.loop.Changes != nil {
		return
	}
	w.read = outdated
	for _, row := range w.last.step.Rows {
		if row.Standing != plan.Waiting && row.Standing != plan.Held || row.End.IsBase() {
			continue
		}
		if peer := e.worker(row.Other); peer != nil && peer != w {
			peer.read = outdated
			e.now(peer)
		}
	}
}

// stir asks for the clusters whose steps may differ after this reconcile. The first of a round may have made known what others wait
// for. e.mu is held.
func (e *engine) stir(w *worker, r *reconcile) {
	for _, other := range r.issued {
		e.want(other)
	}
	if !r.moved && w.done {
		return
	}
	for _, other := range e.board.neighbours(r.cluster.Name, r.moved) {
		e.want(other)
	}
}

// exhausted says that a cluster gets no more reconciles in this round. e.mu is held.
func (e *engine) exhausted(w *worker) bool { return w.fails >= maxFails || w.writes >= e.maxWrites() }

func (e *engine) maxWrites() int { return maxWrites + writesPerPeer*len(e.workers) }

// request obeys a step that must not decide on what watches show: the clusters that it names are read by requests in this round, and
// then it is planned again. e.mu is held.
func (e *engine) request(w *worker, r *reconcile) {
	e.answered(w, r)
	if len(r.step.Look) == 0 || e.exhausted(w) {
		return
	}
	w.awaits = map[*worker]bool{}
	for _, name := range r.step.Look {
		peer := e.worker(name)
		if peer == nil || !e.requests(peer) || peer == w {
			continue
		}
		w.awaits[peer] = true
		e.now(peer)
	}
	if w.asked && len(w.awaits) == 0 {
		e.now(w)
	}
}

// now has a worker begin a reconcile now, exhausted or not: another one waits for it. e.mu is held.
func (e *engine) now(w *worker) {
	w.due, w.pending = soonest(w.due, time.Now()), true
	e.enqueue(w)
}

// requests has a cluster read by requests for the rest of the round; false: it was often enough. e.mu is held.
func (e *engine) requests(w *worker) bool {
	if w.asked {
		return true
	}
	if w.times >= maxTimes {
		return false
	}
	w.asked, w.since = true, e.round.number
	w.times++
	return true
}

// answered asks for those that waited for a cluster to be read by requests. e.mu is held.
func (e *engine) answered(w *worker, r *reconcile) {
	if r.how == byWatches || !r.asked || r.round != e.round.number {
		return
	}
	w.asked = false
	for _, other := range e.workers {
		if !other.awaits[w] {
			continue
		}
		if delete(other.awaits, w); len(other.awaits) == 0 {
			e.now(other)
		}
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

// untried says that a write was not begun because its reconcile was cut short.
func untried(o object.Outcome) bool {
	return errors.Is(o.Err, errEnded) || errors.Is(o.Err, errSkipped) || errors.Is(o.Err, context.Canceled)
}

// unbegun says that a write was not begun, for whatever reason.
func unbegun(o object.Outcome) bool {
	return errors.Is(o.Err, errEnded) || errors.Is(o.Err, errSkipped)
}
