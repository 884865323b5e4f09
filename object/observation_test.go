package object

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seenObject is an object as an observation tells of it.
type seenObject struct {
	UID, Body string
}

// collected is an observation by everything that it answers, which must agree.
func collected(t *testing.T, o Observation) map[Key]seenObject {
	t.Helper()
	out := map[Key]seenObject{}
	var keys, bare []Key
	for k, r := range o.Records() {
		body, ok := o.Body(k)
		if o.Record(k) != r || ok == body.IsZero() {
			t.Errorf("%s: Record %+v, Body %t, Records %+v", k, o.Record(k), ok, r)
		}
		if !ok {
			bare = append(bare, k)
		}
		keys, out[k] = append(keys, k), seenObject{r.UID, string(body.Bytes())}
	}
	if !slices.IsSortedFunc(keys, Key.Compare) || len(keys) != len(out) || o.Len() != len(out) {
		t.Errorf("Records: %v, Len %d: not in order, or not once", keys, o.Len())
	}
	for k, body := range o.Bodies() {
		i := slices.IndexFunc(keys, func(l Key) bool { return l.Compare(k) >= 0 })
		if i < 0 || keys[i] != k || out[k].Body != string(body.Bytes()) || out[k].Body == "" {
			t.Fatalf("Bodies: %s with %q, after Records with %q", k, body.Bytes(), out[k].Body)
		}
		bare, keys = append(bare, k), keys[i+1:]
	}
	if len(bare) != len(out) {
		t.Errorf("Bodies: leaves bodies out: %v of %v", bare, out)
	}
	return out
}

func item(namespace, name, uid, body string) Item {
	return Item{namespace, name, Record{UID: uid}, NewBody([]byte(body))}
}

func TestObservation(t *testing.T) {
	links := Layer{"g", "Link", []Item{item("b", "a", "1", ""), item("b", "b", "2", "{}")}}
	pods := Layer{"", "Pod", []Item{item("", "z", "3", ""), item("a", "z", "4", ""), item("aa", "a", "5", "")}}
	bodies := Layer{"", "Pod", []Item{item("a", "a", "6", "[]"), item("a", "z", "7", "[1]"), item("a", "z", "8", "[2]")}}
	link := func(name string) Key { return Key{"g", "Link", "b", name} }
	pod := func(ns, name string) Key { return Key{"", "Pod", ns, name} }
	tests := []struct {
		name   string
		layers []Layer
		want   map[Key]seenObject
	}{
		{"nothing", nil, map[Key]seenObject{}},
		{"empty layers", []Layer{{Kind: "Pod"}, {Kind: "Link"}}, map[Key]seenObject{}},
		{"kinds", []Layer{links, pods}, map[Key]seenObject{
			link("a"): {"1", ""}, link("b"): {"2", "{}"}, pod("", "z"): {"3", ""}, pod("a", "z"): {"4", ""}, pod("aa", "a"): {"5", ""},
		}},
		{"the first counts", []Layer{pods, {Kind: "Pod"}, bodies}, map[Key]seenObject{
			pod("", "z"): {"3", ""}, pod("a", "a"): {"6", "[]"}, pod("a", "z"): {"4", ""}, pod("aa", "a"): {"5", ""},
		}},
		{"and of one layer, too", []Layer{bodies, pods}, map[Key]seenObject{
			pod("", "z"): {"3", ""}, pod("a", "a"): {"6", "[]"}, pod("a", "z"): {"7", "[1]"}, pod("aa", "a"): {"5", ""},
		}},
	}
	for _, tt := range tests {
		o := NewObservation([]string{"Widget."}, tt.layers...)
		if diff := cmp.Diff(tt.want, collected(t, o)); diff != "" || len(o.Unserved) != 1 {
			t.Errorf("%s: unserved %v, -want +got\n%s", tt.name, o.Unserved, diff)
		}
		for _, k := range []Key{{}, pod("a", "b"), pod("zz", "z"), {Kind: "Pod", Group: "g", Namespace: "a", Name: "z"}, {Kind: "Zebra"}} {
			if _, ok := o.Body(k); ok || !o.Record(k).IsZero() {
				t.Errorf("%s: %s is seen", tt.name, k)
			}
		}
	}
}

