package restart

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/survey"
)

const (
	// coalesce is the least time between two looks at a cluster: what moves meanwhile is looked at together.
	coalesce = 200 * time.Millisecond
	// A cluster that cannot be read is tried again after minRetry, and after twice as long each further time.
	minRetry, maxRetry = 5 * time.Second, 5 * time.Minute
	// lookTimeout bounds one look: 500 dry runs of a slow injector take minutes.
	lookTimeout = 10 * time.Minute
)

// worker restarts workloads of one cluster. Its goroutine alone uses it, but for wake.
type worker struct {
	runner *Runner
	name   api.ClusterName
	wake   chan struct{} // capacity 1: something moved
	connection
	compared
	steps map[rollout.Ref]step
	retry time.Duration
	said  rollout.Progress // as it was kept last
}

// compared is what the last survey found.
type compared struct {
	inputs  string    // what the injector reads now
	settled time.Time // until when it gets to read them; zero: it has
	found   []rollout.Finding
	known   bool            // found is of these inputs
	opened  map[string]bool // the namespaces that let all their workloads restart, when they were read
	expires time.Time       // when what was not known is asked again; zero: all is known
}

// step is what is known of a workload beside what watches show: a restart that they may not show yet, and since when its status is the same.
type step struct {
	restarted rollout.Restarted
	status    string
	since     time.Time
}

func newWorker(r *Runner, name api.ClusterName) *worker {
	return &worker{runner: r, name: name, wake: make(chan struct{}, 1), steps: map[rollout.Ref]step{}}
}

