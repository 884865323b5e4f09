package state

import (
	"testing"

	"github.com/linkwright/linkwright/object"
)

// Only what was looked for, whole, and is not there, is absent.
func TestSaw(t *testing.T) {
	secret := object.Key{Kind: "Secret", Namespace: "linkerd", Name: "a"}
	role := object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "r"}
	tests := []struct {
		name  string
		watch object.Watch
		key   object.Key
		want  bool
	}{
		{"its namespace", object.Watch{Kind: "Secret", Namespace: "linkerd"}, secret, true},
		{"all namespaces", object.Watch{Kind: "Secret"}, secret, true},
		{"another namespace", object.Watch{Kind: "Secret", Namespace: "default"}, secret, false},
		{"its name", object.Watch{Kind: "Secret", Namespace: "linkerd", Names: []string{"b", "a"}}, secret, true},
		{"another name", object.Watch{Kind: "Secret", Namespace: "linkerd", Names: []string{"b"}}, secret, false},
		{"narrowed by a selector", object.Watch{Kind: "Secret", Namespace: "linkerd", Selector: "a=b"}, secret, false},
		{"another kind", object.Watch{Kind: "ConfigMap", Namespace: "linkerd"}, secret, false},
		{"another group", object.Watch{Group: "x", Kind: "Secret", Namespace: "linkerd"}, secret, false},
		{"another version", object.Watch{Version: "v9", Kind: "Secret", Namespace: "linkerd"}, secret, true},
		{"cluster-scoped", object.Watch{Group: role.Group, Kind: "ClusterRole"}, role, true},
		{"cluster-scoped by name", object.Watch{Group: role.Group, Kind: "ClusterRole", Names: []string{"r"}}, role, true},
		{"a namespace's objects for a cluster-scoped one", object.Watch{Group: role.Group, Kind: "ClusterRole", Namespace: "x"}, role, false},
	}
	for _, tt := range tests {
		cluster := Cluster{Reading: Read, Watches: []object.Watch{{Kind: "Other"}, tt.watch}}
		if got := cluster.Covers(tt.key); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
		if cluster.Reading = Unread; cluster.Covers(tt.key) {
			t.Errorf("%s: an unknown side saw it", tt.name)
		}
	}
	if (Cluster{Reading: Read}).Covers(secret) {
		t.Error("who looked for nothing saw something")
	}
	if !(Cluster{Reading: Simulated}).Covers(secret) || (Cluster{}).Covers(secret) {
		t.Error("a simulated side sees everything, an unknown one nothing")
	}
}
