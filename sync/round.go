package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/report"
)

// sync makes the clusters equal to the applied declarations: the observed revision, or the one applied before. A new revision ends its waiting.
func (e *engine) sync(ctx context.Context, head polled, news <-chan struct{}) (report.Report, error) {
	start := time.Now()
	e.setMode(closed)
	e.store.Declared.ResetAnswers()
	r := report.Report{Head: e.store.Declared.Observe(head.Commit), Problems: head.Problems, ReadOnly: e.loop.ReadOnly}
	if head.err == nil || head.Commit != "" {
		r.Polled = head.at
	}
	if head.err != nil {
		r.Err = head.err.Error()
	}
	e.store.Results.Open(r)
	ok, err := revisionChooser{e}.choose(ctx, head)
	e.revisions.recordRevision(ctx, head, e.daemon(), err)
	if ok {
		e.warnUnknownClusters()
		urged := e.requestDecided()
		err = errors.Join(err, e.runRound(ctx, news))
		e.removeUsedUp(ctx, mayEnd(urged, head.err))
		e.revisions.flush(ctx)
		r.Clusters = e.store.Rows()
		e.reopen()
	} else {
		e.store.Results.Skip()
	}
	if err != nil && ctx.Err() != nil {
		err = Interrupted(ctx)
	}
	if r.At, r.Err = time.Now(), ""; err != nil {
		r.Err = err.Error()
	}
	if f, since := e.store.Declared.Applied(); f != nil {
		r.Commit, r.Since, r.Took = f.Commit, since, time.Since(start)
	}
	e.removed.note(ctx, r)
	return r, err
}

// revisionChooser decides which revision is applied.
type revisionChooser struct{ *engine }

// choose decides which fleet is applied, and begins a sync of it; false: there is none. Its clusters are read then.
// The error says why it is not the head's.
//
//	head                                         applied
//	of the applied commit, seen in a cluster     the head
//	follows all that bases carry                 the head
//	no base is known, and clusters are unread    the last good one
//	anything else, or not known                  the last good one: this leadership's, else what most clusters carry; else none
func (e revisionChooser) choose(ctx context.Context, head polled) (bool, error) {
	e.history.retryUnread()
	why := head.err
	if why == nil {
		refused, err := e.applyIfAllowed(ctx, head.Fleet)
		if refused == nil || err != nil {
			return err == nil, err
		}
		e.store.Declared.Withdraw(head.Commit)
		ok, err := e.keepApplied(ctx)
		if err != nil {
			refused = fmt.Errorf("%w; %w", refused, err)
		}
		return ok, DeniedRevision{refused}
	}
	ok, err := e.keepApplied(ctx)
	return ok, errors.Join(why, err)
}

// keepApplied enters the applied fleet, unless that is denied itself, else what was applied before this process.
func (e revisionChooser) keepApplied(ctx context.Context) (bool, error) {
	var gone error
	if f, _ := e.store.Declared.Applied(); f != nil {
		refused, err := e.applyIfAllowed(ctx, f)
		if refused == nil || err != nil {
			return err == nil, err
		}
		e.store.Declared.Withdraw(f.Commit)
		gone = fmt.Errorf("commit %s is no longer applied: %w", f.Commit, refused)
	}
	f, err := e.findApplied(ctx)
	if f == nil {
		return false, errors.Join(gone, err)
	}
	err = e.enter(ctx, f)
	return err == nil, errors.Join(gone, err)
}

// applyIfAllowed applies a fleet and enters it, unless it is denied. That is judged twice: before its clusters are opened, by the bases that are
// known, and once all were read.
func (e revisionChooser) applyIfAllowed(ctx context.Context, f *fleet.Fleet) (refused, err error) {
	if refused = e.history.denied(ctx, f); refused != nil {
		return refused, nil
	}
	if err = e.enter(ctx, f); err != nil {
		return nil, err
	}
	if refused = e.history.denied(ctx, f); refused != nil {
		return refused, nil
	}
	e.store.Apply(f)
	return nil, nil
}

// resumePreloaded applies what this process loaded before it led, if more than half of the clusters have it. That is the evidence of findApplied,
// without Git.
func (e revisionChooser) resumePreloaded(ctx context.Context) (*fleet.Fleet, error) {
	held := e.preloaded
	if held == nil {
		return nil, nil
	}
	if err := e.enter(ctx, held); err != nil {
		return nil, err
	}
	if majority(e.history.appliedCommits(held), e.history.guarded()) != held.Commit {
		return nil, nil
	}
	e.store.Apply(held)
	e.store.Declared.Confirm(held.Commit)
	return held, nil
}

