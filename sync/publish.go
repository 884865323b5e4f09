package sync

import (
	"cmp"
	"log/slog"
	"slices"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/report"
)

// every is the least time between two reports that no sync ends with.
const every = time.Second

// reporter publishes reports, one at a time: at the end of each sync, and how all stands in the meantime, every second, if anything
// changed since. It asks nothing of the engine but its store, so whatever a sync waits for delays no report.
type reporter struct {
	engine  *engine
	publish func(report.Report, error)

	mu      gosync.Mutex // held while something is published
	syncing bool
	told    int           // the version of the results that was told
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
	p.last.Clusters, p.last.Took, p.last.When = nil, 0, report.Between
	p.engine.store.Results.Strip(p.engine.loop.bare) // what was wanted was told
	p.told = p.engine.store.Results.Reported()
}

// meanwhile publishes how all stands, if that changed since.
func (p *reporter) meanwhile() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, version := p.engine.store.SoFar(p.told)
	if version == p.told {
		return
	}
	p.told = version
	if p.syncing {
		p.publish(r, nil)
		return
	}
	r = p.last
	r.Clusters, r.At = p.engine.store.Rows(), time.Now()
	p.publish(r, cmp.Or(p.trouble, p.engine.failed()))
}

// journal logs what reports tell that those before did not.
type journal struct {
	log     *slog.Logger
	history report.History
}

func (j *journal) tell(r report.Report, err error) {
	next, events := j.history.Next(r, cause(err))
	j.history = next
	logged(j.log, events)
}

// wrote logs the writes to a cluster. What was not tried is none.
func (l *Loop) wrote(cluster api.ClusterName, commit api.Commit, outcomes []object.Outcome) {
	if slices.ContainsFunc(outcomes, apply.NotBegun) {
		outcomes = slices.DeleteFunc(slices.Clone(outcomes), apply.NotBegun)
	}
	logged(l.Log, report.Written(cluster, commit, l.advised(outcomes)))
}

// logged logs events; without a log nobody hears of them.
func logged(log *slog.Logger, events []report.Event) {
	if log == nil {
		return
	}
	for _, e := range events {
		say := map[report.Level]func(string, ...any){report.Debug: log.Debug, report.Info: log.Info, report.Warn: log.Warn, report.Error: log.Error}[e.Level]
		attrs := make([]any, 0, len(e.Attrs))
		for _, a := range e.Attrs {
			attrs = append(attrs, slog.Any(a.Key, a.Value))
		}
		say(e.Message, attrs...)
	}
}
