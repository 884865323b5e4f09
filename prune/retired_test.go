package prune

import (
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Secrets of tokens that a rotation retires go, however many there are; a mark to keep holds them all the same.
func TestRetiredIsNotGuarded(t *testing.T) {
	in := input(target, nil, linkerd.Mirror{})
	token := object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-1"}
	record(&in.Observation, token, ours(token))
	in.Recorded = []inventory.Inventory{{End: target, Entries: []object.Key{token}}}
	in.Desired[target] = object.Desired{End: target}
	in.Removal = denied()
	if refused := Denials(in); refused[target] == nil {
		t.Fatal("over a limit nothing is refused")
	}
	in.Retired = map[object.Key]bool{token: true}
	if refused := Denials(in); refused[target] != nil {
		t.Errorf("a retired token: %v", refused[target])
	}
	if v := Select(in, nil); len(v) != 1 || len(v[0].Changes) != 1 {
		t.Errorf("a retired token does not go: %+v", v)
	}
	kept := in.Observation.Record(token)
	kept.PruneDisabled = true
	in.Removal = nil
	record(&in.Observation, token, kept)
	if refused := Denials(in); refused[target] == nil || refused[target].Code != "PruneDisabled" {
		t.Errorf("a retired token with a mark to keep: %v", refused[target])
	}
}
