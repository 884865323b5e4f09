package restart

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
)

const (
	// coalesce is the least time between two looks at a cluster: what moves meanwhile is looked at together.
	coalesce = 200 * time.Millisecond
	// A cluster that cannot be read is tried again after minRetry, and after twice as long each further time.
	minRetry, maxRetry = 5 * time.Second, 5 * time.Minute
	// refusalPause is how long a workload is left alone after its restart was refused.
	refusalPause = 5 * time.Minute
	// lookTimeout bounds one look: 500 dry runs of a slow injector take minutes. writeTimeout bounds the write of the progress after it.
	lookTimeout, writeTimeout = 10 * time.Minute, 15 * time.Second
)

// worker restarts workloads of one cluster. Its goroutine alone uses it, but for wake.
type worker struct {
	runner  *Runner
	name    api.ClusterName
	wake    chan struct{} // capacity 1: something moved
	conn    connection
	view    view
	steps   map[rollout.Ref]step
	refused map[rollout.Ref]refusal
	retry   time.Duration
	// pausedUntil is for how long restarts are paused because the cluster says so, and the target does not yet.
	pausedUntil time.Time
	said        rollout.Progress // the last progress
	kept        bool             // the cluster has it
}

func newWorker(r *Runner, name api.ClusterName) *worker {
	return &worker{runner: r, name: name, wake: make(chan struct{}, 1), steps: map[rollout.Ref]step{}, refused: map[rollout.Ref]refusal{}}
}

// run looks at the cluster whenever something moved, or the clock asks for it, until ctx ends.
func (w *worker) run(ctx context.Context) {
	defer w.conn.unfollow()
	for ctx.Err() == nil {
		again := w.look(ctx)
		pause := time.NewTimer(coalesce)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		var due <-chan time.Time
		if !again.IsZero() {
			due = time.After(time.Until(again))
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-due:
		}
	}
}

