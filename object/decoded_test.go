package object

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// coveredDecoded is Covered as it was first: it decodes both sides, and is what the other is held against.
func coveredDecoded(o Object, r Record) bool {
	raw := r.Fields.Value()
	if raw == allFields {
		return true
	}
	var fields map[string]any
	if raw == "" || json.Unmarshal([]byte(raw), &fields) != nil {
		return false
	}
	wanted, err := decode(o.Body.Bytes())
	if err != nil {
		return false
	}
	return coversTop(fields, wanted)
}

// decode keeps numbers as written, so that they compare by value as the server spells them.
func decode(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var m map[string]any
	return m, d.Decode(&m)
}

// coversTop skips what the server never lists: the object's identity.
func coversTop(fields, wanted map[string]any) bool {
	for name, v := range wanted {
		switch name {
		case "apiVersion", "kind":
			continue
		case "metadata":
			v = withoutIdentity(v)
		}
		if !coversField(fields, name, v) {
			return false
		}
	}
	return true
}

func withoutIdentity(v any) any {
	meta, ok := v.(map[string]any)
	if !ok {
		return v
	}
	rest := make(map[string]any, len(meta))
	for k, x := range meta {
		if k != "name" && k != "namespace" && k != "resourceVersion" {
			rest[k] = x
		}
	}
	return rest
}

func coversField(fields map[string]any, name string, v any) bool {
	child, ok := fields["f:"+name].(map[string]any)
	return ok && covers(child, v)
}

// covers: an entry without children, or with only "." (the field itself), is a leaf.
func covers(fields map[string]any, wanted any) bool {
	if len(fields) == 0 {
		return true
	}
	switch w := wanted.(type) {
	case map[string]any:
		for name, v := range w {
			if !coversField(fields, name, v) {
				return false
			}
		}
	case []any:
		for _, item := range w {
			if !coversItem(fields, item) {
				return false
			}
		}
	}
	return true
}

// coversItem: several entries may name one item that does not spell its whole key; any of them will do,
// so that the order of a map decides nothing.
func coversItem(fields map[string]any, item any) bool {
	for name, sub := range fields {
		child, ok := sub.(map[string]any)
		if ok && namesDecoded(name, item) && covers(child, item) {
			return true
		}
	}
	return false
}

// names reports whether a managedFields key (k:{…} or v:…) is that of this list item.
func namesDecoded(key string, item any) bool {
	if raw, ok := strings.CutPrefix(key, "v:"); ok {
		return sameJSON(raw, item)
	}
	raw, ok := strings.CutPrefix(key, "k:")
	m, isMap := item.(map[string]any)
	if !ok || !isMap {
		return false
	}
	spelled, err := decode([]byte(raw))
	if err != nil {
		return false
	}
	agrees := false
	for k, v := range spelled {
		w, ok := m[k]
		if !ok {
			continue // the server filled in a default
		}
		if agrees = true; !reflect.DeepEqual(w, v) { // not !=: whoever may write the object chooses the key's types
			return false
		}
	}
	return agrees
}

// sameJSON compares values: the server escapes less than encoding/json does.
func sameJSON(raw string, v any) bool {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var w any
	return d.Decode(&w) == nil && reflect.DeepEqual(w, v)
}
