package sync

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// Once makes one sync. It ends when no cluster has anything left to do, or what is left takes longer than Patience. The report is complete whatever
// the error is.
func (l *Loop) Once(ctx context.Context, leadership int64) (report.Report, error) {
	e := newEngine(l, leadership)
	shown := &progress{engine: e, journal: journal{log: l.Log}}
	defer e.start(ctx)()
	stop := shown.start()
	r, err := e.sync(ctx, l.poll(ctx), nil)
	stop()
	shown.end(r, err)
	return r, err
}

// Snapshot reads the declarations and every cluster, and returns the snapshot. It writes nothing.
func (l *Loop) Snapshot(ctx context.Context, leadership int64) (state.Snapshot, error) {
	e := newEngine(l, leadership)
	defer (&progress{engine: e}).start()()
	d, err := l.Declared.Next(ctx)
	if err == nil && d.Fleet == nil {
		err = invalid(d.Problems)
	}
	if err != nil {
		return state.Snapshot{}, err
	}
	e.store.Results.Open(report.Report{Head: d.Commit, ReadOnly: true})
	defer e.start(ctx)()
	if err := e.declare(ctx, d.Fleet); err != nil {
		return state.Snapshot{}, err
	}
	e.updateWorkers()
	e.warnUnknownClusters()
	e.readNew()
	return e.store.Snapshot(), nil
}

// invalid is ErrInvalid with every problem on a line of its own: errors first.
func invalid(problems []api.Problem) error {
	var wrong, warnings strings.Builder
	for _, p := range problems {
		to := &wrong
		if p.Warning {
			to = &warnings
		}
		to.WriteString("\n" + report.Line(p))
	}
	return fmt.Errorf("%w:%s%s", ErrInvalid, &wrong, &warnings)
}

// Run is one period of leadership: it syncs until ctx ends, and reconciles what watches and the clock ask for between syncs. poke asks for a poll
// now. A poll that finds something new begins a sync, and ends what the sync before still waits for. Pokes that come together are one. publish gets
// every report, one at a time, also while a sync waits. A revision that cannot be read, or must not be applied, leaves the applied one in place.
func (l *Loop) Run(ctx context.Context, leadership int64, poke <-chan struct{}, publish func(report.Report)) error {
	return l.Standby().Lead(ctx, leadership, poke, publish)
}

// run is Run with an engine.
func (l *Loop) run(ctx context.Context, e *engine, poke <-chan struct{}, publish func(report.Report)) error {
	logged := journal{log: l.Log}
	e.patience = unresponsiveTimeout
	p := newReporter(l, e.store, e.failed, func(r report.Report, err error) {
		logged.record(r, err)
		e.removed.note(ctx, r)
		publish(r)
	})
	if l.Meter != nil {
		defer l.Meter.Measure(e.queued)()
	}
	defer e.start(ctx)()
	decided, end := e.watchDecisions(ctx)
	defer end()
	defer p.start()()
	head := l.poll(ctx)
	for ctx.Err() == nil {
		start := time.Now()
		w := l.watch(ctx, poke, decided, head)
		p.syncBegins()
		if r, err := e.sync(ctx, head, w.news); ctx.Err() == nil {
			p.report(r, err)
			e.waitForNext(ctx, w.news, l.nextSync(e.store, start))
		}
		if w.stop(); w.found() {
			head = w.head
		} else if ctx.Err() == nil {
			head = l.pollUnlessDecided(ctx, head, decided)
		}
	}
	return nil
}

// waitForNext waits until the next sync is due, or there is a new revision.
func (e *engine) waitForNext(ctx context.Context, news <-chan struct{}, next time.Time) {
	due := afterTime(next)
	for {
		e.closeRequests()
		select {
		case <-e.progress:
		case <-news:
			return
		case <-due:
			return
		case <-ctx.Done():
			return
		}
	}
}

// pollUnlessDecided polls Git. A decision does not wait for that: the last poll stays.
func (l *Loop) pollUnlessDecided(ctx context.Context, last polled, decided <-chan bool) polled {
	ctx, end := context.WithCancel(ctx)
	defer end()
	asked := make(chan polled, 1)
	go func() { asked <- l.poll(ctx) }()
	select {
	case head := <-asked:
		return head
	case polls := <-decided:
		if !polls {
			end()
		}
	}
	head := <-asked
	if ctx.Err() != nil && head.err != nil {
		return last
	}
	return head
}

