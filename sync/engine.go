package sync

import (
	"context"
	"fmt"
	"maps"
	"slices"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// engine reconciles clusters during one period of leadership. Each reconcile runs in a goroutine of its own, one at a time for each cluster, so a
// slow cluster delays no other.
type engine struct {
	*scheduler
	revisions revisions
	removed   removedLinks
	preloaded *fleet.Fleet // that this process loaded before it led; nil: none
	warned    bool         // of clusters to be abandoned that nobody knows
	running   gosync.WaitGroup
}

func newEngine(l *Loop, leadership int64) *engine {
	s := newScheduler(l, leadership)
	return &engine{scheduler: s, revisions: revisions{shared: s.shared}, removed: removedLinks{shared: s.shared}}
}

// start takes names from the queue until the returned function is called. That lets reconciles under way begin nothing more, and waits for them.
func (e *engine) start(ctx context.Context) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	e.running.Go(func() { e.serve(ctx) })
	if e.loop.Changes != nil {
		e.running.Go(func() { e.follow(ctx) })
	}
	return func() {
		e.setMode(closed)
		e.cancelRuns()
		e.queue.ShutDown()
		end()
		e.running.Wait()
		e.verifier.Stop()
	}
}

// serve reconciles each cluster whose name comes from the queue.
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

// reconcile reconciles a cluster once, if that is due.
func (e *engine) reconcile(ctx context.Context, name api.ClusterName) {
	r, inner := e.begin(ctx, name)
	if r == nil {
		return
	}
	r.do(inner)
	e.end(ctx, r)
}

// follow asks for the clusters that watches report as changed.
func (e *engine) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.loop.Changes.Moved():
			e.takeChanges()
		}
	}
}

// enter declares a fleet, and reads those of its clusters that were not read during this leadership. It cancels what is still done for another
// fleet.
func (e *engine) enter(ctx context.Context, f *fleet.Fleet) error {
	epoch := e.store.Declared.Epoch()
	if err := e.declare(ctx, f); err != nil {
		return err
	}
	if e.store.Declared.Epoch() != epoch {
		e.cancelRuns()
	}
	if err := e.checkOnly(); err != nil {
		return err
	}
	e.updateWorkers()
	e.readNew()
	_ = e.history.compareApplied(ctx, f) // clusters that were read before; who is refused is a row
	return nil
}

// declare makes a fleet the declared one: it reads the record, and connects to the clusters.
func (e *engine) declare(ctx context.Context, f *fleet.Fleet) error {
	clusters, err := e.record.Enter(ctx, f)
	if err != nil {
		return err
	}
	for name, err := range e.loop.Clusters.Follow(ctx, clusters) {
		e.store.PutCluster(name, state.Cluster{Err: object.Because(reason.AccessInvalid, "%v", err)}, e.store.Declared.Epoch())
	}
	return nil
}

// readNew reads every cluster that was not read during this leadership, all at once: before the first write linkwright must know whether two names
// mean one cluster. A cluster that does not answer while others do counts as not read.
func (e *engine) readNew() {
	e.setMode(reading)
	defer e.setMode(closed)
	for {
		unmet, until := e.notRead()
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
		case <-afterTime(until):
		}
	}
}

// warnUnknownClusters warns once of clusters to abandon that do not exist, because a misspelt name would look like a success.
func (e *engine) warnUnknownClusters() {
	if e.warned {
		return
	}
	e.warned = true
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.loop.Abandoned)) {
		if _, recorded := e.store.Record.Last().Clusters[name]; !recorded && e.worker(name) == nil {
			e.loop.Log.Warn("--abandon-cluster does nothing: no such cluster is declared or in the record: check its name", "cluster", string(name))
		}
	}
}

// checkOnly returns an error if --only-write names a cluster that does not exist.
func (e *engine) checkOnly() error {
	for _, only := range e.loop.Only {
		if !slices.ContainsFunc(e.store.Declared.All(), func(c fleet.Cluster) bool { return c.Name == only }) {
			return fmt.Errorf("--only-write %s: no such cluster is declared", only)
		}
	}
	return nil
}

// notRead returns the clusters that are not known yet, with the reason if they do not answer, and until when to wait for all of them; zero: as long
// as it takes.
func (s *scheduler) notRead() (map[api.ClusterName]*object.Reason, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, until, forever := map[api.ClusterName]*object.Reason{}, time.Time{}, false
	for name, w := range s.workers {
		if w.removed || s.store.Clusters.Has(name) || w.run == nil && s.round.tried[w] {
			continue
		}
		at := s.round.overdueAt(w, s.patience)
		out[name], forever, until = notAnswering(w.run), forever || at.IsZero(), later(until, at)
	}
	if forever {
		until = time.Time{}
	}
	return out, until
}

// afterTime returns a channel that receives at a time; a zero time never comes.
func afterTime(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}
