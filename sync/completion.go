package sync

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/plan"
)

// end handles the result of a reconcile.
func (s *scheduler) end(ctx context.Context, r *reconcile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.progress.notify()
	w := s.workers[r.cluster.Name]
	w.run.cut(nil)
	if w.run.stopped {
		r.outcomes = slices.DeleteFunc(r.outcomes, apply.Untried)
	}
	w.run, w.ended = nil, time.Now()
	if r.answer == known {
		s.round.answer(r.took.read)
	}
	if s.loop.Meter != nil {
		s.loop.Meter.Reconciled(r.cluster.Name, w.ended.Sub(r.began))
	}
	s.loop.logWrites(r.cluster.Name, r.step.Commit, r.outcomes)
	s.store.Correct(r.cluster.Name, r.outcomes, s.loop.failures(r.outcomes))
	s.store.Results.Add(r.cluster.Name, s.loop.withAdvice(r.outcomes))
	if !w.removed {
		completion{s, w, r}.handle(ctx)
		s.enqueue(w)
	}
}

// completion is what follows from a reconcile that has ended, for its worker and for others. scheduler.mu is held in all of its methods.
type completion struct {
	*scheduler
	w *worker
	r *reconcile
}

// handle decides what the worker does next.
func (e completion) handle(ctx context.Context) {
	switch {
	case e.mode == reading && e.r.round != e.round.number && e.r.answer != known: // it began in an earlier round: it is tried once more
		e.store.Clusters.ReadAgain(e.w.cluster.Name)
	case e.r.stage == overtaken || e.r.epoch != e.store.Declared.Epoch():
		e.requestAndWait(e.w.cluster.Name)
	case e.r.stage == read:
		e.w.read = e.w.read.after(true)
		e.requestAndWait(e.w.cluster.Name)
		e.requestPeers()
	case e.r.err != nil:
		e.round.failed, e.w.last.state = e.r.err, unfinished
		e.w.alarm = soonest(e.w.alarm, time.Now().Add(retryPause))
		if e.round.open {
			e.mode = closed // nothing can be written any more
		}
	default:
		e.afterStep(ctx)
	}
}

// afterStep handles a step that was done.
func (e completion) afterStep(ctx context.Context) {
	state := e.r.finalState()
	if state == repaired {
		e.r.step = e.r.step.Repaired()
	}
	e.r.explainFailures()
	e.w.last = last{step: e.loop.withoutObjects(e.r.step), basis: e.r.basis, state: state}
	reported := e.r.step
	if len(e.r.outcomes) > 0 { // they say what was written: its objects need not be kept until the next report
		reported = e.w.last.step
	}
	e.store.Results.SetStep(e.w.cluster.Name, reported)
	if e.r.stage == unrecorded {
		e.w.removed, e.w.done = true, true // what moves there is no concern of linkwright any more
		return
	}
	e.w.read = e.w.read.after(e.r.kept)
	if e.loop.verifies() && (e.loop.Probe || e.loop.writes(e.r.step.Cluster)) {
		e.verifier.Verify(ctx, e.r.step.Verifications)
	}
	e.scheduleNext()
	if e.r.round == e.round.number {
		e.w.done = true
	}
	if e.store.Outdated(e.r.step, e.r.epoch, e.r.moves) { // a peer that was read meanwhile did not know that this cluster's step waits for it
		e.requestAndWait(e.w.cluster.Name)
	}
	e.requestReads()
}

// scheduleNext sets when the cluster is reconciled again: at once while it writes, after a pause if a write failed, and when its step may change by
// the clock.
func (e completion) scheduleNext() {
	written, failed := countOutcomes(e.r.outcomes)
	e.w.count(e.r, written, failed)
	if written > 0 || e.r.moved {
		e.backoff.Forget(e.w.cluster.Name)
	}
	switch {
	case e.w.exhausted(len(e.workers)):
	case e.w.last.state == repaired:
		e.w.hurry()
		e.requestWorker(e.w, e.r.run.pending && e.w.repairs < 2)
	case written > 0:
		e.requestAndWait(e.w.cluster.Name)
	case failed > 0:
		e.w.alarm, e.w.pending = soonest(e.w.alarm, e.w.pausedUntil), true
	default:
		e.scheduleByClock()
	}
	e.requestPeers()
	if e.w.writes >= mostWrites(len(e.workers)) {
		e.store.Results.SetUnknown(e.w.cluster.Name, object.Because(reason.Contested,
			"another writer changes what linkwright writes: stop it, or list its fields in spec.ignore of the SyncPolicy; after %d reconciles with writes the cluster is not as declared", e.w.writes))
	}
}

