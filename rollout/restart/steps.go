package restart

import (
	"time"

	"github.com/linkwright/linkwright/rollout"
)

// step is what is known of a workload beside what watches show: a restart that they do not show yet, and since when it does not proceed.
type step struct {
	restarted  *rollout.Restarted // nil: watches show it
	uid        string             // of the workload that restarted
	generation int64              // of it with that restart
	status     string
	wanted     int
	done       int
	since      time.Time // when done grew last
}

// live returns the live workloads, with restarts that watches do not show yet.
func (w *worker) live(now time.Time) map[rollout.Ref]rollout.Workload {
	all := w.conn.watches.live()
	for ref, live := range all {
		s, known := w.steps[ref]
		if s.restarted != nil && live.UID == s.uid && live.Generation < s.generation {
			live.Restarted, live.State = *s.restarted, rollout.Progressing
			all[ref] = live
		} else {
			s.restarted = nil
		}
		switch {
		case !known:
			s.since = w.sinceKept(live, now)
		case live.Done > s.done:
			s.since = now
		case live.Wanted < s.wanted: // it was scaled down
			s.since, s.done = now, 0
		}
		if s.restarted == nil {
			s.done = max(s.done, live.Done)
		}
		if known && s.status != live.Status && live.State != rollout.Progressing && s.restarted == nil {
			w.view.markStale(live, now)
		}
		s.status, s.wanted = live.Status, live.Wanted
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
func (w *worker) sinceKept(live rollout.Workload, now time.Time) time.Time {
	for _, b := range w.said.Running {
		if b.Ref == live.Ref && b.For == live.Restarted.For && live.Done <= b.Done && !b.Since.IsZero() {
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
