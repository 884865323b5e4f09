package sync

import (
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// round is one sync over all clusters: a reconcile of each that is not settled, and more while there is something to do.
type round struct {
	number   int
	deadline time.Time // for what must be waited for
	open     bool      // reconciles write
	answered bool      // by any cluster
	slowest  time.Duration
	failed   error            // of the record: nothing is written without it
	tried    map[*worker]bool // whose clusters were read for the first time
}

func newRound(number int, patience time.Duration) round {
	return round{number: number, deadline: time.Now().Add(patience), tried: map[*worker]bool{}}
}

// how says how a worker's cluster is read in this round.
func (r *round) how(w *worker, watched bool) how {
	switch {
	case w.since == r.number:
		return forDeletion
	case watched:
		return byWatches
	}
	return byRequests
}

// straggling is when a cluster that is being reconciled counts as one that does not answer; zero: never. patience is a daemon's; zero: it
// is none.
func (r *round) straggling(w *worker, patience time.Duration) time.Time {
	if patience == 0 || !r.answered || w.run == nil {
		return time.Time{}
	}
	return w.run.lastHeard().Add(max(patience, 3*r.slowest))
}

// straggles says that it counts as one now.
func (r *round) straggles(w *worker, patience time.Duration) bool {
	return past(r.straggling(w, patience), time.Now())
}

// answer notes that a cluster answered, and how long it took.
func (r *round) answer(took time.Duration) { r.answered, r.slowest = true, max(r.slowest, took) }

// unmet are the clusters that nothing is known of yet, with what is told of one that does not answer, and until when all of them are
// waited for; zero: as long as it takes.
func (s *scheduler) unmet() (map[api.ClusterName]*object.Reason, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, until, forever := map[api.ClusterName]*object.Reason{}, time.Time{}, false
	for name, w := range s.workers {
		if w.gone || s.store.Clusters.Has(name) || w.run == nil && s.round.tried[w] {
			continue
		}
		at := s.round.straggling(w, s.patience)
		out[name], forever, until = silent(w.run), forever || at.IsZero(), later(until, at)
	}
	if forever {
		until = time.Time{}
	}
	return out, until
}

// openRound asks for every cluster that is not settled.
func (s *scheduler) openRound() {
	s.mu.Lock()
	now, _ := s.store.View(s.store.Declared.Epoch())
	for name, w := range s.workers {
		switch {
		case w.gone:
		case s.loop.Changes != nil && w.settled(now):
			s.round.answered, w.pending = true, false
			s.store.Results.SetStep(name, w.last.step)
		default:
			w.due, w.rest, w.pending = soonest(w.due, time.Now()), time.Time{}, true
		}
	}
	s.store.Return(now)
	s.round.open = true
	s.mu.Unlock()
	s.setMode(open)
}

// past says that a moment has come; a zero one never does.
func past(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// over says that the round is.
func (s *scheduler) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stopped := s.mode == closed
	for _, w := range s.workers {
		if w.busy(stopped, s.round.straggles(w, s.patience)) {
			return false
		}
	}
	return stopped || !s.verifier.Awaited(s.patience)
}

// nextAlarm is when the round may be over although nothing is told; zero: never.
func (s *scheduler) nextAlarm() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, now := time.Time{}, time.Now()
	for _, w := range s.workers {
		if w.run == nil {
			continue
		}
		if at := s.round.straggling(w, s.patience); now.Before(at) {
			first = soonest(first, at)
		}
	}
	return soonest(first, s.verifier.Until(s.patience))
}

// closeRound tells of clusters that do not answer that nobody knows how they are, and gives why nothing could be written.
func (s *scheduler) closeRound() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, w := range s.workers {
		w.asked, w.awaits = false, nil
		if w.run != nil && !w.gone && (w.run.pending || s.round.straggles(w, s.patience)) {
			s.store.Results.Refuse(name, silent(w.run))
		}
	}
	s.mode = closed
	s.round.open, s.round.number = false, s.store.NextRound() // what was read in it is as old as it
	return s.round.failed
}

// quiet ends what stands for a round between two of them: what was read by requests is too old for who comes later.
func (s *scheduler) quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := false
	for _, w := range s.workers {
		if w.run != nil && w.run.pending && !s.round.straggles(w, s.patience) || w.pending && past(w.due, time.Now()) || len(w.awaits) > 0 {
			return
		}
		asked = asked || w.since == s.round.number
	}
	if asked {
		s.round.number = s.store.NextRound()
	}
}

// silent says that a cluster does not answer.
func silent(r *run) *object.Reason {
	since := time.Duration(0)
	if r != nil {
		since = time.Since(r.lastHeard()).Round(100 * time.Millisecond)
	}
	return object.Because(reason.Timeout, "no answer for %s; the other clusters did not wait: it has its turn when it answers", since)
}

// hadTurn says that a cluster was reconciled in this round, or that there is none of the name.
func (s *scheduler) hadTurn(name api.ClusterName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.worker(name)
	return w == nil || w.done
}

// failed is why nothing could be written in the round; nil: everything could.
func (s *scheduler) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.round.failed
}
