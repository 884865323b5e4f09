package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// The record shows each removed link once, for a week, and not more than it can hold. It survives being written and read.
func TestRemovedLinks(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 7, time.UTC)
	east, north := api.Pair{Source: "west", Target: "east"}, api.Pair{Source: "west", Target: "north"}
	var r Record
	r.AddRemoved("a", noon, east)
	r.AddRemoved("b", noon.Add(time.Hour), north, east)
	o, err := r.Object(object.DefaultOwner, "linkwright")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(o.Key, holding(o.Key, object.Written(o), o.Body))
	if err != nil {
		t.Fatal(err)
	}
	at := noon.Add(time.Hour).Truncate(time.Second)
	want := []RemovedLink{{"west", "east", "b", at}, {"west", "north", "b", at}}
	if diff := cmp.Diff(want, got.RemovedLinks(noon.Add(2*time.Hour))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if left := got.RemovedLinks(noon.Add(8 * 24 * time.Hour)); len(left) != 0 {
		t.Errorf("after a week: %v", left)
	}
	for i := range 2 * mostRemoved {
		r.AddRemoved("c", noon.Add(time.Duration(i)*time.Hour/4), api.Pair{Source: "west", Target: api.ClusterName(time.Duration(i).String())})
	}
	if len(r.Removed) != mostRemoved || r.Removed[mostRemoved-1].Target != "199ns" {
		t.Errorf("%d are kept, the last is %v", len(r.Removed), r.Removed[len(r.Removed)-1])
	}
}
