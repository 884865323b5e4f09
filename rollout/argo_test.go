package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An Argo Rollout is what its phase says, once its controller saw its newest version. One without a template of its own is left out.
func TestOfArgoRollout(t *testing.T) {
	for name, tt := range map[string]struct {
		phase, observed string
		want            State
	}{
		"healthy":          {"Healthy", "3", Settled},
		"not observed":     {"Healthy", "2", Progressing},
		"never observed":   {"", "", Progressing},
		"progressing":      {"Progressing", "3", Progressing},
		"paused":           {"Paused", "3", Paused},
		"degraded":         {"Degraded", "3", Failed},
		"of a newer Argo":  {"Fine", "3", Progressing},
		"an older version": {"Degraded", "2", Progressing},
	} {
		o := argoObject()
		o.Object["status"] = map[string]any{
			"phase": tt.phase, "observedGeneration": tt.observed, "availableReplicas": int64(2), "updatedReplicas": int64(3), "currentPodHash": "5d7f", "stableRS": "6c9d",
		}
		w, ok := OfArgoRollout(o)
		done := map[bool]int{true: 5}[tt.observed == "3"]
		if !ok || w.State != tt.want || w.Done != done || w.OptIn != Auto || w.Restarted.For != "digest" || w.String() != "Rollout shop/pay" || len(w.Pods.Spec.Containers) != 1 {
			t.Errorf("%s: got %+v %t", name, w, ok)
		}
		if diff := cmp.Diff([]string{"5d7f", "6c9d"}, w.Hashes); diff != "" {
			t.Errorf("%s: hashes: -want +got\n%s", name, diff)
		}
	}
	retried := argoObject()
	retried.Object["status"] = map[string]any{"phase": "Degraded", "message": "RolloutAborted: Rollout aborted update to revision 2", "observedGeneration": "3"}
	if w, _ := OfArgoRollout(retried); w.State != Progressing {
		t.Errorf("a new template after one that was aborted: got %s", w.State)
	}
	both := argoObject()
	_ = unstructured.SetNestedMap(both.Object, map[string]any{"kind": "Deployment", "name": "pay"}, "spec", "workloadRef")
	if w, ok := OfArgoRollout(both); ok {
		t.Errorf("a workloadRef beside a template: got %+v", w)
	}
	elsewhere := argoObject()
	elsewhere.Object["spec"] = map[string]any{"workloadRef": map[string]any{"kind": "Deployment", "name": "pay"}}
	broken := argoObject()
	broken.Object["spec"] = map[string]any{"template": "x"}
	for _, o := range []*unstructured.Unstructured{elsewhere, broken, {}} {
		if w, ok := OfArgoRollout(o); ok || w.Kind != "" {
			t.Errorf("%v: got %+v", o.Object["spec"], w)
		}
	}
}

func argoObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "pay", "generation": int64(3)},
		"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{Reconcile: Auto, RestartedFor: "digest"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "app"}}},
		}},
	}}
}
