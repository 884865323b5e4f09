package inventory

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

const owner = object.DefaultOwner

var (
	west = object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}
	a    = object.Key{Kind: "Secret", Namespace: "x", Name: "a"}
	b    = object.Key{Kind: "Secret", Namespace: "x", Name: "b"}
	c    = object.Key{Group: "apps", Kind: "Deployment", Namespace: "x", Name: "c"}
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

// stored is a cluster that holds these inventories.
func stored(t *testing.T, owner string, list ...Inventory) object.Observation {
	t.Helper()
	var out object.Observation
	seen := out.Edit()
	for _, i := range list {
		o, err := i.Object(owner)
		if err != nil {
			t.Fatal(err)
		}
		seen.Put(o.Key, object.Written(o), o.Body)
	}
	return seen.Observation()
}

// written is an inventory as Read gives it.
func written(t *testing.T, i Inventory) Inventory {
	t.Helper()
	o, err := i.Object(owner)
	if err != nil {
		t.Fatal(err)
	}
	i.Was = object.Written(o)
	return i
}

func TestRoundTrip(t *testing.T) {
	base := Inventory{End: object.End{Cluster: "west"}, Commit: "0123", Term: 7}
	source := Inventory{End: west, Entries: []object.Key{a, b, c}}
	target := Inventory{End: object.End{Cluster: "west", Link: api.Pair{Source: "east", Target: "west"}}, Leaving: true, Since: noon, Entries: []object.Key{a}}
	got, err := Read(owner, stored(t, owner, source, target, base))
	if err != nil {
		t.Fatal(err)
	}
	want := []Inventory{written(t, base), written(t, target), written(t, source)}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y object.Record) bool { return x == y })); diff != "" {
		t.Errorf("Read: -want +got\n%s", diff)
	}
}

// What can be read is given beside what cannot.
func TestReadBesideDamaged(t *testing.T) {
	base, source := Inventory{End: object.End{Cluster: "west"}}, Inventory{End: west, Entries: []object.Key{a}}
	seen := stored(t, owner, source, base).Edit()
	for _, name := range []string{"linkwright.west.south", "linkwright.west.north"} {
		seen.Put(object.Key{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: name}, object.Record{UID: "x", Mark: object.Ours}, object.NewBody([]byte(`]`)))
	}
	got, err := Read(owner, seen.Observation())
	if len(got) != 2 || err == nil || !strings.Contains(err.Error(), "north") || strings.Index(err.Error(), "north") > strings.Index(err.Error(), "south") {
		t.Errorf("%v, %v", got, err)
	}
}

