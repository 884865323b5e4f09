package restart

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/survey"
)

// mostSingly is how many workloads are compared one by one, rather than all.
const mostSingly = 10

// view is what was found out about a cluster's workloads.
type view struct {
	inputs    string // what the injector reads
	detection api.Detection
	linkerd   string
	began     time.Time // when these inputs were first seen
	found     []rollout.Finding
	known     bool                 // found is of these inputs
	opened    map[string]namespace // the namespaces, when found was read
	stale     []rollout.Ref        // what is to be compared again
	expires   time.Time            // when what is unknown is compared again; zero: all is known
}

// of reports whether the view is of what a target's workloads are compared with now.
func (v *view) of(t Target) bool {
	return v.inputs == t.Inputs && v.detection == t.Policy.Detection && v.linkerd == t.Linkerd
}

// optedIn returns what was found of workloads that still opt in.
func (v *view) optedIn(live map[rollout.Ref]rollout.Workload, now map[string]namespace) []rollout.Finding {
	return slices.DeleteFunc(slices.Clone(v.found), func(f rollout.Finding) bool {
		return !live[f.Ref].OptIn.With(now[f.Namespace].Says)
	})
}

// outdatedBy reports whether namespaces changed so that all workloads must be compared again: one lets its workloads restart that did not, or has other
// settings of proxies. Pods may be older than that. A new namespace has only new pods.
func (v *view) outdatedBy(now map[string]namespace) bool {
	for name, n := range now {
		was, known := v.opened[name]
		if known && (n.Says == rollout.Auto && was.Says != rollout.Auto || n.Settings != was.Settings && v.hasIn(name)) {
			return true
		}
	}
	return false
}

func (v *view) hasIn(namespace string) bool {
	return slices.ContainsFunc(v.found, func(f rollout.Finding) bool { return f.Namespace == namespace })
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
	if err := w.conn.follow(ctx); err != nil {
		return err
	}
	namespaces := w.conn.watches.namespacesNow()
	again := w.view.stale
	if !w.view.expires.IsZero() && !now.Before(w.view.expires) {
		again = append(again, w.view.unknown()...)
	}
	if !w.view.known || len(again) > mostSingly || w.view.outdatedBy(namespaces) {
		return w.compareAll(ctx, namespaces)
	}
	w.view.stale = nil
	for _, ref := range again {
		if _, err := w.compareOne(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) compareAll(ctx context.Context, namespaces map[string]namespace) error {
	all, err := survey.Read(ctx, w.conn.clients.Client, w.view.options(rollout.Ref{}))
	if err != nil {
		return err
	}
	w.view.found = w.view.found[:0]
	for _, one := range all.Workloads {
		w.view.found = append(w.view.found, w.finding(one, namespaces))
	}
	w.view.known, w.view.opened, w.view.stale = true, namespaces, nil
	return ctx.Err()
}

// compareOne compares one workload again; nil: it has no meshed pods any more, or does not opt in.
func (w *worker) compareOne(ctx context.Context, ref rollout.Ref) (*rollout.Finding, error) {
	all, err := survey.Read(ctx, w.conn.clients.Client, w.view.options(ref))
	if err != nil {
		return nil, err
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
	return survey.Options{OptedIn: true, Only: only, Linkerd: v.linkerd, NoDryRun: v.detection == api.DetectByAnnotations}
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
