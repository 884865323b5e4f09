package object

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unique"
)

// Covered reports whether linkwright's managedFields entry still has every field of o. Together with equal digests
// it means that another apply would write nothing, because a foreign change of a value removes the field
// from the entry.
//
// The entry (KEP-555, fieldsV1) is read as: f: is a field by name; k: a list item by key fields, of
// which those the wanted item spells must agree (the server adds defaulted ones); v: a set's item by
// value; an entry without children is atomic and covers all below it. One in terms of another version of the kind, as
// storage migrations leave it, covers nothing: a re-apply writes it anew.
func (o Object) Covered(r Record) bool {
	var c Coverage
	return c.Covers(o, r)
}

// Coverage is Covered for many objects: it caches parsed entries, which objects of one kind mostly share. The zero value is
// ready. It is not safe for concurrent use.
type Coverage struct {
	sets map[unique.Handle[string]]*fieldSet
}

// maxFieldSets bounds the cache, which other writers could fill.
const maxFieldSets = 1024

// Covers is Object.Covered.
func (c *Coverage) Covers(o Object, r Record) bool {
	set, known := c.sets[r.Fields]
	if !known {
		set = parseFields(r.Fields.Value())
		if c.sets == nil {
			c.sets = map[unique.Handle[string]]*fieldSet{}
		}
		if len(c.sets) < maxFieldSets {
			c.sets[r.Fields] = set
		}
	}
	switch {
	case set == nil:
		return false
	case set.all:
		return true
	case !o.hasAPIVersion(set.version):
		return false
	}
	w := scanner{json: o.Body.Bytes()}
	return w.coversObject(set) && !w.invalid
}

// hasAPIVersion reports whether the object has an apiVersion.
func (o Object) hasAPIVersion(apiVersion string) bool {
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	return group == o.Key.Group && version == o.Version
}

// coversObject skips what the server never lists: the object's identity.
func (w *scanner) coversObject(set *fieldSet) bool {
	if !w.enter('{') {
		return false
	}
	for w.more('}') {
		switch name := w.memberName(); string(name) {
		case "apiVersion", "kind":
			w.skip()
		case "metadata":
			if child := set.fields["metadata"]; child == nil || !w.coversMetadata(child) {
				return false
			}
		default:
			if child := set.fields[string(name)]; child == nil || !w.coversValue(child) {
				return false
			}
		}
	}
	return true
}

func (w *scanner) coversMetadata(set *fieldSet) bool {
	if set.atomic || !w.enter('{') {
		return w.coversValue(set)
	}
	for w.more('}') {
		switch name := w.memberName(); string(name) {
		case "name", "namespace", "resourceVersion":
			w.skip()
		default:
			if child := set.fields[string(name)]; child == nil || !w.coversValue(child) {
				return false
			}
		}
	}
	return true
}

// coversValue steps over a value and reports whether every field of it is in the set.
func (w *scanner) coversValue(set *fieldSet) bool {
	switch {
	case set.atomic:
		w.skip()
	case w.enter('{'):
		for w.more('}') {
			if child := set.fields[string(w.memberName())]; child == nil || !w.coversValue(child) {
				return false
			}
		}
	case w.enter('['):
		for w.more(']') {
			if !w.coversItem(set.items) {
				return false
			}
		}
	default:
		w.skip()
	}
	return true
}

// coversItem: several entries may name one item that does not spell its whole key; any of them will do, so that
// their order decides nothing.
func (w *scanner) coversItem(entries []listItem) bool {
	from := w.at
	for _, e := range entries {
		named := e.matches(w)
		if w.at = from; named && w.coversValue(e.set) {
			return true
		}
		w.at = from
	}
	return false
}

// matches reports whether an entry is that of the list item that comes next.
func (e listItem) matches(w *scanner) bool {
	if e.value != nil {
		return e.value.equals(w)
	}
	if !w.enter('{') {
		return false
	}
	matching := 0
	for matching < len(e.key) && w.more('}') {
		key, isKey := e.key[string(w.memberName())]
		if !isKey {
			w.skip()
			continue
		}
		if !key.equals(w) {
			return false
		}
		matching++
	}
	return matching > 0 // what the item does not spell, the server filled in
}

// equals steps over a value and reports whether it is this one. The server escapes less than encoding/json does, and whoever may
// write the object chooses the types of its keys: what differs in bytes is compared as values, unless it is plain.
func (s *scalar) equals(w *scanner) bool {
	raw := w.skip()
	if same := bytes.Equal(raw, s.json); same || isPlain(raw) {
		return same
	}
	v, err := decodeValue(raw)
	return err == nil && reflect.DeepEqual(v, s.value)
}

// isPlain reports whether a value has only one spelling.
func isPlain(raw []byte) bool {
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
