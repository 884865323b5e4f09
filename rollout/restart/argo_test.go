package restart_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/rollout/restart"
)

// argoRollouts restarts an Argo Rollout by its own controller, once the kind is there and declared, and not when it is not declared any more. One without
// a template of its own is left alone, and counts for nothing.
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
	b.set("proxy.logLevel", `"two"`)
	b.progress("with an Argo Rollout", func(p rollout.Progress) bool { return p.Complete() && p.Total == before+1 })
	restarted := b.argoSettled(rollouts, b.inputs)
	if restarted.For == "" {
		b.Error("the Argo Rollout was not restarted")
	}
	b.leadAndLook()
	if again := b.argoSettled(rollouts, b.inputs); again != restarted {
		b.Errorf("another process restarted it again: %v and %v", restarted, again)
	}
	b.restful()
	if testbed.RealArgoRollouts() {
		b.argoPromoted(rollouts)
	}
	b.argoUndone(rollouts)

	b.argo = false
	b.must(b.hand().Pause(b.Context(), false))
	b.set("proxy.resources.cpu.request", `"30m"`)
	b.progress("without Argo Rollouts", func(p rollout.Progress) bool { return p.Complete() && p.Total == before })
}

func (b *bed) hand() restart.ByHand {
	b.Helper()
	hand, err := restart.NewByHand(b.config, "linkwright")
	b.must(err)
	return hand
}

// argoSettled waits until the Argo Rollout is healthy, and all its pods have the proxy of now. It returns what it was restarted for.
func (b *bed) argoSettled(rollouts dynamic.ResourceInterface, inputs string) (restarted rollout.Restarted) {
	b.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		o, err := rollouts.Get(ctx, "pay", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		w, ok := rollout.OfArgoRollout(o)
		restarted = w.Restarted
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
		last = fmt.Sprintf("%s, %d of %d pods are current, restarted for %q", w.State, current, len(pods.Items), restarted.For)
		return w.State == rollout.Settled && len(pods.Items) == 3 && current == 3, nil
	})
	if err != nil {
		b.Fatalf("the Argo Rollout is not healthy: %v, last %s", err, last)
	}
	return restarted
}

// argoPromoted has a canary whose steps wait for people: the rollout waits, too, and keeps its place.
func (b *bed) argoPromoted(rollouts dynamic.ResourceInterface) {
	b.Helper()
	before := b.complete().Total
	till, err := testbed.NewArgoRollout("till", 2, map[string]string{rollout.Reconcile: rollout.Auto})
	b.must(err)
	b.must(unstructured.SetNestedSlice(till.Object, []any{map[string]any{"setWeight": int64(50)}, map[string]any{"pause": map[string]any{}}}, "spec", "strategy", "canary", "steps"))
	_, err = rollouts.Create(b.Context(), till, metav1.CreateOptions{})
	b.must(err)
	b.argoState(rollouts, "till", rollout.Settled)
	b.set("proxy.logLevel", `"three"`)
	b.argoState(rollouts, "till", rollout.Paused)
	p := b.progress("a canary waits", func(p rollout.Progress) bool {
		return p.Why != nil && strings.Contains(p.Why.Message, "waits for its promotion")
	})
	if p.Restarting == 0 || p.Complete() {
		b.Errorf("a canary waits to be promoted: got %s", p.Encode())
	}
	all, _, err := b.hand().Unfinished(b.Context())
	if err != nil || !slices.ContainsFunc(all, func(u restart.Unfinished) bool { return u.Name == "till" }) {
		b.Errorf("what can be undone: %+v, %v", all, err)
	}
	b.leadAndLook() // another process waits as well
	b.progress("a canary waits still", func(p rollout.Progress) bool { return p.Restarting > 0 && !p.Complete() })
	_, err = rollouts.Patch(b.Context(), "till", types.MergePatchType, []byte(`{"status": {"pauseConditions": null, "currentStepIndex": 2}}`), metav1.PatchOptions{}, "status")
	b.must(err)
	b.progress("a canary was promoted", func(p rollout.Progress) bool { return p.Complete() && p.Total == before+1 })
	b.must(rollouts.Delete(b.Context(), "till", metav1.DeleteOptions{}))
	b.argoSettled(rollouts, b.inputs)
}

// argoState waits until an Argo Rollout is in a state.
func (b *bed) argoState(rollouts dynamic.ResourceInterface, name string, want rollout.State) {
	b.Helper()
	last := rollout.State("")
	err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		o, err := rollouts.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		w, _ := rollout.OfArgoRollout(o)
		last = w.State
		return last == want, nil
	})
	if err != nil {
		b.Fatalf("Argo Rollout %s is %s, want %s: %v", name, last, want, err)
	}
}

// argoUndone takes back a restart that is not finished: the former pods stay.
func (b *bed) argoUndone(rollouts dynamic.ResourceInterface) {
	b.Helper()
	before, err := b.client.CoreV1().Pods("bank").List(b.Context(), metav1.ListOptions{LabelSelector: "app=pay"})
	b.must(err)
	b.set("proxy.resources.cpu.request", `"100k"`) // no node has room for a new pod
	var left []restart.Unfinished
	err = wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		left, _, err = b.hand().Unfinished(ctx)
		left = slices.DeleteFunc(left, func(u restart.Unfinished) bool { return u.Kind != rollout.ArgoRollout })
		if len(left) == 0 || err != nil {
			return false, err
		}
		b.must(b.hand().Pause(ctx, true))
		err = b.hand().Undo(ctx, left[0])
		if apierrors.IsConflict(err) { // its controller wrote the status
			return false, nil
		}
		return err == nil, err
	})
	b.must(err)
	b.waits(reason.RolloutPaused)
	if restarted := b.argoSettled(rollouts, ""); restarted.For != left[0].Before.For {
		b.Errorf("restarted for %q, want %q as before", restarted.For, left[0].Before.For)
	}
	after, err := b.client.CoreV1().Pods("bank").List(b.Context(), metav1.ListOptions{LabelSelector: "app=pay"})
	b.must(err)
	kept := 0
	for _, p := range after.Items {
		if slices.ContainsFunc(before.Items, func(o corev1.Pod) bool { return o.UID == p.UID }) {
			kept++
		}
	}
	if kept == 0 {
		b.Error("no former pod is left after the restart was taken back")
	}
}
