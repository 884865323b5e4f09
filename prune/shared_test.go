package prune

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// What another end wants is struck off where it is recorded too often, and stays.
func TestStruckOff(t *testing.T) {
	north := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}
	in := input(source, perLink(), linkerd.Mirror{})
	in.Recorded = append(in.Recorded, inventory.Inventory{End: north, Entries: sorted(mirrorSecret)})
	in.Wanted[north] = object.Wanted{End: north, Objects: []object.Object{{Key: mirrorSecret}}}
	v := Select(in, answer(settled()))[0]
	if v.End != source || v.Next.Has(mirrorSecret) || !v.Next.Has(planeSecret) {
		t.Errorf("%s: next %v", v.End, v.Next.Entries)
	}
}
