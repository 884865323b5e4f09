package sync

import (
	"context"
	gosync "sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/verify"
)

// mode says what a reconcile may do when its turn in the queue comes.
//
//	Closed   nothing begins: it is being decided what applies, or the round is asked to end
//	Reading  clusters that were not read yet are read, and nothing else
//	Open     clusters are read, planned and written
//
// A sync goes from Closed to Reading and back while it decides what applies, and then to Open. It goes to Closed early when it is
// overtaken by news. A daemon opens again between two syncs.
type mode string

const (
	closed       mode = "Closed"
	reading      mode = "Reading"
	openClusters mode = "Open"
)

// scheduler decides when a cluster is reconciled. A work queue holds the names of clusters to reconcile. They come from a sync, which asks for every
// cluster that is not settled; from watches; from the times that a cluster's own last step named, or at which its credentials are verified again; and
// from peers that changed or answered a request.
// A name in the queue means nothing but "reconcile this cluster".
type scheduler struct {
	shared
	queue    workqueue.TypedDelayingInterface[api.ClusterName]
	backoff  workqueue.TypedRateLimiter[api.ClusterName] // of what is waited for in vain
	patience time.Duration                               // of a daemon, with clusters that do not answer while others do; zero: all are waited for
	progress signal
	verifier *verify.Verifier

	mu      gosync.Mutex // guards what is below
	mode    mode
	workers map[api.ClusterName]*worker
	round   round
}

func newScheduler(l *Loop, leadership int64) *scheduler {
	s := &scheduler{
		shared: newShared(l, leadership), mode: closed, workers: map[api.ClusterName]*worker{},
		queue:    workqueue.NewTypedDelayingQueue[api.ClusterName](),
		backoff:  workqueue.NewTypedItemExponentialFailureRateLimiter[api.ClusterName](minBackoff, maxBackoff),
		progress: make(chan struct{}, 1),
	}
	s.verifier = verify.New(verify.Options{
		Client: l.Verifier, Store: s.store, Reconcile: s.requestReconcile, Later: s.requestLater, Done: s.progress.notify, Repeat: l.Changes != nil,
	})
	return s
}

// signal notifies a round that something happened.
type signal chan struct{}

func (s signal) notify() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// requestReconcile asks for a reconcile of a cluster.
func (s *scheduler) requestReconcile(name api.ClusterName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requestAndWait(name)
}

// requestLater asks for a reconcile of a cluster at a time, for which no round waits.
func (s *scheduler) requestLater(name api.ClusterName, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch w := s.worker(name); {
	case w == nil:
	case w.exhausted(len(s.workers)):
		w.last.state = repeat
	default:
		w.alarm = soonest(w.alarm, at)
		s.enqueue(w)
	}
}

// takeChanges asks for the clusters in which something changed. What others write waits until the cluster had its rest.
func (s *scheduler) takeChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, moves := range s.loop.Changes.Take() {
		w := s.worker(name)
		if w == nil {
			continue
		}
		if w.read = w.read.moved(); moves.All || s.store.Concerned(name, moves.Keys) {
			w.hurry()
		}
		s.requestWorker(w, w.pending || !w.last.finished())
	}
}

// setMode sets what reconciles may do, and queues all that are due.
func (s *scheduler) setMode(m mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = m
	for _, w := range s.workers {
		s.enqueue(w)
	}
}

// cancelRuns lets reconciles under way begin nothing more. A write that did not begin is no failure.
func (s *scheduler) cancelRuns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if w.run != nil {
			w.run.stopped = true
			w.run.cut(nil)
		}
	}
}

// interrupt lets reconciles under way begin nothing more because the time is over. A write that did not begin is reported.
func (s *scheduler) interrupt(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if w.run != nil {
			w.run.cut(why)
		}
	}
}

