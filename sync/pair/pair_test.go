package pair

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
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
		side := Side{Known: true, Looked: []object.Watch{{Kind: "Other"}, tt.watch}}
		if got := side.Saw(tt.key); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
		if side.Known = false; side.Saw(tt.key) {
			t.Errorf("%s: an unknown side saw it", tt.name)
		}
	}
	if (Side{Known: true}).Saw(secret) {
		t.Error("who looked for nothing saw something")
	}
	if !(Side{Known: true, Everything: true}).Saw(secret) || (Side{Everything: true}).Saw(secret) {
		t.Error("a simulated side sees everything, an unknown one nothing")
	}
}

func TestCredential(t *testing.T) {
	key := object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-token"}
	view := func(uid string, mark object.Mark, body string) View {
		v := View{Source: Side{Known: true, Facts: linkerd.Facts{UID: uid}}, Target: Side{Known: true}}
		put(&v.Target.Seen, key, object.Record{UID: "x", Mark: mark}, object.NewBody([]byte(body)))
		return v
	}
	const filled = `{"data":{"token":"c2VjcmV0"}}` // "secret"
	for name, v := range map[string]View{
		"not seen":         view("u", object.Ours, ""),
		"not filled":       view("u", object.Ours, `{"data":{}}`),
		"empty":            view("u", object.Ours, `{"data":{"token":""}}`),
		"without our mark": view("u", object.Unmarked, filled),
		"somebody else's":  view("u", object.Theirs, filled),
		"a copy":           view("u", object.Copied, filled),
		"unknown target":   {Source: Side{Known: true}},
	} {
		if got, err := v.Credential(key); got != nil || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	first, err := view("u", object.Ours, filled).Credential(key)
	if err != nil || string(first.Token.Bytes()) != "secret" {
		t.Fatalf("filled: %v, %v", first, err)
	}
	again, _ := view("u", object.Ours, filled).Credential(key)
	other, _ := view("another source", object.Ours, filled).Credential(key)
	if first.Print != again.Print || first.Print == other.Print || len(first.Print) != 12 {
		t.Errorf("prints: %s, %s, of another source %s", first.Print, again.Print, other.Print)
	}
	for what, api := range map[string]linkerd.Endpoint{"address": {Server: "https://b", CA: "ca"}, "CA": {Server: "https://a", CA: "cb"}} {
		v := view("u", object.Ours, filled)
		v.Target.Facts.API = linkerd.Endpoint{Server: "https://a", CA: "ca"}
		was, _ := v.Credential(key)
		v.Target.Facts.API = api
		if is, _ := v.Credential(key); is.Print == was.Print || string(is.Token.Bytes()) != "secret" {
			t.Errorf("another %s of the target: print %s, before %s", what, is.Print, was.Print)
		}
	}
	_, err = view("u", object.Ours, `{"data":{"token":"c2VjcmV0!"},"type":7}`).Credential(key)
	if err == nil || strings.Contains(err.Error(), "c2VjcmV0") || strings.Contains(err.Error(), "secret ") {
		t.Errorf("no Secret: %v", err)
	}
}
