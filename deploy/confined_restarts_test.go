package deploy_test

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/rollout"
)

// restartAttacks use the rights of a rollout for more than restarts.
func restartAttacks() (out []attack) {
	for _, kind := range restartable() {
		add := func(aim, verb, body string) {
			out = append(out, attack{aim + " in " + kind.Resource + " of others", kind, "default", "worker", "", verb, body})
		}
		add("run another image", "patch", `{spec: {template: {spec: {containers: [{name: c, image: thief}]}}}}`)
		add("restart and run another image", "patch", fmt.Sprintf(`{spec: {template: {metadata: {annotations: {%s: x}}, spec: {containers: [{name: c, image: thief}]}}}}`, rollout.RestartedFor))
		add("write another annotation of pods", "patch", `{spec: {template: {metadata: {annotations: {linkerd.io/inject: disabled}}}}}`)
		add("write a label of pods", "patch", `{spec: {template: {metadata: {labels: {thief: x}}}}}`)
		add("write an annotation", "patch", `{metadata: {annotations: {thief: x}}}`)
		add("delete what runs", "delete", "")
	}
	return append(out, attack{
		"have a Rollout take its template elsewhere", rollout.ArgoRollouts(), "default", "worker", "", "patch", `{spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: thief}}}`,
	})
}

// restartable are the kinds of workloads that linkwright restarts.
func restartable() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{resource("apps", "deployments"), resource("apps", "statefulsets"), resource("apps", "daemonsets"), rollout.ArgoRollouts()}
}

// restarts are what linkwright does to workloads of others.
func restarts() (out []attack) {
	for _, kind := range restartable() {
		out = append(out, attack{
			"restart one of " + kind.Resource, kind, "default", "worker", "", "patch",
			fmt.Sprintf(`{spec: {template: {metadata: {annotations: {%s: x, %s: "2026-01-01T00:00:00Z"}}}}}`, rollout.RestartedFor, rollout.RestartedAt),
		})
	}
	return out
}

// workers are workloads of others.
func (b *testEnv) workers() (out []*unstructured.Unstructured) {
	b.Helper()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		o := &unstructured.Unstructured{}
		b.must(yaml.Unmarshal(fmt.Appendf(nil, `{apiVersion: apps/v1, kind: %s, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: c}]}}}}`, kind), &o.Object))
		o.SetName("worker")
		o.SetNamespace("default")
		out = append(out, o)
	}
	b.must(testbed.InstallArgoRollouts(b.Context(), b.Cluster("west").Config))
	o, err := testbed.NewArgoRollout("worker", 0, nil)
	b.must(err)
	o.SetNamespace("default")
	return append(out, o)
}

// mayRestart returns a ClusterRole as where a rollout is declared, and more: also to delete. It is bound to the account.
func mayRestart() []*unstructured.Unstructured {
	role, binding := thing(rbacv1.GroupName+"/v1", "ClusterRole", "", nil), thing(rbacv1.GroupName+"/v1", "ClusterRoleBinding", "", nil)
	role.SetName("restarts")
	binding.SetName("restarts")
	role.Object["rules"] = []any{
		map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments", "statefulsets", "daemonsets"}, "verbs": []any{"get", "patch", "delete"}},
		map[string]any{"apiGroups": []any{rollout.ArgoRollouts().Group}, "resources": []any{rollout.ArgoRollouts().Resource}, "verbs": []any{"get", "patch", "delete"}},
		map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"create"}},
	}
	binding.Object["roleRef"] = map[string]any{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": "restarts"}
	binding.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "name": account, "namespace": namespace}}
	return []*unstructured.Unstructured{role, binding}
}

// createsNoPods: under the policies, the account creates pods as a dry run alone.
func (b *testEnv) createsNoPods(thief dynamic.Interface) {
	b.Helper()
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "thief"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "c"}}},
	}}
	pods := thief.Resource(resource("", "pods")).Namespace("default")
	if _, err := pods.Create(b.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		b.Errorf("create a pod as a dry run: %v", err)
	}
	_, err := pods.Create(b.Context(), pod, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "linkwright creates pods only as a dry run") {
		b.Errorf("create a pod: %v", err)
	}
}
