package object

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Item is one live object as it was read. Without a body only its record was kept.
type Item struct {
	Namespace, Name string
	Record          Record
	Body            Body
}

// Compare orders the items of one kind as their keys are ordered.
func (i Item) Compare(j Item) int {
	if i.Namespace != j.Namespace { // mostly not: what follows is asked for again and again
		return strings.Compare(i.Namespace, j.Namespace)
	}
	return strings.Compare(i.Name, j.Name)
}

// Layer is the result of one read: items of one kind, sorted by Item.Compare; of items with the same key the
// first counts. It must not be changed after it was passed on.
type Layer struct {
	Group, Kind string
	Items       []Item
}

func (l Layer) compare(m Layer) int {
	return cmp.Or(cmp.Compare(l.Group, m.Group), cmp.Compare(l.Kind, m.Kind))
}

// Observation is one cluster at one moment, complete for the watches that were read: a failed read returns an
// error instead, and one that is forbidden may be in Hidden. A kind that the server does not serve is empty, and in Unserved.
// It is immutable, so that copies are cheap; the zero value is empty.
type Observation struct {
	Unserved []string // as Watch.Called, sorted
	// Unwatched are objects, or without a name all of a kind in a namespace or everywhere, that the account may read but not watch, so
	// they are read every 30 s; sorted.
	Unwatched []Key
	// Hidden is what the account may not read, of watches with MayBeForbidden; sorted.
	Hidden []Hidden
	Server string  // URL of the API server
	User   string  // user name of the account there; empty: not known
	layers []Layer // by kind, none of them empty
}

// NewObservation merges layers: of items with the same key, that of the first layer counts.
// It copies no items.
func NewObservation(unserved []string, layers ...Layer) Observation {
	o := Observation{Unserved: unserved}
	for _, l := range layers {
		if len(l.Items) > 0 {
			o.layers = append(o.layers, l)
		}
	}
	slices.SortStableFunc(o.layers, Layer.compare)
	return o
}

// Is reports whether two observations are the same value, and not only equal.
func (o Observation) Is(p Observation) bool {
	return len(o.layers) > 0 && len(o.layers) == len(p.layers) && &o.layers[0] == &p.layers[0] && o.Server == p.Server && o.User == p.User
}

// Record is zero for an object that was not read.
func (o Observation) Record(k Key) Record {
	if it := o.find(k); it != nil {
		return it.Record
	}
	return Record{}
}

// Body is false for an object that was not read, or of which only the record was kept.
func (o Observation) Body(k Key) (Body, bool) {
	if it := o.find(k); it != nil && !it.Body.IsZero() {
		return it.Body, true
	}
	return Body{}, false
}

// Records returns every object, also foreign ones, once and in order of Key.Compare.
func (o Observation) Records() iter.Seq2[Key, Record] {
	return func(yield func(Key, Record) bool) {
		for k, it := range o.items() {
			if !yield(k, it.Record) {
				return
			}
		}
	}
}

// Kind returns those of Records that are of a kind, in the same order.
func (o Observation) Kind(group, kind string) iter.Seq2[Key, Record] {
	return func(yield func(Key, Record) bool) {
		for it := range merged(o.layersOf(Key{Group: group, Kind: kind})) {
			if !yield(Key{group, kind, it.Namespace, it.Name}, it.Record) {
				return
			}
		}
	}
}

// Named returns those of Records that have the kind and namespace of a key and whose names begin with its name, in the same order. It looks at no
// others.
func (o Observation) Named(prefix Key) iter.Seq2[Key, Record] {
	return func(yield func(Key, Record) bool) {
		layers := slices.Clone(o.layersOf(prefix))
		for i := range layers {
			layers[i].Items = layers[i].from(prefix)
		}
		for it := range merged(layers) {
			k := Key{prefix.Group, prefix.Kind, it.Namespace, it.Name}
			if k.Namespace != prefix.Namespace || !strings.HasPrefix(k.Name, prefix.Name) || !yield(k, it.Record) {
				return
			}
		}
	}
}

// Bodies returns those of Records that have a body, in the same order.
func (o Observation) Bodies() iter.Seq2[Key, Body] {
	return func(yield func(Key, Body) bool) {
		for k, it := range o.items() {
			if !it.Body.IsZero() && !yield(k, it.Body) {
				return
			}
		}
	}
}

// Len counts Records.
func (o Observation) Len() int {
	n := 0
	for range o.items() {
		n++
	}
	return n
}

// find returns nil for an object that was not read. Each plan calls it several times for each object.
func (o Observation) find(k Key) *Item {
	for i := range o.layers { // few: one kind, one layer
		if l := &o.layers[i]; l.Kind == k.Kind && l.Group == k.Group {
			if it := l.find(k); it != nil {
				return it
			}
		}
	}
	return nil
}

