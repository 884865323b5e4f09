package enroll

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

// Rights on kinds that a base still holds stay in the role of their namespace, once, and only if the role does not grant them anyway.
func TestRetainKinds(t *testing.T) {
	mc := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "mc"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"delete"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a"}, Verbs: []string{"delete"}},
	}}
	wide := &rbacv1.ClusterRole{}
	key := func(group, kind, ns, name string) object.Key {
		return object.Key{Group: group, Kind: kind, Namespace: ns, Name: name}
	}
	got := retainKinds([]any{mc, wide}, []object.Key{
		key("", "Secret", "mc", "b"), key("", "Service", "mc", "a"), key("networking.k8s.io", "NetworkPolicy", "mc", "a"),
		key("networking.k8s.io", "NetworkPolicy", "mc", "b"), key("networking.k8s.io", "NetworkPolicy", "elsewhere", "c"), key("scheduling.k8s.io", "PriorityClass", "", "a"),
	})
	if want := []string{"secrets", "networkpolicies.networking.k8s.io", "priorityclasses.scheduling.k8s.io"}; !slices.Equal(got, want) {
		t.Errorf("retained %v, want %v", got, want)
	}
	if len(mc.Rules) != 4 || len(wide.Rules) != 1 || !slices.Contains(wide.Rules[0].Verbs, "delete") {
		t.Errorf("rules: %v, %v", mc.Rules, wide.Rules)
	}
}
