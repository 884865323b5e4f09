package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// grace is how long a daemon waits for a cluster that does not answer while others do.
const grace = 2 * time.Second

// round is one sync over all clusters: a reconcile of each that is not settled, and more while there is something to do.
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

// answer notes that a cluster answered, and how long it took.
func (r *round) answer(took time.Duration) { r.answered, r.slowest = true, max(r.slowest, took) }

// sync makes the clusters as what applies declares them: the head, or without it the last good one. It waits for
// nothing any more once there are news.
func (e *engine) sync(ctx context.Context, head polled, news <-chan struct{}) (report.Report, error) {
	start, b := time.Now(), e.board
	e.setMode(closed)
	b.forgetAnswers()
	r := report.Report{Head: b.newest(head.Commit), Problems: head.Problems, ReadOnly: e.loop.ReadOnly}
	if head.err == nil || head.Commit != "" {
		r.Polled = head.at
	}
	if head.err != nil {
		r.Err = head.err.Error()
	}
	b.opens(r)
	ok, err := e.choose(ctx, head)
	e.note(ctx, head, err)
	if ok {
		e.strangers()
		urged := e.urge()
		err = errors.Join(err, e.runRound(ctx, news))
		e.strike(ctx, ended(urged, head.err))
		e.flush(ctx)
		r.Clusters = b.rows()
		e.reopen()
	} else {
		b.toldAll()
	}
	if r.At, r.Err = time.Now(), ""; err != nil {
		r.Err = err.Error()
	}
	if f, since := b.inForce(); f != nil {
		r.Commit, r.Since, r.Took = f.Commit, since, time.Since(start)
	}
	return r, err
}

// enter declares a fleet and reads what of its clusters was not read yet during this leadership. What is still done for another one is
// cut short.
func (e *engine) enter(ctx context.Context, f *fleet.Fleet) error {
	epoch := e.board.now()
	if err := e.board.declare(ctx, f); err != nil {
		return err
	}
	if e.board.now() != epoch {
		e.cut()
	}
	if err := e.loop.known(e.board); err != nil {
		return err
	}
	e.enroll()
	e.meet()
	_ = e.board.judge(ctx, f) // clusters that were read before; who is refused is a row
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
				e.board.put(name, state.Cluster{Err: why}, e.board.now())
			}
			return
		}
		select {
		case <-e.progress:
		case <-alarm(until):
		}
	}
}

// unmet are the clusters that nothing is known of yet, with what is told of one that does not answer, and until when all of them are
// waited for; zero: as long as it takes.
func (e *engine) unmet() (map[api.ClusterName]*object.Reason, time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out, until, forever := map[api.ClusterName]*object.Reason{}, time.Time{}, false
	for name, w := range e.workers {
		if w.gone || e.board.has(name) || w.run == nil && e.round.tried[w] {
			continue
		}
		at := e.straggling(w)
		out[name], forever, until = silent(w.run), forever || at.IsZero(), later(until, at)
	}
	if forever {
		until = time.Time{}
	}
	return out, until
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

// openRound asks for every cluster that is not settled.
func (e *engine) openRound() {
	e.mu.Lock()
	now, _ := e.board.view(e.board.now())
	for name, w := range e.workers {
		switch {
		case w.gone:
		case e.settled(w, now):
			e.round.answered, w.pending = true, false
			e.board.tell(name, w.last.step)
		default:
			w.due, w.rest, w.pending = soonest(w.due, time.Now()), time.Time{}, true
		}
	}
	e.board.done(now)
	e.round.open = true
	e.mu.Unlock()
	e.setMode(open)
}

// settled says that a reconcile would change nothing: the last one left nothing to do, and all it was planned from is as it was. e.mu is
// held.
func (e *engine) settled(w *worker, now view) bool {
	s := w.last.step
	return e.loop.Changes != nil && w.last.finished() && w.run == nil && !past(w.due, now.Now) && now.Clusters[w.cluster.Name].Known &&
		!past(s.Next, now.Now) && !past(s.Retry, now.Now) && now.basis(s) == w.last.basis
}

// past says that a moment has come; a zero one never does.
func past(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// over says that the round is.
func (e *engine) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	stopped := e.mode == closed
	for _, w := range e.workers {
		if e.busy(w, stopped) {
			return false
		}
	}
	return stopped || !e.verifier.awaited(e.patience)
}

// busy says that the round waits for a worker. e.mu is held.
func (e *engine) busy(w *worker, stopped bool) bool {
	if w.run != nil {
		return (w.run.pending || w.pending || stopped) && !e.straggles(w)
	}
	return !stopped && !w.gone && w.pending
}

// nextAlarm is when the round may be over although nothing is told; zero: never.
func (e *engine) nextAlarm() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	first, now := time.Time{}, time.Now()
	for _, w := range e.workers {
		if w.run == nil {
			continue
		}
		if at := e.straggling(w); now.Before(at) {
			first = soonest(first, at)
		}
	}
	return soonest(first, e.verifier.until(e.patience))
}

