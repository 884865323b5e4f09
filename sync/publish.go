package sync

import (
	"maps"
	"slices"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// meanwhile publishes how all stands while a pass is under way, until the returned function was called: every second, if anything
// changed since. It asks nothing of the term but its board, so whatever a pass waits for delays no report.
func (t *term) meanwhile() (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for last := -1; ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if r, version := t.board.soFar(last); version != last {
				last = version
				t.publish(r, nil)
			}
		}
	}()
	return gosync.OnceFunc(func() {
		close(over)
		<-done
	})
}

// opens notes what a pass begins with.
func (b *board) opens(r report.Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = r
	b.version++
}

// soFar is how all stands while a pass is under way, unless that is the version that is known, and its version. What was done is
// told, and told again at the end of the pass.
func (b *board) soFar(known int) (report.Report, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.version == known {
		return report.Report{}, known
	}
	r := b.opened
	r.Between, r.Syncing, r.At = true, true, time.Now()
	if b.good != nil {
		r.Commit, r.Since = b.good.Commit, b.since
	}
	if b.fleet == nil {
		return r, b.version
	}
	r.Clusters = make([]report.Cluster, 0, len(b.table))
	w := b.bare()
	for _, name := range slices.Sorted(maps.Keys(b.table)) {
		row := *b.table[name]
		row.Outcomes, row.Debts = slices.Clone(row.Outcomes), w.Owed(name)
		if row.Step.Cluster == "" && row.Step.Refused == nil {
			row.Step = unlooked(b.fleet, row)
		}
		r.Clusters = append(r.Clusters, row)
	}
	return r, b.version
}

// unlooked says of a cluster that the pass has not looked at yet that nobody knows how its links are.
func unlooked(f *fleet.Fleet, c report.Cluster) plan.Step {
	why := object.Because("Unknown", "cluster %s was not looked at yet", c.Name)
	s := plan.Step{Refused: why}
	for _, l := range slices.Concat(f.Out(c.Name), f.In(c.Name)) {
		s.Rows = append(s.Rows, plan.Row{End: object.End{Cluster: c.Name, Link: l.Pair()}, Standing: report.Unknown, Why: why})
	}
	return s
}
