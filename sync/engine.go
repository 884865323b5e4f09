package sync

import (
	"context"
	gosync "sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
)

// mode says what a reconcile may do when its turn in the queue comes.
//
//	Closed   nothing begins: it is being decided what applies, or the round is told to end
//	Reading  clusters that were not read yet are read, and nothing else
//	Open     clusters are read, planned and written
//
// A sync goes from Closed to Reading and back while it decides what applies, and then to Open. It goes to Closed early when it is
// overtaken by news. A daemon opens again between two syncs.
type mode string

const (
	closed  mode = "Closed"
	reading mode = "Reading"
	open    mode = "Open"
)

// engine reconciles clusters during one period of leadership. A work queue holds the names of clusters that are to be looked at.
// They come from four places: a sync, which asks for every cluster that is not settled; watches; the moments that a cluster's own
// last step named; and a peer that published something else, or answered a request. A name in the queue carries no meaning but
// "look at this cluster". Each reconcile runs in a goroutine of its own, one at a time for each cluster, so no cluster waits for
// another's server.
type engine struct {
	loop     *Loop
	board    *board
	queue    workqueue.TypedDelayingInterface[api.ClusterName]
	backoff  workqueue.TypedRateLimiter[api.ClusterName] // of what is waited for in vain
	verifier *verifier
	noting   noting
	held     *fleet.Fleet  // that this process loaded before it led; nil: none
	patience time.Duration // with clusters that do not answer while others do; zero: all are waited for

	progress chan struct{}
	running  gosync.WaitGroup

	mu      gosync.Mutex // guards what is below
	mode    mode
	workers map[api.ClusterName]*worker
	round   round
}

func newEngine(l *Loop, leadership int64) *engine {
	return &engine{
		loop: l, board: newBoard(l, leadership), mode: closed, workers: map[api.ClusterName]*worker{},
		queue:    workqueue.NewTypedDelayingQueue[api.ClusterName](),
		backoff:  workqueue.NewTypedItemExponentialFailureRateLimiter[api.ClusterName](hasty, patient),
		verifier: newVerifier(), progress: make(chan struct{}, 1),
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

// take asks for the clusters in which something moved. What others write is looked at when the cluster had its rest.
func (e *engine) take() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, moves := range e.loop.Changes.Take() {
		w := e.worker(name)
		if w == nil {
			continue
		}
		if w.read = w.read.moved(); moves.All || e.board.concerned(name, moves.Keys) {
			w.hurry()
		}
		e.need(w, w.pending || !w.last.finished())
	}
}

// setMode sets what reconciles may do, and asks for all that are due.
func (e *engine) setMode(m mode) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mode = m
	for _, w := range e.workers {
		e.enqueue(w)
	}
}

// cut has what is under way begin nothing more. What was not begun is no failure.
func (e *engine) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.workers {
		if w.run != nil {
			w.run.short = true
			w.run.cut(nil)
		}
	}
}

// interrupt has what is under way begin nothing more, since time is up: what was not begun is told.
func (e *engine) interrupt(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.workers {
		if w.run != nil {
			w.run.cut(why)
		}
	}
}

// enroll has a worker for each declared cluster, and begins a round. One of a cluster that is declared no more ends with what it has
// under way.
func (e *engine) enroll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.round = newRound(e.board.begin(), e.loop.Patience)
	declared := map[api.ClusterName]fleet.Cluster{}
	for _, c := range e.board.clusters() {
		declared[c.Name] = c
		if e.workers[c.Name] == nil {
			e.workers[c.Name] = &worker{}
		}
	}
	for name, w := range e.workers {
		c, ok := declared[name]
		switch {
		case ok:
			w.cluster, w.gone = c, false
		case w.run == nil:
			delete(e.workers, name)
		default:
			w.gone = true
		}
		w.begin()
		e.backoff.Forget(name)
	}
}

// worker gives the worker of a declared cluster; nil: there is none. e.mu is held.
func (e *engine) worker(name api.ClusterName) *worker {
	if w := e.workers[name]; w != nil && !w.gone {
		return w
	}
	return nil
}

// want asks for a reconcile of a cluster now, and has the round wait for it. e.mu is held.
func (e *engine) want(name api.ClusterName) {
	if w := e.worker(name); w != nil {
		e.need(w, true)
	}
}

// need asks for a reconcile now; pending: the round waits for it. One that gets no more reconciles in this round is had with the
// next. e.mu is held.
func (e *engine) need(w *worker, pending bool) {
	if e.exhausted(w) {
		w.last.state = owed
		return
	}
	w.pending = w.pending || pending
	w.due = soonest(w.due, time.Now())
	e.enqueue(w)
}

// enqueue puts a worker's cluster into the queue for when its next reconcile begins, if it wants one. e.mu is held.
func (e *engine) enqueue(w *worker) {
	if at := w.starts(); !at.IsZero() {
		e.queue.AddAfter(w.cluster.Name, time.Until(at))
	} else if e.mode == reading {
		e.queue.Add(w.cluster.Name)
	}
}

// tell tells a round that something went on. It need not know what.
func (e *engine) tell() {
	select {
	case e.progress <- struct{}{}:
	default:
	}
}