// watch polls at every poke until it finds something new, or people decide something.
type watch struct {
	head polled        // once news is closed
	news chan struct{} // closed once something new was found
	done chan struct{} // closed at its end
	end  context.CancelFunc
}

func (l *Loop) watch(ctx context.Context, poke <-chan struct{}, decided <-chan bool, last polled) *watch {
	ctx, end := context.WithCancel(ctx)
	w := &watch{news: make(chan struct{}), done: make(chan struct{}), end: end}
	go func() {
		defer close(w.done)
		for {
			poked, polls := false, true
			select {
			case <-ctx.Done():
				return
			case <-poke:
				poked = true
			case polls = <-decided:
			}
			if w.head = last; polls {
				w.head = l.poll(ctx)
			}
			if ctx.Err() == nil && (!poked || !w.head.same(last)) {
				close(w.news)
				return
			}
		}
	}()
	return w
}

// stop ends it and cancels a poll under way, because the next one comes at once.
func (w *watch) stop() {
	w.end()
	<-w.done
}

func (w *watch) found() bool {
	select {
	case <-w.news:
		return true
	default:
		return false
	}
}

// nextSync returns when the next sync begins: by the policy, or earlier if a decision ends before.
func (l *Loop) nextSync(s *store.Store, start time.Time) time.Time {
	policy := s.Declared.Policy()
	next := policy.Next(start)
	if every, ok := policy.Every(); ok {
		next = start.Add(withJitter(every, rand.Float64())) //nolint:gosec // it spreads load, and guards nothing
	}
	now := time.Now()
	for _, d := range s.Record.Last().Decisions {
		if d.Until.After(now) {
			next = soonest(next, d.Until)
		}
	}
	return next
}

// withJitter shortens an interval by up to a tenth, at random (0 ≤ r < 1), so that daemons that start together do not poll together. Schedules stay
// as they are.
func withJitter(every time.Duration, r float64) time.Duration {
	return every - time.Duration(r*float64(every)/10)
}

// Standby is a daemon that may lead. While it does not lead, it watches the clusters and polls the repository, so that it can continue at once. It
// plans and writes nothing then. Its methods are called one after the other.
type Standby struct {
	loop      *Loop
	lastValid *fleet.Fleet // the last that was valid; nil: none yet

	watching map[api.ClusterName][]object.Watch // what is watched in each cluster
}

// Standby returns a daemon that does not lead yet.
func (l *Loop) Standby() *Standby { return &Standby{loop: l} }

// Observe keeps the watches of all clusters open, and the last valid revision loaded, until ctx ends. With each poll it reads each cluster again,
// because its watches may change.
func (s *Standby) Observe(ctx context.Context) {
	quiet := *s.loop // who leads acts on decisions, and logs them
	quiet.ReadOnly, quiet.Meter, quiet.Log = true, nil, slog.New(slog.DiscardHandler)
	e := newEngine(&quiet, 0)
	e.store.Clusters.SetWatches(s.watching)
	defer func() { s.watching = e.store.Clusters.Watches() }()
	defer e.start(ctx)()
	for ctx.Err() == nil {
		start := time.Now()
		if head := s.loop.poll(ctx); head.err == nil {
			s.lastValid = head.Fleet
		}
		if s.lastValid != nil && ctx.Err() == nil && e.declare(ctx, s.lastValid) == nil {
			e.store.Clusters.ReadAllAgain()
			e.updateWorkers()
			e.readNew()
		}
		next := start.Add(time.Minute)
		if s.lastValid != nil {
			next = s.loop.nextSync(e.store, start)
		}
		select {
		case <-ctx.Done():
		case <-afterTime(next):
		}
	}
}

// Lead is one period of leadership, with its number: see Loop.Run.
func (s *Standby) Lead(ctx context.Context, leadership int64, poke <-chan struct{}, publish func(report.Report)) error {
	e := newEngine(s.loop, leadership)
	e.preloaded = s.lastValid
	e.store.Clusters.SetWatches(s.watching)
	err := s.loop.run(ctx, e, poke, publish)
	if good, _ := e.store.Declared.Applied(); good != nil {
		s.lastValid = good
	}
	s.watching = e.store.Clusters.Watches()
	return err
}