// scheduleByClock has the cluster reconciled when its step may differ by the clock. The round waits for what comes before its deadline. A daemon
// comes back later for the rest.
func (e completion) scheduleByClock() {
	s, now := e.r.step, time.Now()
	if !s.PlanAgain.IsZero() {
		at := later(s.PlanAgain, now.Add(e.backoff.When(e.w.cluster.Name)))
		if before := s.PlanAgain.Before(e.round.deadline); before || e.daemon() {
			e.w.alarm, e.w.pending = soonest(e.w.alarm, at), e.w.pending || before && at.Before(e.round.deadline)
		}
	}
	if !e.daemon() {
		return
	}
	for _, at := range s.Moments() {
		if at.After(now) && at != s.PlanAgain {
			e.w.alarm = soonest(e.w.alarm, at)
		}
	}
}

// requestPeers asks for the clusters whose steps may change after this reconcile.
func (e completion) requestPeers() {
	for _, other := range e.r.issued {
		e.requestAndWait(other)
	}
	if !e.r.moved && e.w.done {
		return
	}
	for _, other := range e.store.Neighbours(e.r.cluster.Name, e.r.moved) {
		e.requestAndWait(other)
	}
}

// requestReads reads the clusters by requests that a step needs to decide about a deletion, and then plans the step again.
func (e completion) requestReads() {
	e.readsAnswered()
	if len(e.r.step.ReadFirst) == 0 || e.w.exhausted(len(e.workers)) {
		return
	}
	e.w.awaits = map[*worker]bool{}
	for _, name := range e.r.step.ReadFirst {
		peer := e.worker(name)
		if peer == nil || !peer.requests(e.round.number) || peer == e.w {
			continue
		}
		e.w.awaits[peer] = true
		e.requestNow(peer)
	}
	if e.w.asked && len(e.w.awaits) == 0 {
		e.requestNow(e.w)
	}
}

// readsAnswered reconciles the workers that waited for this cluster to be read by requests.
func (e completion) readsAnswered() {
	if e.r.mode == byWatches || e.r.answer == "" || e.r.round != e.round.number {
		return
	}
	e.w.asked = false
	for _, other := range e.workers {
		if !other.awaits[e.w] {
			continue
		}
		if delete(other.awaits, e.w); len(other.awaits) == 0 {
			e.requestNow(other)
		}
	}
}

// explainFailures sets the reason of rows with a failed write; if the base failed, that is the reason of all rows. An end that leaves may have a reason
// already. A Conflict is none of its failures: Linkerd's controllers change what is drained, and linkwright reads it again.
func (r *reconcile) explainFailures() {
	failed := failedWrites(r.outcomes, r.loop.Explained)
	if len(failed) == 0 {
		return
	}
	r.step.Rows = slices.Clone(r.step.Rows)
	for i, row := range r.step.Rows {
		f, ok := failed[row.End]
		if !ok {
			f, ok = failed[object.End{Cluster: r.cluster.Name}]
		}
		switch {
		case !ok, !slices.Contains([]plan.Phase{plan.Changing, plan.Removed, plan.Released}, row.Phase):
		case row.Leaving && f.why.Code == reason.Conflict, !row.Leaving && row.Why != nil:
		default:
			r.step.Rows[i].Phase, r.step.Rows[i].Why, r.step.Rows[i].Failed = plan.Changing, f.why, true
		}
	}
}

// failure is a write that failed.
type failure struct {
	change object.Change
	why    *object.Reason
}

// failedWrites returns the ends of which a write failed, each with the first that did. A Conflict is tried again at once, so any other failure says
// more.
func failedWrites(outcomes []object.Outcome, explain func(error) *object.Reason) map[object.End]failure {
	out := map[object.End]failure{}
	for _, o := range outcomes {
		if o.Err == nil || apply.Untried(o) {
			continue
		}
		if before, known := out[o.Change.End]; !known || before.why.Code == reason.Conflict {
			out[o.Change.End] = failure{o.Change, explain(o.Err)}
		}
	}
	return out
}

// failures says of each end of which a write failed which write that was, and what to do. What the server said is only for reports, which take
// secrets out.
func (l *Loop) failures(outcomes []object.Outcome) map[object.End]object.Reason {
	out := map[object.End]object.Reason{}
	for end, f := range failedWrites(outcomes, l.Explained) {
		what := fmt.Sprintf("%s %s", f.change.Action, f.change.Key)
		out[end] = object.Reason{Code: f.why.Code, Message: what + " failed"}
		if f.why.Code == reason.Forbidden {
			out[end] = object.Reason{Code: f.why.Code, Message: what + " is not allowed: run " + l.grant(f.why.Message)}
		}
	}
	return out
}
