package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// engine reconciles clusters during one period of leadership. Each reconcile runs in a goroutine of its own, one at a time for each
// cluster, so no cluster waits for another's server.
type engine struct {
	*scheduler
	revisions revisions
	held      *fleet.Fleet // that this process loaded before it led; nil: none
	warned    bool         // of clusters to be abandoned that nobody knows
	running   gosync.WaitGroup
}

func newEngine(l *Loop, leadership int64) *engine {
	s := newScheduler(l, leadership)
	return &engine{scheduler: s, revisions: revisions{shared: s.shared}}
}

// shared is what the reconciles of all clusters use.
type shared struct {
	loop    *Loop
	store   *store.Store
	record  *record.Keeper
	history *history
	decoder *decoder
}

func newShared(l *Loop, leadership int64) shared {
	s := store.New(l.settings(leadership))
	return shared{loop: l, store: s, record: l.recordKeeper(s), history: &history{loop: l, store: s}, decoder: &decoder{loop: l}}
}

// recordKeeper writes the record, and logs that.
func (l *Loop) recordKeeper(s *store.Store) *record.Keeper {
	return &record.Keeper{
		Owner: l.Owner, Home: l.Home, Store: s, Watch: l.Changes != nil, Read: l.logRecord,
		Wrote: func(o object.Outcome) { l.wrote("", "", []object.Outcome{o}) },
	}
}

// settings are what a store is made with.
func (l *Loop) settings(leadership int64) store.Settings {
	return store.Settings{
		Installation: object.Installation{Owner: l.Owner, Namespace: l.Home.Namespace},
		Options:      state.Options{Grace: l.Grace, RequireConfinement: l.RequireConfinement},
		Process:      state.Process{Term: leadership, Probe: l.Probe, Once: l.Changes == nil},
		Takeover:     l.Takeover,
		Overrides:    l.Overrides,
		Verifies:     l.tries(), Writes: l.writes, Refused: l.Refused,
	}
}

// start takes names from the queue until the function that it gives is called. That ends the engine: what is under way begins
// nothing more, and is waited for and logged.
func (e *engine) start(ctx context.Context) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	e.running.Go(func() { e.serve(ctx) })
	if e.loop.Changes != nil {
		e.running.Go(func() { e.follow(ctx) })
	}
	return func() {
		e.setMode(closed)
		e.cut()
		e.queue.ShutDown()
		end()
		e.running.Wait()
		e.verifier.Stop()
	}
}

// serve has a reconcile of each cluster whose name comes from the queue.
func (e *engine) serve(ctx context.Context) {
	for {
		name, down := e.queue.Get()
		if down {
			return
		}
		e.running.Go(func() {
			defer e.queue.Done(name)
			e.reconcile(ctx, name)
		})
	}
}

// reconcile has one reconcile of a cluster, if one is due.
func (e *engine) reconcile(ctx context.Context, name api.ClusterName) {
	r, inner := e.begin(ctx, name)
	if r == nil {
		return
	}
	r.do(inner)
	e.end(ctx, r)
}

// follow takes over what moves in clusters that are watched.
func (e *engine) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.loop.Changes.Moved():
			e.take()
		}
	}
}

// grace is how long a daemon waits for a cluster that does not answer while others do.
const grace = 2 * time.Second

// sync makes the clusters as what applies declares them: the head, or without it the last good one. It waits for
// nothing any more once there are news.
func (e *engine) sync(ctx context.Context, head polled, news <-chan struct{}) (report.Report, error) {
	start := time.Now()
	e.setMode(closed)
	e.store.Declared.ForgetAnswers()
	r := report.Report{Head: e.store.Declared.Observe(head.Commit), Problems: head.Problems, ReadOnly: e.loop.ReadOnly}
	if head.err == nil || head.Commit != "" {
		r.Polled = head.at
	}
	if head.err != nil {
		r.Err = head.err.Error()
	}
	e.store.Results.Open(r)
	ok, err := e.choose(ctx, head)
	e.revisions.note(ctx, head, e.daemon(), err)
	if ok {
		e.strangers()
		urged := e.urge()
		err = errors.Join(err, e.runRound(ctx, news))
		e.strike(ctx, ended(urged, head.err))
		e.revisions.flush(ctx)
		r.Clusters = e.store.Rows()
		e.reopen()
	} else {
		e.store.Results.Skip()
	}
	if r.At, r.Err = time.Now(), ""; err != nil {
		r.Err = err.Error()
	}
	if f, since := e.store.Declared.Applied(); f != nil {
		r.Commit, r.Since, r.Took = f.Commit, since, time.Since(start)
	}
	return r, err
}