// updateWorkers makes a worker for each declared cluster, and begins a round. The worker of a cluster that is no longer declared ends with its run.
func (s *scheduler) updateWorkers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round = newRound(s.store.NextRound(), s.loop.Patience)
	declared := map[api.ClusterName]fleet.Cluster{}
	for _, c := range s.store.Declared.All() {
		declared[c.Name] = c
		if s.workers[c.Name] == nil {
			s.workers[c.Name] = &worker{}
		}
	}
	for name, w := range s.workers {
		c, ok := declared[name]
		switch {
		case ok:
			w.cluster, w.removed = c, false
		case w.run == nil:
			delete(s.workers, name)
		default:
			w.removed = true
		}
		w.begin()
		s.backoff.Forget(name)
	}
}

// worker returns the worker of a declared cluster; nil: there is none. s.mu is held.
func (s *scheduler) worker(name api.ClusterName) *worker {
	if w := s.workers[name]; w != nil && !w.removed {
		return w
	}
	return nil
}

// requestAndWait asks for a reconcile of a cluster now, and lets the round wait for it. s.mu is held.
func (s *scheduler) requestAndWait(name api.ClusterName) {
	if w := s.worker(name); w != nil {
		s.requestWorker(w, true)
	}
}

// requestWorker asks for a reconcile now; pending: the round waits for it. An exhausted worker is reconciled in the next round. s.mu is held.
func (s *scheduler) requestWorker(w *worker, pending bool) {
	if w.exhausted(len(s.workers)) {
		w.last.state = repeat
		return
	}
	w.pending = w.pending || pending
	w.due = soonest(w.due, time.Now())
	s.enqueue(w)
}

// enqueue queues a worker's cluster for its next reconcile, if one is due. s.mu is held.
func (s *scheduler) enqueue(w *worker) {
	if at := w.nextStart(); !at.IsZero() {
		s.queue.AddAfter(w.cluster.Name, time.Until(at))
	} else if s.mode == reading {
		s.queue.Add(w.cluster.Name)
	}
}

// requestNow begins a reconcile now, also of an exhausted worker, because another one waits for it. s.mu is held.
func (s *scheduler) requestNow(w *worker) {
	w.due, w.pending = soonest(w.due, time.Now()), true
	s.enqueue(w)
}

// queued returns how many clusters are due to be reconciled and wait: for a sync to decide what applies, or for their own last reconcile.
func (s *scheduler) queued() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, w := range s.workers {
		if !w.removed && past(soonest(w.due, w.alarm), now) {
			n++
		}
	}
	return n
}

// begin begins a reconcile of a cluster, with a context of its own; nil: none is due, or none may begin.
func (s *scheduler) begin(ctx context.Context, name api.ClusterName) (*reconcile, context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.worker(name)
	if w == nil || w.run != nil || !s.mayBegin(ctx, w) {
		return nil, nil
	}
	now := time.Now()
	if s.mode == openClusters && past(w.alarm, now) {
		s.readWithPeers(w)
	}
	t := task{
		began: now, epoch: s.store.Declared.Epoch(), onlyRead: s.mode == reading,
		current: w.read == current && w.since != s.round.number,
	}
	inner, cut := context.WithCancelCause(ctx)
	w.run = &run{round: s.round.number, pending: w.pending, cut: cut}
	w.run.noteAnswer()
	s.progress.notify() // a round waits for a cluster that does not answer from now on
	w.read, w.schedule = unread, schedule{ended: w.ended}
	if w.last.state == repeat {
		w.last.state = unfinished
	}
	from := reader{shared: s.shared, cluster: w.cluster, mode: s.round.readMode(w, s.loop.Changes != nil), round: s.round.number}
	return &reconcile{reader: from, run: w.run, task: t}, inner
}

