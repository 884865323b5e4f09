package survey

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/rollout"
)

// compare compares the workload's pods with one that would be created now.
func (r *reader) compare(ctx context.Context, w *workload) Workload {
	out := Workload{Kind: w.kind, Namespace: w.namespace, Name: w.name, Pods: len(w.pods), OptsIn: r.optsIn(w), Live: w.live}
	differences, err := r.comparison(ctx, w)
	for i := 0; i < len(w.pods) && err == nil; i++ {
		var found []string
		if found, err = differences(w.pods[i]); len(found) == 0 {
			continue
		}
		if out.Outdated++; out.Differences == nil {
			out.Differences = found
		}
	}
	if err != nil {
		out.Outdated, out.Differences, out.Err = 0, nil, err
	}
	return out
}

// comparison returns how to compare a pod of the workload with one that would be created now.
func (r *reader) comparison(ctx context.Context, w *workload) (func(*corev1.Pod) ([]string, error), error) {
	if r.NoDryRun {
		return r.byAnnotations(w)
	}
	pod := rollout.DryRunPod(w.namespace, w.name, w.template, w.claims)
	next, err := r.client.Core.Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case apierrors.IsForbidden(err) && r.Linkerd != "":
		return r.byAnnotations(w)
	case err != nil:
		return nil, err
	case !rollout.HasProxy(next):
		return nil, ErrNoProxy
	}
	return func(pod *corev1.Pod) ([]string, error) { return rollout.Differences(pod, next), nil }, nil
}

// byAnnotations compares a pod without a dry run: by its annotations, and by values that have one place in it.
func (r *reader) byAnnotations(w *workload) (func(*corev1.Pod) ([]string, error), error) {
	if rollout.HasProxy(&corev1.Pod{Spec: w.template.Spec}) { // injected by hand: a restart changes nothing
		return func(*corev1.Pod) ([]string, error) { return nil, nil }, nil
	}
	current, err := r.current()
	return func(pod *corev1.Pod) ([]string, error) { return current.Differences(pod, r.annotations[w.namespace]) }, err
}

// readCurrent reads what the injector would write into annotations now.
func (r *reader) readCurrent(ctx context.Context) (rollout.Current, error) {
	maps := r.client.Core.ConfigMaps(r.Linkerd)
	config, err := maps.Get(ctx, linkerd.ConfigName, metav1.GetOptions{})
	if err != nil {
		return rollout.Current{}, err
	}
	roots, err := maps.Get(ctx, linkerd.TrustRoots, metav1.GetOptions{})
	if err != nil {
		return rollout.Current{}, err
	}
	return rollout.CurrentOf(config.Data[linkerd.ValuesKey], roots.Data[linkerd.TrustRootsKey])
}