// enter declares a fleet and reads what of its clusters was not read yet during this leadership. What is still done for another one is
// cut short.
func (e *engine) enter(ctx context.Context, f *fleet.Fleet) error {
	epoch := e.store.Declared.Epoch()
	if err := e.declare(ctx, f); err != nil {
		return err
	}
	if e.store.Declared.Epoch() != epoch {
		e.cut()
	}
	if err := e.known(); err != nil {
		return err
	}
	e.enroll()
	e.meet()
	_ = e.history.judge(ctx, f) // clusters that were read before; who is refused is a row
	return nil
}

// declare has a fleet be what is declared: the record is read, and connections follow.
func (e *engine) declare(ctx context.Context, f *fleet.Fleet) error {
	clusters, err := e.record.Enter(ctx, f)
	if err != nil {
		return err
	}
	for name, err := range e.loop.Clusters.Follow(ctx, clusters) {
		e.store.PutCluster(name, state.Cluster{Err: object.Because(reason.Access, "%v", err)}, e.store.Declared.Epoch())
	}
	return nil
}

// meet reads every cluster that was not read yet during this leadership, all at once: whether two names mean one
// cluster must be known before the first write. One that does not answer while others do counts as not read, until it answers.
func (e *engine) meet() {
	e.setMode(reading)
	defer e.setMode(closed)
	for {
		unmet, until := e.unmet()
		if len(unmet) == 0 {
			return
		}
		if !until.IsZero() && !time.Now().Before(until) {
			for name, why := range unmet {
				e.store.PutCluster(name, state.Cluster{Err: why}, e.store.Declared.Epoch())
			}
			return
		}
		select {
		case <-e.progress:
		case <-alarm(until):
		}
	}
}

// runRound makes a round. It ends when no cluster has anything left to do that there is patience for. Told to stop, or when
// there are news, it ends once the reconciles under way have ended. Of every cluster that is not settled at least one is under way then.
func (e *engine) runRound(ctx context.Context, news <-chan struct{}) error {
	e.openRound()
	e.waitForRound(ctx, news)
	return errors.Join(e.closeRound(), ctx.Err())
}

// waitForRound waits until the round is over, or was told to end.
func (e *engine) waitForRound(ctx context.Context, news <-chan struct{}) {
	stop := ctx.Done()
	for !e.over() {
		select {
		case <-e.progress:
			continue
		case <-alarm(e.nextAlarm()):
			continue
		case <-news:
			news = nil
		case <-stop:
			stop = nil
			e.interrupt(context.Cause(ctx))
		}
		e.setMode(closed)
	}
}

// reopen has a daemon go on between two rounds.
func (e *engine) reopen() {
	if e.daemon() {
		e.setMode(open)
	}
}

// alarm ends at a moment; a zero one never comes.
func alarm(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// strangers warns once of clusters to be given up that nobody knows: else a slip of the pen looks like a success.
func (e *engine) strangers() {
	if e.warned {
		return
	}
	e.warned = true
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.loop.Forget)) {
		if e.worker(name) == nil {
			e.loop.Log.Warn("--abandon-cluster does nothing: no such cluster is declared or remembered; was it abandoned before, or is it called otherwise?", "cluster", string(name))
		}
	}
}

// known refuses to write a cluster that there is not.
func (e *engine) known() error {
	for _, only := range e.loop.Only {
		if !slices.ContainsFunc(e.store.Declared.All(), func(c fleet.Cluster) bool { return c.Name == only }) {
			return fmt.Errorf("only cluster %s is to be written, and no such cluster is declared", only)
		}
	}
	return nil
}