// Who has seen enough may stop at any object.
func TestObservationStops(t *testing.T) {
	o := NewObservation(nil,
		Layer{"", "Pod", []Item{item("a", "a", "1", "{}"), item("a", "b", "2", "{}")}}, Layer{"", "Secret", []Item{item("a", "a", "3", "{}")}})
	for n := range 3 {
		records, bodies := 0, 0
		for range o.Records() {
			if records++; records > n {
				break
			}
		}
		for range o.Bodies() {
			if bodies++; bodies > n {
				break
			}
		}
		if records != n+1 || bodies != n+1 {
			t.Errorf("asked for %d: %d records, %d bodies", n+1, records, bodies)
		}
	}
}

func TestEdit(t *testing.T) {
	a, b, c := Key{"", "Pod", "x", "a"}, Key{"", "Pod", "x", "b"}, Key{"g", "Link", "", "c"}
	was := NewObservation([]string{"Widget."}, Layer{"", "Pod", []Item{item("x", "a", "1", "{}")}}, Layer{"", "Pod", []Item{item("x", "a", "2", ""), item("x", "b", "3", "")}})
	text := NewBody([]byte("[]"))
	tests := []struct {
		name string
		do   func(*Edit)
		want map[Key]seenObject
	}{
		{"nothing", func(*Edit) {}, map[Key]seenObject{a: {"1", "{}"}, b: {"3", ""}}},
		{"put a new kind", func(e *Edit) { e.Put(c, Record{UID: "9"}, text) }, map[Key]seenObject{a: {"1", "{}"}, b: {"3", ""}, c: {"9", "[]"}}},
		{"put over all layers", func(e *Edit) { e.Put(a, Record{UID: "9"}, Body{}) }, map[Key]seenObject{a: {"9", ""}, b: {"3", ""}}},
		{"put twice", func(e *Edit) { e.Put(b, Record{UID: "8"}, text); e.Put(b, Record{UID: "9"}, Body{}) }, map[Key]seenObject{a: {"1", "{}"}, b: {"9", ""}}},
		{"drop of all layers", func(e *Edit) { e.Drop(a) }, map[Key]seenObject{b: {"3", ""}}},
		{"drop a whole kind", func(e *Edit) { e.Drop(b); e.Drop(a) }, map[Key]seenObject{}},
		{"drop what is not there", func(e *Edit) { e.Drop(c) }, map[Key]seenObject{a: {"1", "{}"}, b: {"3", ""}}},
		{"drop and put", func(e *Edit) { e.Drop(a); e.Put(a, Record{UID: "9"}, text) }, map[Key]seenObject{a: {"9", "[]"}, b: {"3", ""}}},
		{"put and drop", func(e *Edit) { e.Put(c, Record{UID: "9"}, text); e.Drop(c) }, map[Key]seenObject{a: {"1", "{}"}, b: {"3", ""}}},
	}
	for _, tt := range tests {
		before := collected(t, was)
		e := was.Edit()
		tt.do(e)
		got := e.Observation()
		if diff := cmp.Diff(tt.want, collected(t, got)); diff != "" || !slices.Equal(got.Unserved, was.Unserved) {
			t.Errorf("%s: unserved %v, -want +got\n%s", tt.name, got.Unserved, diff)
		}
		if diff := cmp.Diff(before, collected(t, was)); diff != "" {
			t.Errorf("%s: changed what it is of: -before +after\n%s", tt.name, diff)
		}
		e.Put(c, Record{UID: "later"}, Body{})
		e.Drop(b)
		if diff := cmp.Diff(tt.want, collected(t, got)); diff != "" {
			t.Errorf("%s: later edits changed what was given: -want +got\n%s", tt.name, diff)
		}
	}
}

// Kinds that no edit touches are shared, not copied.
func TestEditShares(t *testing.T) {
	pods, links := []Item{item("x", "a", "1", "")}, []Item{item("x", "a", "1", "")}
	e := NewObservation(nil, Layer{"", "Pod", pods}, Layer{"g", "Link", links}).Edit()
	e.Put(Key{"", "Pod", "x", "b"}, Record{UID: "2"}, Body{})
	got := e.Observation()
	if len(got.layers) != 2 || &got.layers[1].Items[0] != &links[0] || &got.layers[0].Items[0] == &pods[0] {
		t.Errorf("layers: %+v", got.layers)
	}
}

