package object

import (
	"encoding/json"
	"strings"
)

// fieldSet is a managedFields entry, or a part of one.
type fieldSet struct {
	all     bool   // of a record that After makes up
	version string // the apiVersion in whose terms it is: of an entry as a whole
	atomic  bool   // no children: it covers all below it
	fields  map[string]*fieldSet
	items   []listItem
}

// listItem is one item of a list: by key fields, or of a set by its value.
type listItem struct {
	key   map[string]*scalar
	value *scalar
	set   *fieldSet
}

// scalar is a value as the server spells it, decoded and as encoding/json writes it.
type scalar struct {
	value any
	json  []byte
}

// parseFields returns nil for what is no field set.
func parseFields(raw string) *fieldSet {
	if raw == allFields {
		return &fieldSet{all: true}
	}
	from := max(0, strings.IndexByte(raw, '{'))
	var m map[string]any
	if json.Unmarshal([]byte(raw[from:]), &m) != nil {
		return nil
	}
	set := newFieldSet(m)
	set.version = strings.TrimSpace(raw[:from])
	return set
}

// newFieldSet leaves out what has another shape than fields have: it covers nothing.
func newFieldSet(m map[string]any) *fieldSet {
	set := &fieldSet{atomic: len(m) == 0, fields: make(map[string]*fieldSet, len(m))}
	for name, v := range m {
		child, ok := v.(map[string]any)
		if !ok {
			continue
		}
		what, rest, _ := strings.Cut(name, ":")
		switch what {
		case "f":
			set.fields[rest] = newFieldSet(child)
		case "k", "v":
			if e, ok := newListItem(what, rest); ok {
				e.set = newFieldSet(child)
				set.items = append(set.items, e)
			}
		}
	}
	return set
}

func newListItem(what, raw string) (e listItem, ok bool) {
	v, err := decodeValue([]byte(raw))
	if err != nil {
		return e, false
	}
	if what == "v" {
		e.value, err = newScalar(v)
		return e, err == nil
	}
	members, _ := v.(map[string]any)
	e.key = make(map[string]*scalar, len(members))
	for name, v := range members {
		if e.key[name], err = newScalar(v); err != nil {
			return e, false
		}
	}
	return e, true
}

func newScalar(v any) (*scalar, error) {
	b, err := json.Marshal(v)
	return &scalar{v, b}, err
}
