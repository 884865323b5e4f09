package sync

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"strings"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/store"
)

// reportInterval is the least time between two reports, but for those at the end of a sync.
const reportInterval = time.Second

// reporter publishes reports, one at a time: at the end of each sync, and between them every second if anything changed. It needs nothing of the
// engine but its store, so no sync delays a report.
type reporter struct {
	loop    *Loop
	store   *store.Store
	failed  func() error // why nothing can be written; nil: everything can
	publish func(report.Report, error)

	mu        gosync.Mutex // held while something is published
	syncing   bool
	published int           // the version of the results that was reported
	last      report.Report // of the last sync, without its clusters
	lastErr   error         // of the last sync: it is over with a sync, not before
}

func newReporter(l *Loop, s *store.Store, failed func() error, publish func(report.Report, error)) *reporter {
	return &reporter{loop: l, store: s, failed: failed, publish: publish, syncing: true, published: -1}
}

// start reports what changes until the function that it gives is called.
func (p *reporter) start() (stop func()) {
	return regularly(reportInterval, p.reportChanges)
}

// regularly calls f, one call at a time, until the returned function is called. If f takes long, it is called less often, so that it takes at most a
// tenth of the time: a report of many links takes seconds.
func regularly(every time.Duration, f func()) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		next := time.NewTimer(every)
		defer next.Stop()
		for {
			select {
			case <-over:
				return
			case began := <-next.C:
				f()
				next.Reset(max(every, 9*time.Since(began)))
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// syncBegins notes that a sync begins.
func (p *reporter) syncBegins() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncing = true
}

// report publishes what a sync did.
func (p *reporter) report(r report.Report, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish(r, err)
	p.syncing, p.last, p.lastErr = false, r, err
	p.last.Clusters, p.last.Took, p.last.When = nil, 0, report.Between
	p.store.Results.StripWrites(p.loop.withoutObjects) // they were reported
	p.published = p.store.Results.Reported()
}

// reportChanges publishes the current state of all clusters, if that changed.
func (p *reporter) reportChanges() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, version := p.store.SoFar(p.published)
	if version == p.published {
		return
	}
	p.published = version
	if p.syncing {
		p.publish(r, nil)
		return
	}
	r = p.last
	r.Clusters, r.At = p.store.Rows(), time.Now()
	p.publish(r, cmp.Or(p.lastErr, p.failed()))
}

// withoutObjects returns a step without its writes, or, for a cluster that other processes write, without the objects in them.
func (l *Loop) withoutObjects(s plan.Step) plan.Step {
	s.Verifications = nil
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

// journal logs what a report has and the one before had not.
type journal struct {
	log     *slog.Logger
	history report.History
}

func (j *journal) record(r report.Report, err error) {
	next, events := j.history.Next(r, cause(err))
	j.history = next
	logEvents(j.log, events)
}

// logWrites logs the writes to a cluster, without those that were not tried.
func (l *Loop) logWrites(cluster api.ClusterName, commit api.Commit, outcomes []object.Outcome) {
	if slices.ContainsFunc(outcomes, apply.NotBegun) {
		outcomes = slices.DeleteFunc(slices.Clone(outcomes), apply.NotBegun)
	}
	logEvents(l.Log, report.Written(cluster, commit, l.withAdvice(outcomes)))
}

// logEvents logs events, if there is a log.
func logEvents(log *slog.Logger, events []report.Event) {
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

// withAdvice adds to failed writes that lack a right what to do. The row of an end that is removed, or waits for a token, has another reason.
func (l *Loop) withAdvice(outcomes []object.Outcome) []object.Outcome {
	out := slices.Clone(outcomes)
	for i, o := range out {
		if o.Err == nil {
			continue
		}
		if why := l.Explained(o.Err); why.Code == reason.Forbidden {
			out[i].Err = advice{o.Err, why.Message}
		}
	}
	return out
}

// advice is an error with what to do about it.
type advice struct {
	cause   error
	message string
}

func (a advice) Error() string { return a.message }

func (a advice) Unwrap() error { return a.cause }

// Explained returns what an error of Clusters means, and which command grants a right that is missing.
func (l *Loop) Explained(err error) *object.Reason {
	if l.Explain == nil {
		return object.Because(reason.Unknown, "%v", err)
	}
	r := l.Explain(err)
	if r.Code == reason.Forbidden {
		r.Message += ": " + l.grant(r.Message)
	}
	return &r
}

// grant is the command that grants the right of which an API server says that it is missing.
func (l *Loop) grant(forbidden string) string {
	return object.Installation{Owner: l.Owner, Namespace: l.Management.Namespace}.Grant() + sweepFlag(forbidden)
}

// sweepFlag returns the flag that grants the right to delete mirrors, if that is missing. Not every installation needs it.
func sweepFlag(forbidden string) string {
	if strings.Contains(forbidden, `"probe-`) {
		return "" // it stands in the multicluster namespace, where everybody has the right
	}
	for _, of := range []string{
		`delete resource "services"`, `patch resource "services"`, `delete resource "endpoints"`,
		`get resource "services"`, `get resource "endpoints"`, // of diff and dry runs
	} {
		if strings.Contains(forbidden, of) {
			return " --sweep"
		}
	}
	return ""
}

// fleeting is an error with a part of its text that changes all the time, such as the time of the next retry.
type fleeting interface {
	error
	Fleeting() string
}

// cause returns an error's text without the part that changes all the time; empty: no error.
func cause(err error) string {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[fleeting](err); ok {
		return strings.ReplaceAll(err.Error(), f.Fleeting(), "")
	}
	return err.Error()
}
