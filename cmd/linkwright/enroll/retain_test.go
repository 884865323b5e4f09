package enroll

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
)

// Rights on kinds that a base still holds stay in the role of their namespace, once, and only if the role does not grant them anyway.
func TestRetainKinds(t *testing.T) {
	mc := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "mc"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"delete"}},
		{APIGroups: []string{"policy.linkerd.io"}, Resources: []string{"servers"}, ResourceNames: []string{"a"}, Verbs: []string{"delete"}},
	}}
	got := retainKinds([]any{mc}, []object.Key{
		recordedAs("policy.linkerd.io", "Server", "mc"), recordedAs("policy", "PodDisruptionBudget", "mc"), recordedAs("networking.k8s.io", "NetworkPolicy", "mc"),
		recordedAs("networking.k8s.io", "NetworkPolicy", "mc"), recordedAs("networking.k8s.io", "NetworkPolicy", "elsewhere"),
	}, func(object.Key) bool { return true })
	if want := []string{"servers.policy.linkerd.io", "networkpolicies.networking.k8s.io"}; !slices.Equal(got, want) {
		t.Errorf("retained %v, want %v", got, want)
	}
	if len(mc.Rules) != 4 {
		t.Errorf("rules: %v", mc.Rules)
	}
	for _, r := range mc.Rules[2:] {
		if want := []string{"get", "list", "watch", "delete"}; !slices.Equal(r.Verbs, want) {
			t.Errorf("%v may be %v, want %v", r.Resources, r.Verbs, want)
		}
	}
}

// linkwright's account writes its inventories. What it lists there gives it no right that an overlay could not need: whoever has its token would
// otherwise wait for the next linkwright cluster add.
func TestRetainKindsGrantsOnlyOverlays(t *testing.T) {
	e := enrollment{f: &cli.Common{}}
	e.f.Overlays.Add(pflag.NewFlagSet("", pflag.ContinueOnError))
	var objects []any
	for _, ns := range []string{"mc", "linkerd", "kube-system", object.AccessNamespace} {
		objects = append(objects, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns}})
	}
	objects = append(objects, &rbacv1.ClusterRole{})
	got := retainKinds(objects, []object.Key{
		recordedAs("", "Secret", "linkerd"), recordedAs("", "Secret", "kube-system"), recordedAs("", "Secret", "mc"), recordedAs("apps", "Deployment", "mc"),
		recordedAs("rbac.authorization.k8s.io", "RoleBinding", "mc"), recordedAs("rbac.authorization.k8s.io", "ClusterRoleBinding", ""),
		recordedAs("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", ""), recordedAs("networking.k8s.io", "NetworkPolicy", "linkerd"),
		recordedAs("example.com", "Anything", "mc"), recordedAs("networking.k8s.io", "NetworkPolicy", "mc"),
	}, e.mayHold("mc"))
	if want := []string{"networkpolicies.networking.k8s.io"}; !slices.Equal(got, want) {
		t.Errorf("retained %v, want %v", got, want)
	}
}

func recordedAs(group, kind, ns string) object.Key {
	return object.Key{Group: group, Kind: kind, Namespace: ns, Name: "a"}
}
