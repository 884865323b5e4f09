package overlay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// merge compares an object before and after a build. It takes over changes of allowed fields; every other field stays
// as it was, and a change of it is a violation. So no value can come in around the comparison.
type merge struct {
	kind       string // as the table writes it
	violations []violation
	changed    bool
}

// violation is a change of a field that must stay as it is: the message, and what to do.
type violation struct{ field, message, hint string }

func (r violation) String() string { return r.field + " " + r.message }

// fieldRef is a field of an object: its name for messages, its path in the table, and what may change there.
type fieldRef struct {
	name, path string
	tree       *tree
	parent     *fieldRef
}

// child is a field of a map. A name that is no plain word, such as a label, is in brackets.
func (p *fieldRef) child(word string) *fieldRef {
	shown := p.name + "." + word
	switch {
	case strings.ContainsAny(word, "./[] "):
		shown = p.name + "[" + word + "]"
	case p.name == "":
		shown = word
	}
	path := word
	if p.path != "" {
		path = p.path + "." + word
	}
	return &fieldRef{name: shown, path: path, tree: p.tree.at(word), parent: p}
}

// item is an item of a list, by its name.
func (p *fieldRef) item(name string) *fieldRef {
	return &fieldRef{name: p.name + "[" + name + "]", path: p.path + ".*", tree: p.tree.at("*"), parent: p}
}

// object compares two objects by the table. Both are as encoding/json decodes them, with numbers as json.Number, and stay
// unchanged.
func (m *merge) object(t table, was, is map[string]any) map[string]any {
	out, _ := m.value(&fieldRef{tree: t.of(m.kind)}, was, is).(map[string]any)
	return out
}

// value returns the merged value; nil is an absent field.
func (m *merge) value(p *fieldRef, was, is any) any {
	if equal(was, is) {
		return was
	}
	if p.tree != nil && p.tree.leaf != nil {
		return m.leaf(p, was, is)
	}
	before, wasMap := was.(map[string]any)
	after, isMap := is.(map[string]any)
	if wasMap && isMap || p.tree != nil && (wasMap || was == nil) && (isMap || is == nil) {
		return m.maps(p, before, after)
	}
	if items, ok := m.items(p, was, is); ok {
		return items
	}
	if wasMap && len(before) == 0 && is == nil {
		return was // an empty map that a build leaves out
	}
	m.deny(p, was, is)
	return was
}

func (m *merge) leaf(p *fieldRef, was, is any) any {
	if p.tree.leaf.keys != nil {
		return m.keyed(p, was, is)
	}
	if check := p.tree.leaf.check; check != nil && is != nil {
		if why := check(is); why != "" {
			m.violations = append(m.violations, violation{p.name, "has a value that is not allowed: " + why, ""})
			return was
		}
	}
	m.changed = true
	return is
}

func (m *merge) maps(p *fieldRef, was, is map[string]any) any {
	out := map[string]any{}
	for _, k := range union(was, is) {
		if v := m.value(p.child(k), was[k], is[k]); v != nil {
			out[k] = v
		}
	}
	if was == nil && len(out) == 0 {
		return nil
	}
	return out
}

// items compares two lists of named items: they must have the same names in the same order.
func (m *merge) items(p *fieldRef, was, is any) (any, bool) {
	before, wasList := was.([]any)
	after, isList := is.([]any)
	if !wasList || !isList || len(before) != len(after) || p.tree.at("*") == nil {
		return nil, false
	}
	for i := range before {
		if name := nameOf(before[i]); name == "" || name != nameOf(after[i]) {
			return nil, false
		}
	}
	out := make([]any, len(before))
	for i := range before {
		out[i] = m.value(p.item(nameOf(before[i])), before[i], after[i])
	}
	return out, true
}

// keyed compares labels or annotations: keys may be added, and none may be changed or removed.
func (m *merge) keyed(p *fieldRef, was, is any) any {
	before, wasMap := was.(map[string]any)
	after, isMap := is.(map[string]any)
	if !wasMap && was != nil || !isMap && is != nil {
		m.deny(p, was, is)
		return was
	}
	out := maps.Clone(before)
	for _, k := range union(before, after) {
		at := p.child(k)
		if _, rendered := before[k]; rendered {
			if !equal(before[k], after[k]) {
				m.violations = append(m.violations, violation{at.name, verb(before[k], after[k]), "an overlay may only add to what linkwright renders"})
			}
			continue
		}
		if why := m.key(p, k, after[k]); why != "" {
			m.violations = append(m.violations, violation{at.name, "must not be added: " + why, ""})
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[k], m.changed = after[k], true
	}
	if out == nil {
		return nil // not a nil map, which is a value
	}
	return out
}

func (m *merge) key(p *fieldRef, key string, value any) string {
	text, ok := value.(string)
	if !ok {
		return "its value must be text: put it in quotes"
	}
	if why := p.tree.leaf.keys(key); why != "" {
		return string(why)
	}
	if strings.HasSuffix(p.path, "labels") {
		if faults := validation.IsValidLabelValue(text); len(faults) > 0 {
			return "its value is not a valid label value: " + faults[0]
		}
	}
	return ""
}

func (m *merge) deny(p *fieldRef, was, is any) {
	m.violations = append(m.violations, violation{p.name, verb(was, is), m.hint(p)})
}

// hint returns where users declare the field, or the nearest above it; else which fields near it may change.
func (m *merge) hint(p *fieldRef) string {
	instead := declared()
	for at := p; at != nil; at = at.parent {
		for _, kind := range []string{m.kind, anyKind} {
			if hint := instead[kind+" "+at.path]; hint != "" {
				return hint
			}
		}
		if words := at.changeable(); len(words) > 0 && at.parent != nil {
			return fmt.Sprintf("in %s, an overlay may change only %s", at.name, strings.Join(words, ", "))
		}
	}
	if m.kind == secretKind {
		return "an overlay may add only labels to it"
	}
	return "an overlay may add only labels and annotations to it"
}

// changeable are the fields below this one that may change.
func (p *fieldRef) changeable() []string {
	if p.tree == nil {
		return nil
	}
	var words []string
	for word, next := range p.tree.children {
		if next.leaf != nil {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return words
}

func verb(was, is any) string {
	switch {
	case was == nil:
		return "must not be added"
	case is == nil:
		return "must not be removed"
	}
	return "must not be changed"
}

func nameOf(item any) string {
	m, _ := item.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

// union returns the keys of both maps, sorted.
func union(a, b map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// equal compares JSON values: numbers by value, not by spelling.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(a, b)
	}
	return isPlain(b) && a == b
}

// isPlain reports whether a value can be compared with ==.
func isPlain(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// equalNumbers compares whole numbers exactly, and others as the API server reads them.
func equalNumbers(a, b json.Number) bool {
	if a == b {
		return true
	}
	i, err1 := a.Int64()
	j, err2 := b.Int64()
	if cmp.Or(err1, err2) == nil {
		return i == j
	}
	x, err1 := strconv.ParseFloat(a.String(), 64)
	y, err2 := strconv.ParseFloat(b.String(), 64)
	return cmp.Or(err1, err2) == nil && x == y
}
