package survey

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/rollout"
)

// compare compares the workload's pods with one that would be created now.
func (r *reader) compare(ctx context.Context, w *workload) Workload {
	out := Workload{Kind: w.kind, Namespace: w.namespace, Name: w.name, Pods: len(w.pods), OptsIn: r.optsIn(w), Live: w.live}
	differences, next, err := r.next(ctx, w)
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
		return out
	}
	out.Next = next
	return out
}

// next returns how to compare a pod of the workload with the current proxy, and the fingerprint of that.
func (r *reader) next(ctx context.Context, w *workload) (differences func(*corev1.Pod) ([]string, error), fingerprint string, err error) {
	if r.current != nil {
		namespace := r.annotations[w.namespace]
		return func(pod *corev1.Pod) ([]string, error) { return r.current.Differences(pod, namespace) },
			r.current.Fingerprint(w.template.Annotations, namespace), nil
	}
	pod := rollout.DryRunPod(w.namespace, w.name, w.template, w.claims)
	next, err := r.client.Core.Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil && !rollout.HasProxy(next) {
		err = ErrNoProxy
	}
	if err != nil {
		return nil, "", err
	}
	return func(pod *corev1.Pod) ([]string, error) { return rollout.Differences(pod, next), nil }, rollout.Fingerprint(next), nil
}

// readCurrent reads what the injector would write into annotations now.
func (r *reader) readCurrent(ctx context.Context, namespace string) error {
	maps := r.client.Core.ConfigMaps(namespace)
	config, err := maps.Get(ctx, linkerd.ConfigName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	roots, err := maps.Get(ctx, linkerd.TrustRoots, metav1.GetOptions{})
	if err != nil {
		return err
	}
	current, err := rollout.CurrentOf(config.Data[linkerd.ValuesKey], roots.Data[linkerd.TrustRootsKey])
	r.current = &current
	return err
}