// alarm ends at a moment; a zero one never comes.
func alarm(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// closeRound tells of clusters that do not answer that nobody knows how they are, and gives why nothing could be written.
func (e *engine) closeRound() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, w := range e.workers {
		w.asked, w.awaits = false, nil
		if w.run != nil && !w.gone && (w.run.pending || e.straggles(w)) {
			e.board.refuse(name, silent(w.run))
		}
	}
	e.mode = closed
	e.round.open, e.round.number = false, e.board.begin() // what was read in it is as old as it
	return e.round.failed
}

// reopen has a daemon go on between two rounds.
func (e *engine) reopen() {
	if e.daemon() {
		e.setMode(open)
	}
}

// quiet ends what stands for a round between two of them: what was read by requests is too old for who comes later.
func (e *engine) quiet() {
	e.mu.Lock()
	defer e.mu.Unlock()
	asked := false
	for _, w := range e.workers {
		if w.run != nil && w.run.pending && !e.straggles(w) || w.pending && past(w.due, time.Now()) || len(w.awaits) > 0 {
			return
		}
		asked = asked || w.since == e.round.number
	}
	if asked {
		e.round.number = e.board.begin()
	}
}

// straggling is when a cluster that is being reconciled counts as one that does not answer; zero: never. e.mu is held.
func (e *engine) straggling(w *worker) time.Time {
	if !e.daemon() || !e.round.answered || w.run == nil {
		return time.Time{}
	}
	return w.run.lastHeard().Add(max(e.patience, 3*e.round.slowest))
}

func (e *engine) straggles(w *worker) bool { return past(e.straggling(w), time.Now()) }

// silent says that a cluster does not answer.
func silent(r *run) *object.Reason {
	since := time.Duration(0)
	if r != nil {
		since = time.Since(r.lastHeard()).Round(100 * time.Millisecond)
	}
	return object.Because(reason.Timeout, "no answer for %s; the other clusters did not wait: it has its turn when it answers", since)
}

// hadTurn says that a cluster was reconciled in this round, or that there is none of the name.
func (e *engine) hadTurn(name api.ClusterName) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.worker(name)
	return w == nil || w.done
}

// failed is why nothing could be written in the round; nil: everything could.
func (e *engine) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.round.failed
}

// strangers warns once of clusters to be given up that nobody knows: else a slip of the pen looks like a success.
func (e *engine) strangers() {
	if e.noting.warned {
		return
	}
	e.noting.warned = true
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.loop.Forget)) {
		if e.worker(name) == nil {
			e.loop.Log.Warn("--abandon-cluster does nothing: no such cluster is declared or remembered; was it abandoned before, or is it called otherwise?", "cluster", string(name))
		}
	}
}

// known refuses to write a cluster that there is not.
func (l *Loop) known(b *board) error {
	for _, only := range l.Only {
		if !slices.ContainsFunc(b.clusters(), func(c fleet.Cluster) bool { return c.Name == only }) {
			return fmt.Errorf("only cluster %s is to be written, and no such cluster is declared", only)
		}
	}
	return nil
}
