package inventory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Whoever wrote entries in another order, or twice: what is searched for in them is found, and stands there once.
func TestEntriesOutOfOrder(t *testing.T) {
	for _, written := range []string{"\n", ""} { // not as we write it, and as we do
		data := `{"version":1,"cluster":"west","source":"west","target":"east","entries":[` + written +
			`{"kind":"Secret","namespace":"x","name":"b"},{"group":"apps","kind":"Deployment","namespace":"x","name":"c"},{"kind":"Secret","namespace":"x","name":"b"},{"kind":"Secret","namespace":"x","name":"a"}]}`
		got, err := Read(owner, recordOf(Key(owner, west), object.Ours, wrap(t, dataKey, data)))
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if e := got[0].Entries; len(e) != 3 || !slices.IsSortedFunc(e, object.Key.Compare) || !got[0].Has(a) || !got[0].Has(b) || !got[0].Has(c) {
			t.Errorf("read as %v", e)
		}
	}
}

// The inventory of one end is one that is ours, can be read, and describes that end.
func TestOf(t *testing.T) {
	inv := Inventory{End: west, Entries: []object.Key{a}}
	if got, ok := Of(owner, west, stored(t, owner, inv)); !ok || !got.Same(inv) {
		t.Errorf("it is %+v, %t", got, ok)
	}
	o, err := inv.Object(owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []object.Mark{object.Unmarked, object.Theirs, object.Copied} {
		if _, ok := Of(owner, west, recordOf(o.Key, mark, o.Body.Bytes())); ok {
			t.Errorf("one that is %s is taken for ours", mark)
		}
	}
	other := object.End{Cluster: "east", Link: west.Link}
	if _, ok := Of(owner, other, stored(t, owner, inv)); ok {
		t.Error("that of the other end is taken for it: it has the same name")
	}
	if _, ok := Of(owner, west, recordOf(o.Key, object.Ours, []byte(`{}`))); ok {
		t.Error("one that cannot be read is found")
	}
}

// A record that is not ours is none, whatever it says.
func TestForeignRecord(t *testing.T) {
	key := RecordKey(owner, "here")
	for _, mark := range []object.Mark{object.Unmarked, object.Theirs, object.Copied} {
		_, err := ReadRecord(key, recordOf(key, mark, wrap(t, fleetKey, `{"version":1}`)))
		if err == nil || !strings.Contains(err.Error(), "rename or delete it") {
			t.Errorf("%s: %v", mark, err)
		}
	}
}

// Pending cleanups are in order, and one that is added again keeps its age. What they are added to stays as it was.
func TestPending(t *testing.T) {
	pair := func(target api.ClusterName) api.Pair { return api.Pair{Source: "west", Target: target} }
	was := make([]Pending, 1, 8) // with room: an append would write behind it
	was[0] = Pending{"west", "north", noon}
	k := KnownCluster{UID: "1", Pending: was}
	later := k.AddPending(noon.Add(time.Hour+time.Millisecond), pair("south"), pair("north"), pair("east"))
	want := []Pending{{"west", "east", noon.Add(time.Hour)}, {"west", "north", noon}, {"west", "south", noon.Add(time.Hour)}}
	if diff := cmp.Diff(want, later.Pending); diff != "" {
		t.Errorf("AddPending: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]Pending{{"west", "north", noon}, {}, {}}, was[:3]); diff != "" {
		t.Errorf("what it was called on: -want +got\n%s", diff)
	}
	if rest := later.Without([]api.Pair{pair("east"), pair("south")}).Pending; !slices.Equal(rest, was) {
		t.Errorf("without two: %v", rest)
	}
	if rest := k.Without([]api.Pair{pair("north")}).Pending; rest != nil {
		t.Errorf("without any: %v", rest)
	}
}
