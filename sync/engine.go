package sync

import (
	"context"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
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
	record  *recordKeeper
	history *history
	decoder *decoder
}

func newShared(l *Loop, leadership int64) shared {
	s := store.New(l.settings(leadership))
	return shared{loop: l, store: s, record: &recordKeeper{loop: l, store: s}, history: &history{loop: l, store: s}, decoder: &decoder{loop: l}}
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
		e.verifier.stop()
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