// The name and the bytes are a persisted format.
func TestObject(t *testing.T) {
	tests := []struct {
		owner, name, data string
		inventory         Inventory
	}{
		{
			owner, "linkwright.base", `{"version":1,"cluster":"west","commit":"0123","term":7}`,
			Inventory{End: object.End{Cluster: "west"}, Commit: "0123", Term: 7},
		},
		{
			"blue", "blue.west.east", `{"version":1,"cluster":"west","source":"west","target":"east","leaving":true,` +
				`"entries":[{"kind":"Secret","namespace":"x","name":"a"},{"group":"apps","kind":"Deployment","namespace":"x","name":"c"}]}`,
			Inventory{End: west, Leaving: true, Entries: []object.Key{a, c}},
		},
		{
			"blue", "blue.west.east", `{"version":1,"cluster":"west","source":"west","target":"east","leaving":true,"since":"2026-11-22T12:00:00Z",` +
				`"entries":[{"kind":"Secret","namespace":"x","name":"a"}]}`,
			Inventory{End: west, Leaving: true, Since: noon, Entries: []object.Key{a}},
		},
	}
	for _, tt := range tests {
		o, err := tt.inventory.Object(tt.owner)
		if err != nil {
			t.Fatal(err)
		}
		var cm struct {
			Metadata struct{ Name, Namespace string }
			Data     map[string]string
		}
		if err := json.Unmarshal(o.Body.Bytes(), &cm); err != nil {
			t.Fatal(err)
		}
		if cm.Metadata.Name != tt.name || cm.Metadata.Namespace != "linkwright-access" || o.Key.Name != tt.name || o.Phase != object.PhaseAccess {
			t.Errorf("%s: %+v", tt.name, cm.Metadata)
		}
		if diff := cmp.Diff(map[string]string{"inventory.json": tt.data}, cm.Data); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// Only ConfigMaps of our names in our namespace are inventories, and another installation's are not ours to read.
func TestReadSkips(t *testing.T) {
	seen := stored(t, "blue", Inventory{End: west}).Edit()
	for _, k := range []object.Key{
		{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: "kube-root-ca.crt"},
		{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: "linkwright-blue.base"},
		{Kind: "ConfigMap", Namespace: "default", Name: "linkwright.base"},
		{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-token"},
	} {
		seen.Put(k, object.Record{UID: "x"}, object.NewBody([]byte(`garbage`)))
	}
	if got, err := Read(owner, seen.Observation()); err != nil || len(got) > 0 {
		t.Errorf("Read: %v, %v", got, err)
	}
}

// What has the name of an inventory and cannot be understood is an error: nothing is known then.
func TestReadErrors(t *testing.T) {
	body := func(data string) object.Body {
		text, err := json.Marshal(map[string]any{"data": map[string]string{"inventory.json": data}})
		if err != nil {
			t.Fatal(err)
		}
		return object.NewBody(text)
	}
	good := `{"version":1,"cluster":"west","source":"west","target":"east"}`
	tests := []struct {
		name string
		mark object.Mark
		body object.Body
		want string
	}{
		{"as written", object.Ours, body(good), ""},
		{"without a mark", object.Unmarked, body(good), ""},
		{"another installation's", object.Theirs, body(good), ""},
		{"a copy", object.Copied, body(good), ""},
		{"a later version", object.Ours, body(`{"version":2,"cluster":"west","source":"west","target":"east"}`), "version 2"},
		{"no version", object.Ours, body(`{}`), "version 0"},
		{"of another end", object.Ours, body(`{"version":1,"cluster":"west","source":"west","target":"north"}`), ""},
		{"of a base", object.Ours, body(`{"version":1,"cluster":"west"}`), ""},
		{"of half a link", object.Ours, body(`{"version":1,"cluster":"west","source":"west"}`), "is missing"},
		{"of no cluster", object.Ours, body(`{"version":1,"source":"west","target":"east"}`), "is missing"},
		{"garbage", object.Ours, body(`]`), "inventory.json"},
		{"no data", object.Ours, object.NewBody([]byte(`{}`)), "inventory.json"},
		{"no object", object.Ours, object.NewBody([]byte(`]`)), "linkwright.west.east"},
		{"no body", object.Ours, object.Body{}, "linkwright.west.east"},
	}
	for _, tt := range tests {
		got, err := Read(owner, holding(Key(owner, west), object.Record{UID: "x", Mark: tt.mark}, tt.body))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || got != nil):
			t.Errorf("%s: %v, %v, want an error with %q", tt.name, got, err, tt.want)
		}
	}
}

func TestSettle(t *testing.T) {
	gone := func(keys ...object.Key) func(object.Key) bool {
		return func(k object.Key) bool { return slices.Contains(keys, k) }
	}
	tests := []struct {
		name                  string
		entries, wanted, dead []object.Key
		want                  []object.Key
	}{
		{"first", nil, []object.Key{c, a}, nil, []object.Key{a, c}},
		{"the same", []object.Key{a, c}, []object.Key{c, a}, nil, []object.Key{a, c}},
		{"one more", []object.Key{a}, []object.Key{a, b}, nil, []object.Key{a, b}},
		{"one less, still there", []object.Key{a, b}, []object.Key{a}, nil, []object.Key{a, b}},
		{"one less, gone", []object.Key{a, b}, []object.Key{a}, []object.Key{b}, []object.Key{a}},
		{"wanted though gone", []object.Key{a, b}, []object.Key{a, b}, []object.Key{b}, []object.Key{a, b}},
		{"leaving", []object.Key{a, b}, nil, []object.Key{a}, []object.Key{b}},
		{"left", []object.Key{a, b}, nil, []object.Key{a, b}, nil},
	}
	for _, tt := range tests {
		before := slices.Clone(tt.entries)
		got := Inventory{End: west, Leaving: true, Entries: tt.entries}.Settle(tt.wanted, gone(tt.dead...))
		if diff := cmp.Diff(tt.want, got.Entries); diff != "" && len(tt.want)+len(got.Entries) > 0 {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
		if !slices.Equal(before, tt.entries) || !got.Leaving || got.End != west {
			t.Errorf("%s: Settle changed more than the entries", tt.name)
		}
		for _, k := range got.Entries {
			if !got.Has(k) {
				t.Errorf("%s: it does not have %s", tt.name, k)
			}
		}
	}
}

func TestSame(t *testing.T) {
	i := Inventory{End: west, Entries: []object.Key{a, b}}
	for name, change := range map[string]func(*Inventory){
		"end":     func(i *Inventory) { i.End.Cluster = "east" },
		"leaving": func(i *Inventory) { i.Leaving = true },
		"commit":  func(i *Inventory) { i.Commit = "1" },
		"term":    func(i *Inventory) { i.Term = 1 },
		"since":   func(i *Inventory) { i.Since = noon },
		"entries": func(i *Inventory) { i.Entries = i.Entries[:1] },
		"linkerd": func(i *Inventory) { i.Linkerd.Namespace = "mesh" },
	} {
		other := i
		if change(&other); i.Same(other) {
			t.Errorf("another %s is the same", name)
		}
	}
	other := i
	other.Was, other.Entries = object.Record{UID: "x"}, slices.Clone(i.Entries)
	if !i.Same(other) {
		t.Error("what stands around it counts")
	}
}

// When an unlink began is written once, in UTC and whole seconds, and forgotten when its end is declared again.
func TestLeave(t *testing.T) {
	zone := time.FixedZone("", 3600)
	begun := Inventory{End: west}.Leave(noon.Add(700 * time.Millisecond).In(zone))
	if !begun.Leaving || begun.Since != noon {
		t.Errorf("Leave: %t since %s", begun.Leaving, begun.Since)
	}
	if later := begun.Leave(noon.Add(time.Hour)); !later.Same(begun) {
		t.Errorf("Leave again: since %s", later.Since)
	}
	older := Inventory{End: west, Leaving: true}
	if later := older.Leave(noon); !later.Same(older) {
		t.Errorf("Leave of what an earlier release began: since %s", later.Since)
	}
	begun.Conditions = conditionsOf(noon, "Stalled", "True", "Forbidden")
	if stays := begun.Stay(); !stays.Same(Inventory{End: west}) {
		t.Errorf("Stay: %t since %s", stays.Leaving, stays.Since)
	}
}

// However a moment is spelled, it is kept as we write it, or not at all.
func TestSinceAsRead(t *testing.T) {
	for spelled, want := range map[string]time.Time{
		`"leaving":true,"since":"2026-11-22T13:00:00.9+01:00"`: noon,
		`"leaving":true,"since":"2026-11-22T12:00:00Z"`:        noon,
		`"leaving":true`:                                     {},
		`"since":"2026-11-22T12:00:00Z"`:                     {},
		`"leaving":true,"since":"9999-12-31T23:59:59-01:00"`: {},
		`"leaving":true,"since":"0000-12-31T00:00:00Z"`:      {},
	} {
		data := `{"version":1,"cluster":"west",` + spelled + `}`
		got, err := Read(owner, recordOf(Key(owner, object.End{}), object.Ours, wrap(t, dataKey, data)))
		if err != nil || len(got) != 1 || got[0].Since != want {
			t.Errorf("Read(%s): %v, %v, want %s", data, got, err, want)
		}
	}
}

// Names of two ends are never one name, whatever the names of clusters are.
func TestKeysDiffer(t *testing.T) {
	ends := map[object.Key]object.End{}
	names := []api.ClusterName{"a", "b", "a-b", "base", "ab"}
	add := func(e object.End) {
		k := Key(owner, e)
		if other, ok := ends[k]; ok && other.Link != e.Link {
			t.Errorf("%s and %s are both %s", other, e, k)
		}
		ends[k] = e
	}
	add(object.End{Cluster: "a"})
	for _, s := range names {
		for _, to := range names {
			if s != to {
				add(object.End{Cluster: s, Link: api.Pair{Source: s, Target: to}})
			}
		}
	}
}

func TestRoundTripOfAnything(t *testing.T) {
	roundTrip := func(leaving bool, names []string) bool {
		i := Inventory{End: west, Leaving: leaving}
		for _, n := range names {
			i.Entries = append(i.Entries, object.Key{Kind: "Secret", Name: strings.ToValidUTF8(n, "")})
		}
		i = i.Settle(nil, func(object.Key) bool { return false })
		got, err := Read(owner, stored(t, owner, i))
		return err == nil && len(got) == 1 && got[0].Same(i)
	}
	if err := quick.Check(roundTrip, nil); err != nil {
		t.Error(err)
	}
}

// Whatever the order; a key too many, too few or twice is not what it lists, and is settled.
func TestLists(t *testing.T) {
	for wanted, lists := range map[string]bool{"abc": true, "cab": true, "aab": false, "ab": false, "abd": false, "abcd": false, "": false} {
		var objects []object.Object
		var keys []object.Key
		for _, name := range wanted {
			k := object.Key{Kind: "Secret", Name: string(name)}
			objects, keys = append(objects, object.Object{Key: k}), append(keys, k)
		}
		i := Inventory{Entries: []object.Key{{Kind: "Secret", Name: "a"}, {Kind: "Secret", Name: "b"}, {Kind: "Secret", Name: "c"}}}
		settled := i.Settle(keys, func(object.Key) bool { return true })
		if i.Lists(objects) != lists || settled.Same(i) != lists || !settled.Lists(objects) && wanted != "aab" {
			t.Errorf("%q: lists %v, want %v; settled: %v", wanted, i.Lists(objects), lists, settled.Entries)
		}
	}
}

// Only the annotation on the inventory of the base, which is ours, pauses a cluster.
func TestPaused(t *testing.T) {
	base, link := Key("linkwright", object.End{}), Key("linkwright", object.End{Link: api.Pair{Source: "west", Target: "east"}})
	for name, tt := range map[string]struct {
		key    object.Key
		record object.Record
		want   bool
	}{
		"the base":       {base, object.Record{Mark: object.Ours, Paused: true}, true},
		"not annotated":  {base, object.Record{Mark: object.Ours}, false},
		"of others":      {base, object.Record{Paused: true}, false},
		"of a link":      {link, object.Record{Mark: object.Ours, Paused: true}, false},
		"of other owner": {Key("blue", object.End{}), object.Record{Mark: object.Ours, Paused: true}, false},
	} {
		if got := Paused("linkwright", holding(tt.key, tt.record, object.Body{})); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