// mayBegin reports whether a reconcile of the cluster may begin now. s.mu is held.
func (s *scheduler) mayBegin(ctx context.Context, w *worker) bool {
	switch s.mode {
	case reading:
		first := !s.store.Clusters.Has(w.cluster.Name) && !s.round.tried[w]
		if first {
			s.round.tried[w] = true
		}
		return first
	case openClusters:
		at := w.nextStart()
		if at.After(time.Now()) {
			s.enqueue(w)
			return false
		}
		return !at.IsZero() && ctx.Err() == nil
	}
	return false
}

// readWithPeers reads the cluster of a worker whose alarm is over, and the peers that its ends wait for, if nothing is watched. s.mu is held.
func (s *scheduler) readWithPeers(w *worker) {
	if s.loop.Changes != nil {
		return
	}
	w.read = outdated
	for _, row := range w.last.step.Rows {
		if row.Phase != plan.Waiting && row.Phase != plan.Blocked || row.End.IsBase() {
			continue
		}
		if peer := s.worker(row.Other); peer != nil && peer != w {
			peer.read = outdated
			s.requestNow(peer)
		}
	}
}

// readByRequests reads a cluster by requests in this round.
func (s *scheduler) readByRequests(name api.ClusterName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.worker(name); w != nil {
		if s.store.Corrections.ResetBackoff(name); w.requests(s.round.number) {
			s.requestNow(w)
		}
	}
}

// daemon reports whether the engine continues after a round.
func (s *scheduler) daemon() bool { return s.patience > 0 }

// wasReconciled reports whether a cluster was reconciled in this round, or does not exist.
func (s *scheduler) wasReconciled(name api.ClusterName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.worker(name)
	return w == nil || w.done
}

// failed returns why nothing could be written in the round; nil: everything could.
func (s *scheduler) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.round.failed
}

// closeRequests begins a new round number between two syncs, once nothing is under way: reads by requests are too old for later decisions.
func (s *scheduler) closeRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := false
	for _, w := range s.workers {
		if w.run != nil && w.run.pending && !s.round.overdue(w, s.patience) || w.pending && past(w.due, time.Now()) || len(w.awaits) > 0 {
			return
		}
		asked = asked || w.since == s.round.number
	}
	if asked {
		s.round.number = s.store.NextRound()
	}
}

// round is one sync over all clusters: a reconcile of each cluster that is not settled, and more while there is something to do.
type round struct {
	number   int
	deadline time.Time // for what must be waited for
	open     bool      // reconciles write
	answered bool      // by any cluster
	slowest  time.Duration
	failed   error            // of the record: nothing is written without it
	tried    map[*worker]bool // whose clusters were read for the first time
}

func newRound(number int, patience time.Duration) round {
	return round{number: number, deadline: time.Now().Add(patience), tried: map[*worker]bool{}}
}

// readMode returns how a worker's cluster is read in this round.
func (r *round) readMode(w *worker, watched bool) readMode {
	switch {
	case w.since == r.number:
		return forDeletion
	case watched:
		return byWatches
	}
	return byRequests
}

// overdueAt returns when a cluster under reconcile counts as not answering; zero: never. patience is that of a daemon, or zero.
func (r *round) overdueAt(w *worker, patience time.Duration) time.Time {
	if patience == 0 || !r.answered || w.run == nil {
		return time.Time{}
	}
	return w.run.lastAnswer().Add(max(patience, 3*r.slowest))
}

// overdue reports whether a cluster counts as not answering now.
func (r *round) overdue(w *worker, patience time.Duration) bool {
	return past(r.overdueAt(w, patience), time.Now())
}

// answer notes that a cluster answered, and how long it took.
func (r *round) answer(took time.Duration) { r.answered, r.slowest = true, max(r.slowest, took) }

// notAnswering returns the reason that a cluster does not answer.
func notAnswering(r *run) *object.Reason {
	since := time.Duration(0)
	if r != nil {
		since = time.Since(r.lastAnswer()).Round(100 * time.Millisecond)
	}
	return object.Because(reason.Timeout, "the cluster has not answered for %s: linkwright goes on with the others, and reconciles this one when it answers", since)
}
