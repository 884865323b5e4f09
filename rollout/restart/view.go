package restart

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/survey"
)

// mostSingly is how many workloads are compared one by one, rather than all. stalePause is for how long changes of pods are collected before that.
const (
	mostSingly = 10
	stalePause = 30 * time.Second
	// readPause is the least time between two surveys: watches may show less than a list for a moment.
	readPause = time.Second
)

// view is what was found out about a cluster's workloads.
type view struct {
	inputs    string // what the injector reads
	detection api.Detection
	linkerd   string
	withArgo  bool
	began     time.Time // when these inputs were first seen
	found     []rollout.Finding
	known     bool                 // found is of these inputs
	read      time.Time            // when all were compared last
	opened    map[string]namespace // the namespaces, when found was read
	stale     []rollout.Ref        // what is to be compared again, because its pods changed
	staleDue  time.Time            // when; zero: nothing is
	expires   time.Time            // when what is unknown is compared again; zero: all is known
}

// of reports whether the view is of what a target's workloads are compared with now.
func (v *view) of(t Target) bool {
	return v.inputs == t.Inputs && v.detection == t.Policy.Detection && v.linkerd == t.Linkerd && v.withArgo == t.Policy.ArgoRollouts
}

// optedIn returns what was found of workloads that still opt in.
func (v *view) optedIn(live map[rollout.Ref]rollout.Workload, now map[string]namespace) []rollout.Finding {
	return slices.DeleteFunc(slices.Clone(v.found), func(f rollout.Finding) bool {
		return !live[f.Ref].OptIn.With(now[f.Namespace].Says)
	})
}

// outdatedBy reports whether namespaces changed so that all workloads must be compared again: one lets workloads restart that it did not, or has other
// settings of proxies. Pods may be older than that. A new namespace has only new pods.
func (v *view) outdatedBy(now map[string]namespace) bool {
	out := false
	for name, n := range now {
		was, known := v.opened[name]
		if !known {
			v.opened[name] = n
			continue
		}
		opens := n.Says == rollout.Auto && was.Says != rollout.Auto || was.Says == rollout.Disabled && n.Says != rollout.Disabled
		out = out || opens || n.Settings != was.Settings && n.Says != rollout.Disabled
	}
	return out
}

// markStale has an outdated workload compared again: its pods may be other ones now. One that linkwright restarts is compared when nothing restarts.
func (v *view) markStale(w rollout.Workload, now time.Time) {
	at := slices.IndexFunc(v.found, func(f rollout.Finding) bool {
		restarts := f.For == w.Restarted.For && f.Restarted.For != w.Restarted.For && w.State != rollout.Fixed
		return f.Ref == w.Ref && f.Outdated > 0 && !restarts
	})
	if at < 0 || slices.Contains(v.stale, w.Ref) {
		return
	}
	v.stale = append(v.stale, w.Ref)
	if v.staleDue.IsZero() {
		v.staleDue = now.Add(stalePause)
	}
}

// set replaces what was found of a workload; nil: it has no meshed pods, or does not opt in.
func (v *view) set(ref rollout.Ref, f *rollout.Finding) {
	at := slices.IndexFunc(v.found, func(f rollout.Finding) bool { return f.Ref == ref })
	switch {
	case at < 0:
	case f == nil:
		v.found = slices.Delete(v.found, at, at+1)
	default:
		v.found[at] = *f
	}
}

// unknown are the workloads that could not be compared.
func (v *view) unknown() (out []rollout.Ref) {
	for _, f := range v.found {
		if f.Unknown != nil {
			out = append(out, f.Ref)
		}
	}
	return out
}

// compare compares the workloads, unless that was done, and nothing came since that needs it. New pods do not: they got the current proxy.
func (w *worker) compare(ctx context.Context, now time.Time) error {
	if err := w.conn.follow(ctx, w.view.withArgo); err != nil {
		return err
	}
	namespaces, again := w.conn.watches.namespacesNow(), w.view.due(now)
	if !w.view.known || len(again) > mostSingly || w.view.outdatedBy(namespaces) {
		return w.compareAll(ctx, namespaces)
	}
	live := w.conn.watches.live()
	for _, ref := range again {
		if _, ok := live[ref]; !ok {
			w.view.set(ref, nil)
		} else if _, err := w.compareOne(ctx, ref); err != nil {
			return err
		}
		w.view.stale = slices.DeleteFunc(w.view.stale, func(r rollout.Ref) bool { return r == ref })
	}
	if len(w.view.stale) == 0 {
		w.view.staleDue = time.Time{}
	}
	if passed(w.view.expires, now) {
		w.view.expires = time.Time{}
	}
	return nil
}

// passed reports whether a moment has come; a zero one never does.
func passed(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// due are the workloads that are to be compared again now.
func (v *view) due(now time.Time) (out []rollout.Ref) {
	if passed(v.staleDue, now) {
		out = append(out, v.stale...)
	}
	if passed(v.expires, now) {
		out = append(out, v.unknown()...)
	}
	return out
}

func (w *worker) compareAll(ctx context.Context, namespaces map[string]namespace) error {
	all, err := survey.Read(ctx, w.conn.clients.Client, w.view.options(rollout.Ref{}))
	if err = cmp.Or(err, all.ArgoErr); err != nil {
		return err
	}
	if err := w.conn.refollow(ctx, all.ArgoRollouts); err != nil {
		return err
	}
	w.view.found = w.view.found[:0]
	for _, one := range all.Workloads {
		w.view.found = append(w.view.found, w.finding(one, namespaces))
	}
	w.view.known, w.view.opened, w.view.stale, w.view.read = true, namespaces, nil, time.Now()
	w.view.staleDue, w.view.expires = time.Time{}, time.Time{}
	return ctx.Err()
}

// compareOne compares one workload again; nil: it has no meshed pods any more, or does not opt in.
func (w *worker) compareOne(ctx context.Context, ref rollout.Ref) (*rollout.Finding, error) {
	all, err := survey.Read(ctx, w.conn.clients.Client, w.view.options(ref))
	if err != nil && !apierrors.IsNotFound(err) { // its namespace is gone
		return nil, err
	}
	if all.ArgoErr != nil {
		return nil, all.ArgoErr
	}
	var f *rollout.Finding
	if len(all.Workloads) > 0 {
		f = new(w.finding(all.Workloads[0], w.conn.watches.namespacesNow()))
	}
	w.view.set(ref, f)
	return f, nil
}

// options are those of a survey of one workload, or all.
func (v *view) options(only rollout.Ref) survey.Options {
	return survey.Options{OptedIn: true, Only: only, Linkerd: v.linkerd, NoDryRun: v.detection == api.DetectByAnnotations, ArgoRollouts: v.withArgo}
}

// finding is what a survey found, as decisions need it.
func (w *worker) finding(one survey.Workload, namespaces map[string]namespace) rollout.Finding {
	one.Live.Labels = nil // those that are watched count
	f := rollout.Finding{
		Workload: one.Live, Outdated: one.Outdated, Difference: object.FirstNames(one.Differences, 3),
		For: rollout.Configuration(w.view.inputs, namespaces[one.Namespace].Settings),
	}
	if one.Err != nil {
		why := w.runner.Explain(one.Err)
		f.Unknown = fmt.Errorf("%s: %s", why.Code, withoutGeneratedName(why.Message, one.Name)) //nolint:err113 // a message for people
	}
	return f
}

// withoutGeneratedName takes the random end of a dry run's pod out of a message, so that the same error reads the same.
func withoutGeneratedName(message, workload string) string {
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(workload)+`-[a-z0-9]{5}\b`).ReplaceAllString(message, workload)
}