// TestNamed: names of one kind and namespace that begin alike, of all layers, each once.
func TestNamed(t *testing.T) {
	o := NewObservation(nil,
		Layer{"", "Pod", []Item{item("x", "a-1", "0", "")}},
		Layer{"", "Secret", []Item{item("w", "a-1", "1", ""), item("x", "a", "2", ""), item("x", "a-1", "3", ""), item("x", "a-2", "4", ""), item("x", "b", "5", "")}},
		Layer{"", "Secret", []Item{item("x", "a-10", "6", ""), item("x", "a-2", "7", ""), item("y", "a-1", "8", "")}},
		Layer{"g", "Secret", []Item{item("x", "a-1", "9", "")}})
	for prefix, want := range map[Key][]string{
		{"", "Secret", "x", "a-"}:  {"a-1 3", "a-10 6", "a-2 4"},
		{"", "Secret", "x", ""}:    {"a 2", "a-1 3", "a-10 6", "a-2 4", "b 5"},
		{"", "Secret", "x", "c"}:   nil,
		{"", "Secret", "z", ""}:    nil,
		{"", "Pod", "x", "a"}:      {"a-1 0"},
		{"", "ConfigMap", "x", ""}: nil,
	} {
		for range o.Named(prefix) {
			break // it may be stopped
		}
		var got []string
		for k, r := range o.Named(prefix) {
			got = append(got, k.Name+" "+r.UID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
}

// Whatever is done in whatever order, an observation answers like a plain map, and so does every one before it.
func TestObservationIsAMap(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 200 {
		o, plain := randomLayers(r)
		kept, want := []Observation{o}, []map[Key]seenObject{maps.Clone(plain)}
		for range 6 {
			e := o.Edit()
			for range r.IntN(12) {
				k := randomKey(r)
				if r.IntN(3) == 0 {
					e.Drop(k)
					delete(plain, k)
					continue
				}
				it := randomItem(r)
				e.Put(k, it.Record, it.Body)
				plain[k] = seenObject{it.Record.UID, string(it.Body.Bytes())}
			}
			o = e.Observation()
			kept, want = append(kept, o), append(want, maps.Clone(plain))
		}
		for i, o := range kept {
			if diff := cmp.Diff(want[i], collected(t, o)); diff != "" || t.Failed() {
				t.Fatalf("seed %d, round %d, observation %d: -want +got\n%s", seed, round, i, diff)
			}
		}
	}
}

func randomKey(r *rand.Rand) Key {
	return Key{[]string{"", "g"}[r.IntN(2)], []string{"Link", "Pod", "Secret"}[r.IntN(3)], []string{"", "a", "b"}[r.IntN(3)], fmt.Sprint(r.IntN(5))}
}

func randomItem(r *rand.Rand) Item {
	return item("", "", fmt.Sprint(1+r.IntN(1000)), []string{"", "{}", "[]"}[r.IntN(3)])
}

// randomLayers overlap, and hold some keys twice.
func randomLayers(r *rand.Rand) (Observation, map[Key]seenObject) {
	plain := map[Key]seenObject{}
	var layers []Layer
	for range r.IntN(9) {
		k := randomKey(r)
		l := Layer{Group: k.Group, Kind: k.Kind}
		for range r.IntN(8) {
			it := randomItem(r)
			k := randomKey(r)
			it.Namespace, it.Name = k.Namespace, k.Name
			l.Items = append(l.Items, it)
		}
		slices.SortStableFunc(l.Items, Item.Compare)
		for _, it := range l.Items {
			k := Key{l.Group, l.Kind, it.Namespace, it.Name}
			if _, ok := plain[k]; !ok {
				plain[k] = seenObject{it.Record.UID, string(it.Body.Bytes())}
			}
		}
		layers = append(layers, l)
	}
	return NewObservation(nil, layers...), plain
}
