package object

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unique"
)

// Covered says that the server still counts every field of o as ours. Together with equal digests
// it means: a re-apply would write nothing, since a foreign change of a value takes the field out
// of our managedFields entry.
//
// The entry (KEP-555, fieldsV1) is read as: f: is a field by name; k: a list item by key fields, of
// which those the wanted item spells must agree (the server adds defaulted ones); v: a set's item by
// value; an entry without children is atomic and covers all below it. One in terms of another version of the kind, as
// storage migrations leave it, covers nothing: a re-apply writes it anew.
func (o Object) Covered(r Record) bool {
	var c Coverage
	return c.Covers(o, r)
}

// Coverage is Covered for many objects: an entry is parsed once, and objects of one kind mostly share it. The zero one is
// ready. It is not for several goroutines.
type Coverage struct {
	known map[unique.Handle[string]]*fieldSet
}

// mostKnown bounds what hostile writers could make a Coverage remember.
const mostKnown = 1024

// Covers is Object.Covered.
func (c *Coverage) Covers(o Object, r Record) bool {
	set, known := c.known[r.Fields]
	if !known {
		set = parseFields(r.Fields.Value())
		if c.known == nil {
			c.known = map[unique.Handle[string]]*fieldSet{}
		}
		if len(c.known) < mostKnown {
			c.known[r.Fields] = set
		}
	}
	switch {
	case set == nil:
		return false
	case set.everything:
		return true
	case !o.is(set.version):
		return false
	}
	w := walk{json: o.Body.Bytes()}
	return w.top(set) && !w.broken
}

// is says that an apiVersion is the object's.
func (o Object) is(apiVersion string) bool {
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	return group == o.Key.Group && version == o.Version
}

// top skips what the server never lists: the object's identity.
func (w *walk) top(set *fieldSet) bool {
	if !w.enter('{') {
		return false
	}
	for w.more('}') {
		switch name := w.name(); string(name) {
		case "apiVersion", "kind":
			w.skip()
		case "metadata":
			if child := set.fields["metadata"]; child == nil || !w.metadata(child) {
				return false
			}
		default:
			if child := set.fields[string(name)]; child == nil || !w.covered(child) {
				return false
			}
		}
	}
	return true
}

func (w *walk) metadata(set *fieldSet) bool {
	if set.atomic || !w.enter('{') {
		return w.covered(set)
	}
	for w.more('}') {
		switch name := w.name(); string(name) {
		case "name", "namespace", "resourceVersion":
			w.skip()
		default:
			if child := set.fields[string(name)]; child == nil || !w.covered(child) {
				return false
			}
		}
	}
	return true
}

// covered steps over a value whose every field is in the set, or stops and says that there is one that is not.
func (w *walk) covered(set *fieldSet) bool {
	switch {
	case set.atomic:
		w.skip()
	case w.enter('{'):
		for w.more('}') {
			if child := set.fields[string(w.name())]; child == nil || !w.covered(child) {
				return false
			}
		}
	case w.enter('['):
		for w.more(']') {
			if !w.item(set.items) {
				return false
			}
		}
	default:
		w.skip()
	}
	return true
}

// item: several entries may name one item that does not spell its whole key; any of them will do, so that
// their order decides nothing.
func (w *walk) item(entries []listed) bool {
	from := w.at
	for _, e := range entries {
		named := e.names(w)
		if w.at = from; named && w.covered(e.set) {
			return true
		}
		w.at = from
	}
	return false
}

// names says whether an entry is that of the list item that comes next.
func (e listed) names(w *walk) bool {
	if e.value != nil {
		return e.value.is(w)
	}
	if !w.enter('{') {
		return false
	}
	agree := 0
	for agree < len(e.key) && w.more('}') {
		key, spelled := e.key[string(w.name())]
		if !spelled {
			w.skip()
			continue
		}
		if !key.is(w) {
			return false
		}
		agree++
	}
	return agree > 0 // what the item does not spell, the server filled in
}

// is steps over a value and says whether it is this one. The server escapes less than encoding/json does, and whoever may
// write the object chooses the types of its keys: what differs in bytes is compared as values, unless it is plain.
func (s *scalar) is(w *walk) bool {
	raw := w.skip()
	if same := bytes.Equal(raw, s.json); same || plain(raw) {
		return same
	}
	v, err := decodeValue(raw)
	return err == nil && reflect.DeepEqual(v, s.value)
}

// plain says that there is one way only to write a value.
func plain(raw []byte) bool {
	for _, c := range raw {
		if c < ' ' || c > '~' || bytes.IndexByte([]byte(`\<>&{[`), c) >= 0 {
			return false
		}
	}
	return true
}

// decodeValue keeps numbers as written, so that they compare by value as the server spells them.
func decodeValue(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	return v, d.Decode(&v)
}
