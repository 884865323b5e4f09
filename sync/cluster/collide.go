package cluster

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A list whose items are known by a key (the port of a Service) is merged item by item. Somebody who changes a key by PUT
// takes our item away and leaves one of their own, which may hold what must be unique (the name of the port): our apply
// then adds a second, and is refused for ever.

// op is one operation of a JSON patch.
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`

	seen         any // what stands there
	depth, index int
}

// remedy is what frees a live object from the items that stand in the way of ours: of the lists that the server's
// duplicates are in, each item that ours does not name and that holds a value of one that ours does. An item that is the
// last of its list becomes ours instead, since the list may have to hold one. Fields are as a refusal names them; none of
// the operations depends on an earlier one. Nothing, where it is not certain what collides.
func remedy(live, ours []byte, fields []string) ([]op, error) {
	var head struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(live, &head); err != nil {
		return nil, err
	}
	theirs, err := decoded(live)
	if err != nil {
		return nil, err
	}
	mine, err := decoded(ours)
	if err != nil {
		return nil, err
	}
	var all []op
	for _, field := range fields {
		found := spot{mine, theirs, ownership(head.Metadata.ManagedFields), ""}.collisions(steps(field))
		if len(found) == 0 {
			return nil, nil
		}
		all = append(all, found...)
	}
	return innermost(all), nil
}

// innermost has no operation move what a later one points at: inner lists first, and each from its end.
func innermost(ops []op) []op {
	slices.SortFunc(ops, func(a, b op) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(b.index, a.index), cmp.Compare(a.Path, b.Path))
	})
	return slices.CompactFunc(ops, func(a, b op) bool { return a.Path == b.Path })
}

// decoded keeps numbers as they are spelled.
func decoded(raw []byte) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err
}

// anItem stands for any item of a list, among the steps of a path.
const anItem = "[]"

// steps of a path as the server spells it: spec.ports[1].name; nil for one with other brackets than an index.
func steps(field string) []string {
	field = regexp.MustCompile(`\[\d+\]`).ReplaceAllString(field, "."+anItem)
	out := strings.Split(field, ".")
	for _, s := range out {
		if s != anItem && strings.ContainsAny(s, "[]") {
			return nil
		}
	}
	return out
}

// owned is what the managers of an object say of one place in it (structured-merge-diff's FieldsV1).
type owned []map[string]any

func ownership(entries []metav1.ManagedFieldsEntry) owned {
	var out owned
	for _, e := range entries {
		var fields map[string]any
		if e.FieldsV1 != nil && json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil {
			out = append(out, fields)
		}
	}
	return out
}

func (o owned) field(name string) owned {
	var below owned
	for _, fields := range o {
		if next, ok := fields["f:"+name].(map[string]any); ok {
			below = append(below, next)
		}
	}
	return below
}

// items gives the fields that items of this list are known by, none where it is no such list, and what is said of them all.
func (o owned) items() (keys []string, below owned) {
	for _, fields := range o {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			var key map[string]any
			text, ok := strings.CutPrefix(name, "k:")
			if !ok || json.Unmarshal([]byte(text), &key) != nil {
				continue
			}
			keys = slices.Sorted(maps.Keys(key))
			if next, ok := fields[name].(map[string]any); ok {
				below = append(below, next)
			}
		}
	}
	return keys, below
}

// spot is one place in our object and in the live one.
type spot struct {
	mine, live any
	said       owned
	at         string // as a JSON pointer
}

func (s spot) collisions(path []string) []op {
	if len(path) == 0 {
		return nil
	}
	if path[0] == anItem {
		return s.inList(path[1:])
	}
	mine, _ := s.mine.(map[string]any)
	live, _ := s.live.(map[string]any)
	name := path[0]
	escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return spot{mine[name], live[name], s.said.field(name), s.at + "/" + escaped}.collisions(path[1:])
}

func (s spot) inList(rest []string) []op {
	mine, _ := s.mine.([]any)
	live, _ := s.live.([]any)
	keys, below := s.said.items()
	if len(keys) == 0 {
		return nil
	}
	if !slices.Contains(rest, anItem) {
		return s.leaves(mine, live, keys, rest)
	}
	var all []op
	for j, theirs := range live {
		for _, ours := range mine {
			if spells(ours, theirs, keys) {
				all = append(all, spot{ours, theirs, below, fmt.Sprintf("%s/%d", s.at, j)}.collisions(rest)...)
			}
		}
	}
	return all
}

// leaves compares the value that must be unique.
func (s spot) leaves(mine, live []any, keys, rest []string) []op {
	var all []op
	for j, theirs := range live {
		if slices.ContainsFunc(mine, func(ours any) bool { return spells(ours, theirs, keys) }) {
			continue
		}
		i := slices.IndexFunc(mine, func(ours any) bool {
			v := value(ours, rest)
			return v != nil && reflect.DeepEqual(v, value(theirs, rest))
		})
		if i < 0 {
			continue
		}
		o := op{Op: "remove", Path: fmt.Sprintf("%s/%d", s.at, j), seen: theirs, depth: strings.Count(s.at, "/"), index: j}
		if len(all) == len(live)-1 {
			o.Op, o.Value = "replace", mine[i]
		}
		all = append(all, o)
	}
	return all
}

// spells says that one of our items is the live one, or may be: by the key fields that it spells.
func spells(ours, theirs any, keys []string) bool {
	mine, _ := ours.(map[string]any)
	live, _ := theirs.(map[string]any)
	spelled := false
	for _, k := range keys {
		v, ok := mine[k]
		if ok && !reflect.DeepEqual(v, live[k]) {
			return false
		}
		spelled = spelled || ok
	}
	return spelled
}

func value(of any, path []string) any {
	for _, name := range path {
		m, _ := of.(map[string]any)
		of = m[name]
	}
	return of
}
