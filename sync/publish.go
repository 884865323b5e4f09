package sync

import (
	"cmp"
	"maps"
	"slices"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// every is the least time between two reports that no sync ends with.
const every = time.Second

// reporter publishes reports, one at a time: at the end of each sync, and how all stands in the meantime, every second, if anything
// changed since. It asks nothing of the engine but its board, so whatever a sync waits for delays no report.
type reporter struct {
	engine  *engine
	publish func(report.Report, error)

	mu      gosync.Mutex // held while something is published
	syncing bool
	told    int           // the version of the board that was told
	last    report.Report // of the last sync, without its clusters
	trouble error         // of the last sync: it is over with a sync, not before
}

func newReporter(e *engine, publish func(report.Report, error)) *reporter {
	return &reporter{engine: e, publish: publish, syncing: true, told: -1}
}

// start reports what changes until the function that it gives is called.
func (p *reporter) start() (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				p.meanwhile()
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// opens notes that a sync begins.
func (p *reporter) opens() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncing = true
}

// report publishes what a sync did.
func (p *reporter) report(r report.Report, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish(r, err)
	p.syncing, p.last, p.trouble = false, r, err
	p.last.Clusters, p.last.Took, p.last.Between = nil, 0, true
	p.engine.board.strip() // what was wanted was told
	p.told = p.engine.board.toldLast()
}

// meanwhile publishes how all stands, if that changed since.
func (p *reporter) meanwhile() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, version := p.engine.board.soFar(p.told)
	if version == p.told {
		return
	}
	p.told = version
	if p.syncing {
		p.publish(r, nil)
		return
	}
	r = p.last
	r.Clusters, r.At = p.engine.board.rows(), time.Now()
	p.publish(r, cmp.Or(p.trouble, p.engine.failed()))
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

// toldAll notes that there is nothing to tell: no fleet applies.
func (b *board) toldAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = b.version
}

// toldLast is the version that rows gave last.
func (b *board) toldLast() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told
}

// unlooked says of a cluster that the pass has not looked at yet that nobody knows how its links are.
func unlooked(f *fleet.Fleet, c report.Cluster) plan.Step {
	why := object.Because(reason.Unknown, "cluster %s was not looked at yet", c.Name)
	s := plan.Step{Refused: why}
	for _, l := range slices.Concat(f.Out(c.Name), f.In(c.Name)) {
		s.Rows = append(s.Rows, plan.Row{End: object.End{Cluster: c.Name, Link: l.Pair()}, Standing: report.Unknown, Why: why})
	}
	return s
}
