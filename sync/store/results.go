package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// Results are what reports list. The reconcile of a cluster writes its row, and the round what is listed beside the clusters.
type Results struct {
	mu        *sync.Mutex
	rows      map[api.ClusterName]*report.Cluster
	waiting   map[api.ClusterName][]api.ClusterName // for whom the step of a row waits
	elsewhere map[api.ClusterName]bool              // of rows: written by other processes; nobody changes it
	opened    report.Report                         // what is reported of the round under way, beside its clusters
	version   int                                   // another one with each change of what is reported
	reported  int                                   // the version that Rows gave last
}

// enter has a row for each cluster, of which only what was done and is not reported yet is kept. r.mu is held.
func (r *Results) enter(clusters []fleet.Cluster, writes func(api.ClusterName) bool) {
	rows := map[api.ClusterName]*report.Cluster{}
	for _, c := range clusters {
		rows[c.Name] = &report.Cluster{Name: c.Name}
		if row := r.rows[c.Name]; row != nil {
			rows[c.Name].Outcomes = row.Outcomes
		}
	}
	r.rows, r.elsewhere = rows, map[api.ClusterName]bool{}
	for name := range rows {
		r.elsewhere[name] = writes == nil || !writes(name)
	}
	clear(r.waiting)
	r.version++
}

// Open notes what is reported of a round that begins.
func (r *Results) Open(of report.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = of
	r.version++
}

// SetStep has a cluster's row be as a step leaves the cluster.
func (r *Results) SetStep(name api.ClusterName, step plan.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.rows[name]
	if row == nil {
		return
	}
	if !alike(row.Step, step) {
		r.version++
	}
	row.Step = step
	if r.waiting[name] = waits(step); r.waiting[name] == nil {
		delete(r.waiting, name)
	}
}

// Add adds what became of a reconcile's writes. Failures are those of the last reconcile: what an earlier one could not do was planned
// again since, or is no longer wanted. Slices that were given away stay as they were.
func (r *Results) Add(name api.ClusterName, outcomes []object.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.rows[name]
	if row == nil {
		return
	}
	failed := func(o object.Outcome) bool { return o.Err != nil }
	done, again := row.Outcomes, slices.ContainsFunc(row.Outcomes, failed)
	if again {
		done = slices.DeleteFunc(slices.Clone(done), failed)
	}
	for _, o := range outcomes {
		done = append(done, reported(o))
	}
	if row.Outcomes = done; len(outcomes) > 0 || again {
		r.version++
	}
}

// reported is a write as it is kept until it is reported: a first sync has hundreds of thousands. A report shows no body. It only masks in
// messages what Secrets hold, and a write that succeeded has no message.
func reported(o object.Outcome) object.Outcome {
	if o.Err == nil {
		o.Change.Object.Body = object.Body{}
	}
	return o
}

// StripWrites takes what a step wanted written out of each row.
func (r *Results) StripWrites(bare func(plan.Step) plan.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.rows {
		row.Step = bare(row.Step)
	}
}

// SetUnknown says of a cluster's row why it is not to be relied on.
func (r *Results) SetUnknown(name api.ClusterName, why *object.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if row := r.rows[name]; row != nil {
		row.Step.Denied = why
		r.version++
	}
}

// Skip notes that there is nothing to report: no fleet applies.
func (r *Results) Skip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reported = r.version
}

// Reported returns the version that was reported last.
func (r *Results) Reported() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reported
}

// Rows returns what is to be reported, in name order. What was done is reported once: nothing of it is kept.
func (s *Store) Rows() []report.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Results.reported = s.Results.version
	out, w := make([]report.Cluster, 0, len(s.Results.rows)), s.bare()
	for _, name := range slices.Sorted(maps.Keys(s.Results.rows)) {
		row := *s.Results.rows[name]
		row.Cleanup, row.Applied, row.Paused = w.PendingIn(name), s.Clusters.digests.at[name].commit, s.Clusters.digests.at[name].paused
		out = append(out, row)
		s.Results.rows[name].Outcomes = nil
	}
	return out
}

// SoFar returns the state of all clusters while a round is under way, unless that is the version that is known, and its version. What was done is
// reported, and reported again at the end of the round.
func (s *Store) SoFar(known int) (report.Report, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Results.version == known {
		return report.Report{}, known
	}
	r := s.Results.opened
	r.When, r.At = report.Syncing, time.Now()
	if good := s.Declared.applied; good != nil {
		r.Commit, r.Since = good.Commit, s.Declared.since
	}
	if s.Declared.fleet == nil {
		return r, s.Results.version
	}
	r.Clusters = make([]report.Cluster, 0, len(s.Results.rows))
	w := s.bare()
	for _, name := range slices.Sorted(maps.Keys(s.Results.rows)) {
		row := *s.Results.rows[name]
		row.Cleanup, row.Paused = w.PendingIn(name), s.Clusters.digests.at[name].paused
		if row.Step.Cluster == "" && row.Step.Denied == nil {
			row.Step = unread(s.Declared.fleet, row)
		}
		r.Clusters = append(r.Clusters, row)
	}
	return r, s.Results.version
}

// unread says of a cluster that was not read yet in a round that nobody knows how its links are.
func unread(f *fleet.Fleet, c report.Cluster) plan.Step {
	why := object.Because(reason.Unknown, "linkwright has not read cluster %s yet", c.Name)
	s := plan.Step{Denied: why}
	for _, l := range slices.Concat(f.Out(c.Name), f.In(c.Name)) {
		s.Rows = append(s.Rows, plan.Row{End: object.End{Cluster: c.Name, Link: l.Pair()}, Phase: report.Unseen, Why: why})
	}
	return s
}

// alike reports whether reports of two steps say the same of a cluster. Debts and the applied commit are of the record and of the cluster.
func alike(a, b plan.Step) bool {
	return a.Cluster == b.Cluster && a.Commit == b.Commit && object.SameReason(a.Denied, b.Denied) && a.Alike(b.Beside) &&
		slices.Equal(a.Listed, b.Listed) && a.More == b.More && slices.EqualFunc(a.Rows, b.Rows, alikeRows)
}

func alikeRows(a, b plan.Row) bool {
	return a.End == b.End && a.Phase == b.Phase && a.Leaving == b.Leaving && object.SameReason(a.Why, b.Why) &&
		a.Times.Equal(b.Times) && slices.Equal(a.Deleting, b.Deleting) && slices.Equal(a.Unready, b.Unready) && slices.EqualFunc(a.Health, b.Health, func(a, b health.Verdict) bool {
		return a.Stage == b.Stage && a.Result == b.Result && object.SameReason(a.Why, b.Why)
	})
}

// waits returns the clusters that a step waits for: those to be read, and those at the other ends of links that leave, or that are kept until they
// are no longer used.
func waits(s plan.Step) []api.ClusterName {
	out := slices.Clone(s.ReadFirst)
	for _, r := range s.Rows {
		if r.Leaving || r.Why != nil && r.Why.Code == reason.CredentialInUse {
			out = append(out, r.Other)
		}
	}
	return out
}