// once looks at the cluster, and again while what it found is not true any more: at most ten times.
func (w *worker) once(ctx context.Context) {
	defer w.conn.unfollow()
	for range 10 {
		again := w.look(ctx)
		if again.IsZero() || again.After(time.Now().Add(readPause)) {
			return
		}
		pause := time.NewTimer(time.Until(again))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// look reads what changed, restarts what may restart now, and returns when to look again; zero: when something moves.
func (w *worker) look(ctx context.Context) time.Time {
	t, _, ok := w.runner.target(w)
	switch {
	case !ok:
		return time.Time{}
	case t.Untouched:
		w.runner.report(w, t, w.said, false)
		return time.Time{}
	}
	inner, end := context.WithTimeout(ctx, lookTimeout)
	defer end()
	if err := w.conn.connect(w.name, w.runner.Config, func() { notify(w.wake) }); err != nil {
		return w.unread(ctx, t, err)
	}
	if t.Ended {
		return w.finish(inner)
	}
	now := time.Now()
	if err := w.resume(inner, t, now); err != nil {
		return w.unread(ctx, t, err)
	}
	if why, until := w.holds(t, now); why != nil {
		return soonest(until, w.say(ctx, t, w.holding(why)))
	}
	if err := w.compare(inner, now); err != nil {
		return w.unread(ctx, t, err)
	}
	again, haltedBy, ok := w.runner.target(w)
	if !ok || !again.same(t) { // a survey takes time
		return time.Now()
	}
	if t.Hold != nil {
		haltedBy = t.Hold
	}
	return w.proceed(ctx, inner, t, haltedBy)
}

// holds returns why the workloads are not even compared now, and until when; nil: they are. Where restarts are paused they are: what becomes ready there
// may let other clusters go on.
func (w *worker) holds(t Target, now time.Time) (*object.Reason, time.Time) {
	if t.Hold != nil && t.Hold.Code != reason.RolloutPaused {
		return t.Hold, time.Time{}
	}
	if until := w.view.began.Add(w.runner.Settle); now.Before(until) {
		if t.Hold != nil {
			return t.Hold, until
		}
		return object.Because(reason.WaitingForInjector, "Linkerd's injector has until %s UTC to read what changed", until.UTC().Format(time.TimeOnly)), until
	}
	return nil, time.Time{}
}

// finish removes what the cluster keeps of a rollout that is not declared any more.
func (w *worker) finish(ctx context.Context) time.Time {
	w.conn.unfollow()
	if err := w.conn.removeProgress(ctx, w.runner.Owner); err != nil {
		w.runner.Log.Warn("the progress of a rollout is not removed from the cluster", "cluster", string(w.name), "error", err.Error())
		return time.Now().Add(w.backoff())
	}
	w.said, w.view = rollout.Progress{}, view{}
	return time.Time{}
}

// resume notes a change of what the injector reads. The first time, it goes on from what the cluster keeps.
func (w *worker) resume(ctx context.Context, t Target, now time.Time) error {
	if w.view.of(t) {
		return nil
	}
	if w.view.inputs == "" {
		last, err := w.conn.lastProgress(ctx, w.runner.Owner)
		if err != nil {
			return err
		}
		w.said, w.kept = last, true
	}
	w.view = view{inputs: t.Inputs, detection: t.Policy.Detection, linkerd: t.Linkerd, withArgo: t.Policy.ArgoRollouts, began: w.said.Began}
	if w.said.Inputs == t.Inputs {
		return nil
	}
	w.view.began = now.UTC().Truncate(time.Second)
	if w.said.Inputs != "" {
		w.event(ctx, configEvent(t.Linkerd), "the configuration of proxies or the trust anchors changed: linkwright compares the workloads that opt in, and restarts those that it must")
	}
	return nil
}

// proceed restarts what may restart now.
func (w *worker) proceed(ctx, inner context.Context, t Target, haltedBy *object.Reason) time.Time {
	now := time.Now()
	live, last := w.live(now), w.said
	last.Began = w.view.began
	refused, again := w.refusals(now)
	if haltedBy == nil && now.Before(w.pausedUntil) {
		haltedBy, again = object.Because(reason.RolloutPaused, "somebody just paused restarts"), soonest(again, w.pausedUntil)
	}
	d := rollout.Next(rollout.Input{
		Now: now, Policy: t.Policy, Found: w.view.optedIn(live, w.conn.watches.namespacesNow()), Live: live, Budgets: w.conn.watches.allBudgets(), Since: w.since(),
		Refused: refused, Last: last, HaltedBy: haltedBy,
	})
	again = soonest(again, d.Again)
	if d.Survey { // it takes time: what is ready now is ready
		w.view.known = false
		w.said.Running, w.said.Failed, w.kept = d.Progress.Running, d.Progress.Failed, false
		return w.view.read.Add(readPause)
	}
	if d.Progress.Unknown == 0 {
		w.view.expires, w.retry = time.Time{}, 0
	} else if w.view.expires.IsZero() {
		w.view.expires = now.Add(w.backoff())
	}
	again = soonest(soonest(again, w.view.expires), w.view.staleDue)
	again = soonest(again, w.say(ctx, t, d.Progress))
	if len(d.Restarts) == 0 || !w.kept { // what restarts is written down first
		return again
	}
	switch all, err := w.restartAll(inner, t, d.Restarts); {
	case err != nil:
		return w.unread(ctx, t, err)
	case !all:
		return time.Now()
	}
	return again
}

// holding is the last progress, with why nothing goes on.
func (w *worker) holding(why *object.Reason) rollout.Progress {
	p := w.said
	p.Why = why
	return p
}

// unread says why the cluster cannot be read, and returns when it is tried again.
func (w *worker) unread(ctx context.Context, t Target, err error) time.Time {
	if ctx.Err() != nil {
		return time.Time{}
	}
	again := time.Now().Add(w.backoff())
	why := w.runner.Explain(err)
	return soonest(again, w.say(ctx, t, w.holding(object.Because(reason.WorkloadsNotRead, "%s: %s", why.Code, why.Message))))
}

// backoff returns for how long to wait, each time twice as long.
func (w *worker) backoff() time.Duration {
	w.retry = min(max(minRetry, 2*w.retry), maxRetry)
	return w.retry
}

// say reports how far the cluster is, keeps it there, and logs what is new. It returns when to try again; zero: it is kept.
func (w *worker) say(ctx context.Context, t Target, p rollout.Progress) time.Time {
	p.Inputs, p.Began = w.view.inputs, w.view.began
	w.runner.report(w, t, p, w.view.known)
	same := w.said.Same(p) && !w.said.At.IsZero()
	if same && w.kept || ctx.Err() != nil {
		return time.Time{}
	}
	if !same {
		if was := w.said; !object.SameReason(was.Why, p.Why) || was.Complete() != p.Complete() {
			logProgress(w.runner.Log, w.name, p)
		}
		p.At = time.Now().UTC().Truncate(time.Second)
		w.said = p
	}
	ctx, end := context.WithTimeout(ctx, writeTimeout)
	defer end()
	err := w.conn.keepProgress(ctx, w.runner.Owner, w.said)
	if w.kept = err == nil; w.kept {
		return time.Time{}
	}
	if ctx.Err() == nil {
		w.runner.Log.Warn("the progress of a rollout is not kept in the cluster", "cluster", string(w.name), "error", err.Error())
	}
	return time.Now().Add(minRetry)
}

// logProgress logs how far a cluster is.
func logProgress(log *slog.Logger, cluster api.ClusterName, p rollout.Progress) {
	args := []any{"cluster", string(cluster), "workloads", p.Total, "current", p.Current}
	switch {
	case p.Complete():
		log.Info("all workloads that opt in run the current proxy", args...)
	case p.Why != nil && slices.Contains([]reason.Code{reason.RestartFailed, reason.RestartWithoutEffect, reason.WorkloadsNotRead}, p.Why.Code):
		log.Warn("the rollout does not go on", append(args, "reason", string(p.Why.Code), "error", p.Why.Message)...)
	case p.Why != nil:
		log.Info("the rollout waits", append(args, "reason", string(p.Why.Code), "why", p.Why.Message)...)
	default:
		log.Info("the rollout goes on", args...)
	}
}

// soonest returns the first of two moments, of which a zero one never comes.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
