package restart

import (
	"time"

	"github.com/linkwright/linkwright/rollout"
)

// step is what is known of a workload beside what watches show: a restart that they do not show yet, and since when it does not proceed.
type step struct {
	restarted *rollout.Restarted // nil: watches show it
	before    rollout.Restarted  // what they show until then
	status    string
	done      int
	since     time.Time // when done grew last
}

// live returns the live workloads, with restarts that watches do not show yet.
func (w *worker) live(now time.Time) map[rollout.Ref]rollout.Workload {
	all := w.conn.watches.live()
	for ref, live := range all {
		s, known := w.steps[ref]
		if s.restarted != nil && s.before == live.Restarted {
			live.Restarted, live.State = *s.restarted, rollout.Progressing
			all[ref] = live
		} else {
			s.restarted = nil
		}
		switch {
		case !known:
			s.since = w.sinceKept(ref, now)
		case live.Done > s.done, live.Kind == rollout.ArgoRollout && live.Status != s.status: // its numbers go up and down while it replaces pods in place
			s.since = now
		}
		s.done = max(s.done, live.Done)
		if known && s.status != live.Status && live.State != rollout.Progressing && s.restarted == nil {
			w.view.markStale(live, now)
		}
		s.status = live.Status
		w.steps[ref] = s
	}
	for ref := range w.steps {
		if _, ok := all[ref]; !ok {
			delete(w.steps, ref)
		}
	}
	return all
}

// sinceKept returns since when a workload does not proceed that this worker sees for the first time.
func (w *worker) sinceKept(ref rollout.Ref, now time.Time) time.Time {
	for _, b := range w.said.Running {
		if b.Ref == ref && !b.Since.IsZero() {
			return b.Since
		}
	}
	return now
}

func (w *worker) since() map[rollout.Ref]time.Time {
	out := make(map[rollout.Ref]time.Time, len(w.steps))
	for ref, s := range w.steps {
		out[ref] = s.since
	}
	return out
}
