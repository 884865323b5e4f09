package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
)

func TestUnite(t *testing.T) {
	secret := object.Watch{Version: "v1", Kind: "Secret", Namespace: "links"}
	with := func(change func(*object.Watch)) object.Watch {
		w := secret
		change(&w)
		return w
	}
	whole := with(func(w *object.Watch) { w.Depth = object.Whole })
	named := with(func(w *object.Watch) { w.Names = []string{"a", "b", "a"} })
	wholeNamed := with(func(w *object.Watch) { w.Names, w.Depth = []string{"b"}, object.Whole })
	labelled := with(func(w *object.Watch) { w.Selector, w.Depth = "x", object.Metadata })
	everywhere := with(func(w *object.Watch) { w.Namespace = "" })
	config := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: "links"}

	tests := []struct {
		name string
		in   []object.Watch
		want []string
	}{
		{"the deepest of the same counts", []object.Watch{secret, whole, secret}, []string{"Secret in namespace links depth 2"}},
		{"a name is read once", []object.Watch{named, named}, []string{"Secret a in namespace links depth 0", "Secret b in namespace links depth 0"}},
		{"a list shows names", []object.Watch{named, secret}, []string{"Secret in namespace links depth 0"}},
		{"but not deeper than it is", []object.Watch{wholeNamed, named, secret}, []string{"Secret b in namespace links depth 2", "Secret in namespace links depth 0"}},
		{"nor where it is narrowed", []object.Watch{named, labelled}, []string{
			"Secret in namespace links depth 1, x", "Secret a in namespace links depth 0", "Secret b in namespace links depth 0",
		}},
		{"all namespaces show one", []object.Watch{secret, everywhere, labelled}, []string{"Secret in namespace links depth 1, x", "Secret depth 0"}},
		{"every version counts where one watch wants that", []object.Watch{secret, with(func(w *object.Watch) { w.Versions = true })}, []string{
			"Secret in namespace links depth 0, versions",
		}},
		{"a judged name is not hidden by a deeper list", []object.Watch{whole, with(func(w *object.Watch) { w.Names, w.Health = []string{"b"}, true })}, []string{
			"Secret b in namespace links depth 2, judged", "Secret in namespace links depth 2",
		}},
		{"kinds are kinds", []object.Watch{config, secret}, []string{"ConfigMap in namespace links depth 0", "Secret in namespace links depth 0"}},
	}
	for _, tt := range tests {
		var got []string
		for _, s := range mergeScopes(tt.in) {
			text := s.String() + " depth " + string('0'+rune(s.depth))
			if s.selector != "" {
				text += ", " + s.selector
			}
			if s.versions {
				text += ", versions"
			}
			if s.health {
				text += ", judged"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}