// run looks at the cluster whenever something moved, or the clock asks for it, until ctx ends.
func (w *worker) run(ctx context.Context) {
	defer w.close()
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

// once looks at the cluster once, and once more if what it found is not true any more.
func (w *worker) once(ctx context.Context) {
	defer w.close()
	if again := w.look(ctx); !again.IsZero() && !again.After(time.Now()) {
		w.look(ctx)
	}
}

// look reads what changed, restarts what may restart now, and returns when to look again; zero: when something moves.
func (w *worker) look(ctx context.Context) time.Time {
	t, haltedBy, ok := w.runner.target(w.name)
	if !ok {
		return time.Time{}
	}
	ctx, end := context.WithTimeout(ctx, lookTimeout)
	defer end()
	if err := w.connect(w.name, w.runner.Config, func() { notify(w.wake) }); err != nil {
		return w.unread(ctx, t, err)
	}
	if t.Ended {
		return w.finish(ctx)
	}
	now := time.Now()
	if w.resume(ctx, t, now); t.Hold != nil {
		w.say(ctx, t, w.holding(t.Hold))
		return time.Time{}
	}
	if now.Before(w.settled) {
		w.say(ctx, t, w.holding(object.Because(reason.WaitingForInjector, "Linkerd's injector has until %s UTC to read what changed", w.settled.UTC().Format(time.TimeOnly))))
		return w.settled
	}
	if err := w.compare(ctx, t, now); err != nil {
		return w.unread(ctx, t, err)
	}
	return w.proceed(ctx, t, haltedBy, now)
}

// finish removes what the cluster keeps of a rollout that is not declared any more.
func (w *worker) finish(ctx context.Context) time.Time {
	w.close()
	if err := w.removeProgress(ctx, w.runner.Owner); err != nil {
		w.runner.Log.Warn("the progress of a rollout is not removed from the cluster", "cluster", string(w.name), "error", err.Error())
		return time.Now().Add(w.backoff())
	}
	w.said, w.compared = rollout.Progress{}, compared{}
	return time.Time{}
}

// resume notes a change of what the injector reads. The first time, it goes on from what the cluster keeps.
func (w *worker) resume(ctx context.Context, t Target, now time.Time) {
	if w.inputs == t.Inputs {
		return
	}
	w.settled, w.known = now.Add(w.runner.Settle), false
	if w.inputs == "" {
		w.said = w.lastProgress(ctx, w.runner.Owner)
	}
	if w.inputs = t.Inputs; w.said.Inputs == t.Inputs {
		w.settled = w.settledBy(w.said)
		return
	}
	w.event(ctx, configEvent(t.Linkerd), "the configuration of proxies or the trust anchors changed: linkwright compares the workloads that opt in, and restarts those that it must")
}

// settledBy returns until when the injector gets to read its values, by what the cluster keeps; zero: it has read them.
func (w *worker) settledBy(p rollout.Progress) time.Time {
	if p.Why == nil || p.Why.Code != reason.WaitingForInjector {
		return time.Time{}
	}
	return p.At.Add(w.runner.Settle)
}

// compare surveys the cluster, unless that was done, and nothing came since that needs another survey. New pods do not: they got the current proxy.
func (w *worker) compare(ctx context.Context, t Target, now time.Time) error {
	if err := w.follow(ctx); err != nil {
		return err
	}
	opened := w.watches.opened()
	if w.known && (w.expires.IsZero() || now.Before(w.expires)) && !opens(w.opened, opened) {
		return nil
	}
	o := survey.Options{OptedIn: true}
	if t.Policy.Detection == api.DetectByAnnotations {
		o.Linkerd = t.Linkerd
	}
	all, err := survey.Read(ctx, w.clients.Client, o)
	if err != nil {
		return err
	}
	w.found = w.found[:0]
	for _, one := range all.Workloads {
		f := rollout.Finding{Workload: one.Live, Outdated: one.Outdated, Next: one.Next, Unknown: one.Err}
		f.Difference = object.FirstNames(one.Differences, 3)
		w.found = append(w.found, f)
	}
	w.known, w.opened = true, opened
	return nil
}

// opens reports whether a namespace lets its workloads restart that did not before. Their pods may be older than that.
func opens(was, now map[string]bool) bool {
	for name := range now {
		if !was[name] {
			return true
		}
	}
	return false
}

// optedIn returns what was found of workloads that still opt in.
func (w *worker) optedIn(live map[rollout.Ref]rollout.Workload, opened map[string]bool) []rollout.Finding {
	return slices.DeleteFunc(slices.Clone(w.found), func(f rollout.Finding) bool {
		says := ""
		if opened[f.Namespace] {
			says = rollout.Auto
		}
		return !live[f.Ref].OptIn.With(says)
	})
}

// proceed restarts what may restart now.
func (w *worker) proceed(ctx context.Context, t Target, haltedBy *object.Reason, now time.Time) time.Time {
	live := w.current(now)
	d := rollout.Next(rollout.Input{
		Now: now, Policy: t.Policy, Found: w.optedIn(live, w.watches.opened()), Live: live, Budgets: w.watches.allBudgets(), Since: w.since(), Last: w.said, HaltedBy: haltedBy,
	})
	for _, r := range d.Restarts {
		if err := w.restart(ctx, r, now); apierrors.IsConflict(err) { // somebody changed it meanwhile
			d.Again = soonest(d.Again, now.Add(minRetry))
		} else if err != nil {
			why := w.runner.Explain(err)
			w.runner.Log.Warn("a workload is not restarted", "cluster", string(w.name), "object", r.String(), "reason", string(why.Code), "error", why.Message)
			d.Again = soonest(d.Again, now.Add(w.backoff()))
		}
	}
	if d.Survey {
		w.known = false
		return now
	}
	if w.expires = (time.Time{}); d.Progress.Unknown > 0 {
		w.expires = now.Add(w.backoff())
		d.Again = soonest(d.Again, w.expires)
	} else {
		w.retry = 0
	}
	w.say(ctx, t, d.Progress)
	return d.Again
}

// current returns the live workloads, with restarts that watches do not show yet.
func (w *worker) current(now time.Time) map[rollout.Ref]rollout.Workload {
	all := w.watches.live()
	for ref, live := range all {
		s := w.steps[ref]
		if s.restarted.For == live.Restarted.For {
			s.restarted = rollout.Restarted{}
		}
		if s.restarted.For != "" {
			live.Restarted, live.State = s.restarted, rollout.Progressing
			all[ref] = live
		}
		if s.status != live.Status {
			s.status, s.since = live.Status, now
		}
		w.steps[ref] = s
	}
	for ref := range w.steps {
		if _, ok := all[ref]; !ok {
			delete(w.steps, ref)
		}
	}
	return all
}

func (w *worker) since() map[rollout.Ref]time.Time {
	out := make(map[rollout.Ref]time.Time, len(w.steps))
	for ref, s := range w.steps {
		out[ref] = s.since
	}
	return out
}

// holding is the last progress, with why nothing goes on.
func (w *worker) holding(why *object.Reason) rollout.Progress {
	p := w.said
	p.Why = why
	return p
}

// unread says why the cluster cannot be read, and when it is tried again.
func (w *worker) unread(ctx context.Context, t Target, err error) time.Time {
	why := w.runner.Explain(err)
	w.say(ctx, t, w.holding(object.Because(reason.WorkloadsNotRead, "%s: %s", why.Code, why.Message)))
	return time.Now().Add(w.backoff())
}

// backoff returns for how long to wait, each time twice as long.
func (w *worker) backoff() time.Duration {
	w.retry = min(max(minRetry, 2*w.retry), maxRetry)
	return w.retry
}

// say reports how far the cluster is, keeps it there, and logs what is new.
func (w *worker) say(ctx context.Context, t Target, p rollout.Progress) {
	p.Inputs = t.Inputs
	w.runner.report(t, p, w.known)
	if w.said.Same(p) && !w.said.At.IsZero() {
		return
	}
	if was := w.said; !sameReason(was.Why, p.Why) || was.Complete() != p.Complete() {
		w.log(p)
	}
	p.At = time.Now().UTC().Truncate(time.Second)
	w.said = p
	if err := w.keepProgress(ctx, w.runner.Owner, p); err != nil {
		w.said.At = time.Time{} // it is tried again
		w.runner.Log.Warn("the progress of a rollout is not kept in the cluster", "cluster", string(w.name), "error", err.Error())
	}
}

func (w *worker) log(p rollout.Progress) {
	args := []any{"cluster", string(w.name), "workloads", p.Total, "current", p.Current}
	switch {
	case p.Complete():
		w.runner.Log.Info("all workloads that opt in run the current proxy", args...)
	case p.Why != nil && slices.Contains([]reason.Code{reason.RestartFailed, reason.RestartWithoutEffect, reason.WorkloadsNotRead}, p.Why.Code):
		w.runner.Log.Warn("the rollout does not go on", append(args, "reason", string(p.Why.Code), "error", p.Why.Message)...)
	case p.Why != nil:
		w.runner.Log.Info("the rollout waits", append(args, "reason", string(p.Why.Code), "why", p.Why.Message)...)
	default:
		w.runner.Log.Info("the rollout goes on", args...)
	}
}

func soonest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// restart restarts a workload, if it is still what was read, and says so in an Event.
func (w *worker) restart(ctx context.Context, r rollout.Restart, now time.Time) error {
	if err := w.patch(ctx, r, now); err != nil {
		return err
	}
	s := w.steps[r.Ref]
	s.restarted = rollout.Restarted{For: r.For, At: now}
	w.steps[r.Ref] = s
	w.runner.Log.Info("a workload restarts", "cluster", string(w.name), "object", r.String(), "changes", r.Why)
	w.event(ctx, restartEvent(r), fmt.Sprintf("linkwright restarts it, because its pods run an outdated proxy; a restart changes %s", cmp.Or(r.Why, "it")))
	return nil
}