// findApplied finds the revision that was applied before this process: the commit that more than half of the guarded clusters of the record have. A
// cluster that cannot be read, or has no base, counts against it, so that a few clusters cannot choose what all others get.
func (e revisionChooser) findApplied(ctx context.Context) (*fleet.Fleet, error) {
	if f, err := e.resumePreloaded(ctx); f != nil || err != nil {
		return f, err
	}
	if err := e.declare(ctx, &fleet.Fleet{Policy: api.SyncPolicy{}.WithDefaults()}); err != nil {
		return nil, err
	}
	e.cancelRuns()
	e.store.Clusters.ReadAllAgain()
	e.updateWorkers()
	e.readNew()
	last := majority(e.history.appliedCommits(&fleet.Fleet{}), e.history.guarded())
	e.store.Clusters.ReadAllAgain() // they were read for no fleet
	if last == "" {
		return nil, nil
	}
	d, err := e.loop.Declared.At(ctx, last)
	if err == nil && d.Fleet == nil {
		err = ErrInvalid
	}
	if err != nil {
		return nil, fmt.Errorf("nothing is written meanwhile, because the applied revision %s cannot be read: %w", last.Short(), err)
	}
	e.store.Apply(d.Fleet)
	e.store.Declared.Confirm(last)
	return d.Fleet, nil
}

// runRound makes a round. It ends when no cluster has anything left to do within the patience. If it is asked to stop, or a new revision comes, it
// ends once the reconciles under way have ended.
func (e *engine) runRound(ctx context.Context, news <-chan struct{}) error {
	e.openRound()
	e.waitForRound(ctx, news)
	return errors.Join(e.closeRound(), Interrupted(ctx))
}

// Interrupted returns why a sync was asked to stop; nil: it was not.
func Interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInterrupted, context.Cause(ctx))
}

// waitForRound waits until the round is over, or was asked to end.
func (e *engine) waitForRound(ctx context.Context, news <-chan struct{}) {
	stop := ctx.Done()
	for {
		alarm := e.nextAlarm() // asked first: a cluster that is overdue since then ends the round
		if e.roundOver() {
			return
		}
		select {
		case <-e.progress:
			continue
		case <-afterTime(alarm):
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
	now, _ := e.store.View(e.store.Declared.Epoch())
	for name, w := range e.workers {
		switch {
		case w.removed:
		case e.loop.Changes != nil && w.settled(now):
			e.round.answered, w.pending = true, false
			e.store.Results.SetStep(name, w.last.step)
		default:
			w.due, w.rest, w.pending = soonest(w.due, time.Now()), time.Time{}, true
		}
	}
	e.store.Release(now)
	e.round.open = true
	e.mu.Unlock()
	e.setMode(openClusters)
}

// roundOver reports whether the round is over.
func (e *engine) roundOver() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	stopped := e.mode == closed
	for _, w := range e.workers {
		if w.busy(stopped, e.round.overdue(w, e.patience)) {
			return false
		}
	}
	return stopped || !e.verifier.Awaited(e.patience)
}

// nextAlarm returns when the round may be over although nothing is notified; zero: never.
func (e *engine) nextAlarm() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	first, now := time.Time{}, time.Now()
	for _, w := range e.workers {
		if w.run == nil {
			continue
		}
		if at := e.round.overdueAt(w, e.patience); now.Before(at) {
			first = soonest(first, at)
		}
	}
	return soonest(first, e.verifier.Until(e.patience))
}

// closeRound reports clusters that do not answer as unknown, and returns why nothing could be written.
func (e *engine) closeRound() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, w := range e.workers {
		w.asked, w.awaits = false, nil
		if w.run != nil && !w.removed && (w.run.pending || e.round.overdue(w, e.patience)) {
			e.store.Results.SetUnknown(name, notAnswering(w.run))
		}
	}
	e.mode = closed
	e.round.open, e.round.number = false, e.store.NextRound() // what was read in it is as old as it
	return e.round.failed
}

// reopen lets a daemon continue between two rounds.
func (e *engine) reopen() {
	if e.daemon() {
		e.setMode(openClusters)
	}
}
