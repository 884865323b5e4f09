package sync

import (
	"time"

	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/store"
)

// coalesce is the least time between two reconciles of a cluster that watches ask for: what moves meanwhile is read together.
const coalesce = 100 * time.Millisecond

const (
	// Reconciles that wrote, of one cluster in one round: who still writes then fights with somebody. Tokens of other
	// clusters may come one by one, so each adds some.
	maxWrites, writesPerPeer = 60, 2

	maxFails   = 3           // reconciles with a failed write, before the next round tries again
	retryPause = time.Second // after a reconcile whose writes failed
	// Between two reads what does not come; each look in vain doubles the time.
	minBackoff, maxBackoff = 100 * time.Millisecond, 10 * time.Second
	// restFactor is how long a cluster is not planned after a plan that wrote nothing, in times of what that took.
	restFactor = 9

	// maxRequests is how often a cluster is read by requests in one round because others must know for certain.
	maxRequests = 20
)

// worker reconciles one cluster. scheduler.mu guards all of it, but for the time of the last answer in its run.
type worker struct {
	cluster fleet.Cluster
	removed bool // no longer declared
	run     *run // under way; nil: none
	schedule
	read readState
	last last
	effort
	request
}

// schedule is when the next reconcile begins.
type schedule struct {
	due     time.Time // it is wanted from then on; zero: none is
	alarm   time.Time // it is wanted then, by the clock; zero: none is
	ended   time.Time // the last one
	rest    time.Time // none begins before: planning must not take a core for itself
	pending bool      // the round waits for it
	urgent  bool      // something of linkwright moved since the last one began
}

// readState says how far the store has a cluster as it is.
//
//	Unread    it is to be read before it is planned; what moves in a cluster makes it so
//	Current   it was read just now, or is known by what was written
//	Outdated  it is to be read, whatever the reconcile under way leaves: something may have happened by itself
//
// A reconcile that begins makes it Unread. One that ends may make an Unread one Current.
type readState string

const (
	unread   readState = "" // so that the zero worker reads
	current  readState = "Current"
	outdated readState = "Outdated"
)

// moved returns the state after something moved.
func (s readState) moved() readState {
	if s == current {
		return unread
	}
	return s
}

// after returns the state after a reconcile.
func (s readState) after(kept bool) readState {
	switch {
	case s == outdated:
		return s
	case kept:
		return current
	}
	return unread
}

// last is the result of a worker's last reconcile.
type last struct {
	step  plan.Step
	basis store.Basis // of step
	state lastState
}

// finished reports whether the round need not wait for what moves since.
func (l last) finished() bool { return l.state == finished || l.state == repaired }

// effort is what a worker did in a round.
type effort struct {
	done        bool      // it had a reconcile
	writes      int       // reconciles that wrote something else than repairs
	repairs     int       // reconciles that only repaired, in a row
	fails       int       // reconciles of which a write failed, in a row
	pausedUntil time.Time // after one of them: what is tried before, for another's sake, is no try
}

// request is a read by requests, for a step that decides about a deletion.
type request struct {
	since  int              // the round in which it is read so; zero: none
	asked  bool             // it was asked for, and has not happened
	times  int              // it was asked for in this round
	awaits map[*worker]bool // those whose requests must be answered before this worker is reconciled again for them
}

// begin begins a round. A run under way belongs to the round before.
func (w *worker) begin() {
	w.effort, w.request = effort{}, request{since: w.since}
	w.read = unread
}

// hurry begins the next reconcile without the usual rest.
func (w *worker) hurry() {
	w.urgent, w.rest = true, w.ended.Add(coalesce)
}

// nextStart returns when the next reconcile begins; zero: none is due.
func (w *worker) nextStart() time.Time {
	at := soonest(w.due, w.alarm)
	if at.IsZero() || w.run != nil {
		return time.Time{}
	}
	return later(at, w.rest)
}

// fail counts a reconcile that began then and of which a write failed. A peer may have one begin before the pause after the last is
// over: that proves nothing more, and the pause stays as it is.
func (w *worker) fail(began time.Time) {
	if began.Before(w.pausedUntil) {
		return
	}
	w.fails++
	w.pausedUntil = time.Now().Add(retryPause)
}

// count adds a reconcile to what the worker did in this round, and says how long it rests.
func (w *worker) count(r *reconcile, written, failed int) {
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
		w.fails, w.pausedUntil = 0, time.Time{}
	case failed > 0:
		w.fail(r.began)
	case r.loop.Changes != nil && w.urgent:
		w.hurry()
	case r.loop.Changes != nil:
		w.rest = time.Now().Add(restFactor * r.took.plan)
	}
}

// exhausted reports whether the cluster gets no more reconciles in this round, which has so many clusters.
func (w *worker) exhausted(clusters int) bool {
	return w.fails >= maxFails || w.writes >= mostWrites(clusters)
}

func mostWrites(clusters int) int { return maxWrites + writesPerPeer*clusters }

// requests has the cluster read by requests for the rest of a round; false: it was often enough.
func (w *worker) requests(round int) bool {
	if w.asked {
		return true
	}
	if w.times >= maxRequests {
		return false
	}
	w.asked, w.since = true, round
	w.times++
	return true
}

// busy reports whether a round waits for the worker, unless its cluster does not answer. stopped: the round was asked to end.
func (w *worker) busy(stopped, straggles bool) bool {
	if w.run != nil {
		return (w.run.pending || w.pending || stopped) && !straggles
	}
	return !stopped && !w.removed && w.pending
}

// settled reports whether another reconcile of the cluster, which is watched, would change nothing: the last one finished, and nothing that it was
// planned from has changed.
func (w *worker) settled(now store.View) bool {
	s := w.last.step
	return w.last.finished() && w.run == nil && !past(w.due, now.Now) && now.Clusters[w.cluster.Name].Known() &&
		!past(s.PlanAgain, now.Now) && !past(s.Retry, now.Now) && now.Basis(s) == w.last.basis
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// soonest returns the first of two moments, of which a zero one never comes.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// past reports whether a moment has come; a zero one never does.
func past(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
