package restart_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/restart"
)

// argoRollouts restarts a Rollout by its own controller, once the kind is there and declared. One without a template is left alone, and counts for nothing.
func (b *bed) argoRollouts() {
	b.Helper()
	b.argo = true
	b.target(nil) // before the kind is there
	b.set("proxy.logLevel", `"one"`)
	before := b.complete().Total
	stop, err := testbed.StartArgoRollouts(b.Context(), b.cluster)
	b.must(err)
	defer func() { b.must(stop()) }()
	client, err := dynamic.NewForConfig(b.config)
	b.must(err)
	rollouts := client.Resource(rollout.ArgoRollouts()).Namespace("bank")
	pay, err := testbed.NewArgoRollout("pay", 3, map[string]string{rollout.Reconcile: rollout.Auto})
	b.must(err)
	elsewhere := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": pay.GetAPIVersion(), "kind": pay.GetKind(), "metadata": map[string]any{"name": "elsewhere"},
		"spec": map[string]any{"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "replicas": int64(0)},
	}}
	for _, o := range []*unstructured.Unstructured{pay, elsewhere} {
		_, err = rollouts.Create(b.Context(), o, metav1.CreateOptions{})
		b.must(err)
	}
	b.argoSettled(rollouts, "")
	time.Sleep(time.Second) // Argo Rollouts takes a pod of the same second as a restart for a new one

	b.set("proxy.logLevel", `"two"`)
	p := b.progress("with a Rollout", func(p rollout.Progress) bool { return p.Complete() && p.Total == before+1 })
	restarted := b.argoSettled(rollouts, b.inputs)
	if restarted == "" {
		b.Errorf("restartAt is empty: %s", p.Encode())
	}
	b.lead()
	b.complete()
	if again := b.argoSettled(rollouts, b.inputs); again != restarted {
		b.Errorf("another process restarted it again: at %s and %s", restarted, again)
	}
	b.argoUndone(rollouts)
}

// argoSettled waits until the Rollout is healthy, and all its pods have the proxy of now. It returns when it was restarted.
func (b *bed) argoSettled(rollouts dynamic.ResourceInterface, inputs string) (restartAt string) {
	b.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		o, err := rollouts.Get(ctx, "pay", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		w, _, ok := rollout.OfArgoRollout(o)
		restartAt, _, _ = unstructured.NestedString(o.Object, "spec", "restartAt")
		pods, err := b.client.CoreV1().Pods("bank").List(ctx, metav1.ListOptions{LabelSelector: "app=pay"})
		if err != nil || !ok {
			return false, err
		}
		current := 0
		for i := range pods.Items {
			for _, v := range pods.Items[i].Spec.Containers[0].Env {
				if v.Name == "LINKERD2_PROXY_LOG" && (inputs == "" || strings.Contains(inputs, v.Value)) {
					current++
				}
			}
		}
		last = fmt.Sprintf("%s, %d of %d pods are current, restartAt %q", w.State, current, len(pods.Items), restartAt)
		return w.State == rollout.Settled && len(pods.Items) == 3 && current == 3, nil
	})
	if err != nil {
		b.Fatalf("the Rollout is not healthy: %v, last %s", err, last)
	}
	return restartAt
}

// argoUndone takes back a restart that has replaced some pods.
func (b *bed) argoUndone(rollouts dynamic.ResourceInterface) {
	b.Helper()
	b.set("proxy.resources.cpu.request", `"100k"`) // no node has room for the first new pod
	hand, err := restart.NewByHand(b.config, "linkwright")
	b.must(err)
	var left []restart.Unfinished
	err = wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		all, err := hand.Unfinished(ctx)
		left = left[:0]
		for _, u := range all {
			if u.Kind == rollout.ArgoRollout {
				left = append(left, u)
			}
		}
		return len(left) == 1, err
	})
	b.must(err)
	b.must(hand.Pause(b.Context(), true))
	b.must(hand.Undo(b.Context(), left[0]))
	b.waits(reason.RolloutPaused)
	o, err := rollouts.Get(b.Context(), "pay", metav1.GetOptions{})
	b.must(err)
	if _, has, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "restartAt"); has || o.GetAnnotations()[rollout.RestartedFor] != "" {
		b.Errorf("a restart that was taken back: %v %v", o.Object["spec"], o.GetAnnotations())
	}
}