func (l *Layer) find(k Key) *Item {
	rest := l.from(k)
	if len(rest) == 0 || rest[0].Name != k.Name || rest[0].Namespace != k.Namespace {
		return nil
	}
	return &rest[0]
}

// from returns the items from a key of the same kind on.
func (l *Layer) from(k Key) []Item {
	return l.Items[sort.Search(len(l.Items), func(i int) bool { return !l.Items[i].before(k) }):]
}

// before reports whether the item comes before that of a key, of the same kind.
func (i *Item) before(k Key) bool {
	if i.Namespace != k.Namespace {
		return i.Namespace < k.Namespace
	}
	return i.Name < k.Name
}

// layersOf returns the layers of the key's kind.
func (o Observation) layersOf(k Key) []Layer {
	kind := Layer{Group: k.Group, Kind: k.Kind}
	from, _ := slices.BinarySearchFunc(o.layers, kind, Layer.compare)
	return o.layers[from : from+sameKind(o.layers[from:], kind)]
}

// sameKind counts the layers of a kind that come first.
func sameKind(layers []Layer, kind Layer) int {
	n := slices.IndexFunc(layers, func(l Layer) bool { return l.compare(kind) != 0 })
	if n < 0 {
		return len(layers)
	}
	return n
}

func (o Observation) items() iter.Seq2[Key, *Item] {
	return func(yield func(Key, *Item) bool) {
		for rest := o.layers; len(rest) > 0; {
			n := sameKind(rest, rest[0])
			for it := range merged(rest[:n]) {
				if !yield(Key{rest[0].Group, rest[0].Kind, it.Namespace, it.Name}, it) {
					return
				}
			}
			rest = rest[n:]
		}
	}
}

// merged returns the items of layers of one kind in order, of those of one key the first.
func merged(layers []Layer) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		rest := make([][]Item, len(layers))
		for i, l := range layers {
			rest[i] = l.Items
		}
		for {
			next := smallest(rest)
			if next == nil || !yield(next) {
				return
			}
			for i := range rest {
				for len(rest[i]) > 0 && rest[i][0].Name == next.Name && rest[i][0].Namespace == next.Namespace {
					rest[i] = rest[i][1:]
				}
			}
		}
	}
}

// smallest is the first of the least heads, nil where nothing is left.
func smallest(rest [][]Item) *Item {
	var out *Item
	for _, items := range rest {
		if len(items) > 0 && (out == nil || items[0].Compare(*out) < 0) {
			out = &items[0]
		}
	}
	return out
}

// Edit derives another observation; the original stays as it is. Of several edits of a key the last counts.
type Edit struct {
	base  Observation
	items map[Key]*Item // nil: dropped
}

// Edit begins an edit.
func (o Observation) Edit() *Edit { return &Edit{base: o, items: map[Key]*Item{}} }

// Put adds or replaces an object; with a zero body only its record is kept.
func (e *Edit) Put(k Key, r Record, b Body) { e.items[k] = &Item{k.Namespace, k.Name, r, b} }

// Drop removes an object.
func (e *Edit) Drop(k Key) { e.items[k] = nil }

// Observation applies all edits so far: it copies only the kinds that they touch.
func (e *Edit) Observation() Observation {
	layers := slices.Clone(e.base.layers)
	for rest := slices.SortedFunc(maps.Keys(e.items), Key.Compare); len(rest) > 0; {
		kind := Layer{Group: rest[0].Group, Kind: rest[0].Kind}
		n := 1
		for n < len(rest) && rest[n].Group == kind.Group && rest[n].Kind == kind.Kind {
			n++
		}
		layers = slices.DeleteFunc(layers, func(l Layer) bool { return l.compare(kind) == 0 })
		kind.Items = e.merge(rest[:n])
		layers, rest = append(layers, kind), rest[n:]
	}
	out := NewObservation(e.base.Unserved, layers...)
	out.Server, out.User, out.Unwatched, out.Hidden = e.base.Server, e.base.User, e.base.Unwatched, e.base.Hidden
	return out
}

// merge returns the items of the kind of keys, which are all that is edited of it, in order.
func (e *Edit) merge(keys []Key) []Item {
	base := e.base.layersOf(keys[0])
	edits := Layer{Items: make([]Item, len(keys))}
	size := len(keys)
	for i, k := range keys {
		edits.Items[i] = Item{Namespace: k.Namespace, Name: k.Name} // dropped: it replaces the item below
		if it := e.items[k]; it != nil {
			edits.Items[i] = *it
		}
	}
	for _, l := range base {
		size += len(l.Items)
	}
	out := make([]Item, 0, size)
	for it := range merged(slices.Concat([]Layer{edits}, base)) {
		if len(keys) > 0 && keys[0].Namespace == it.Namespace && keys[0].Name == it.Name {
			dropped := e.items[keys[0]] == nil
			if keys = keys[1:]; dropped {
				continue
			}
		}
		out = append(out, *it)
	}
	return out
}
