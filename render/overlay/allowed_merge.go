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

// merge compares what went into a build with what came out of it. What may change is taken over, everything else stays
// as it was and, where it came out differently, is refused: so that no way around the comparison brings a value in.
type merge struct {
	kind    string // as the table writes it
	refused []refusal
	changed bool
}

// refusal is one field that must stay as it is: what is said of it, and what to do.
type refusal struct{ field, what, hint string }

func (r refusal) String() string { return r.field + " " + r.what }

// spot is a field of an object: its name for people, its path in the table, and what may change there.
type spot struct {
	shown, path string
	tree        *tree
	up          *spot
}

// below is a field of a map. A name that is no plain word, as of a label, stands in brackets.
func (p *spot) below(word string) *spot {
	shown := p.shown + "." + word
	switch {
	case strings.ContainsAny(word, "./[] "):
		shown = p.shown + "[" + word + "]"
	case p.shown == "":
		shown = word
	}
	path := word
	if p.path != "" {
		path = p.path + "." + word
	}
	return &spot{shown: shown, path: path, tree: p.tree.at(word), up: p}
}

// item is an item of a list, by its name.
func (p *spot) item(name string) *spot {
	return &spot{shown: p.shown + "[" + name + "]", path: p.path + ".*", tree: p.tree.at("*"), up: p}
}

// object compares two objects by the table; both are as encoding/json decodes them, numbers as json.Number. Neither is
// changed.
func (m *merge) object(t table, was, is map[string]any) map[string]any {
	out, _ := m.value(&spot{tree: t.of(m.kind)}, was, is).(map[string]any)
	return out
}

// value returns what becomes of a value; nil is a field that is not there.
func (m *merge) value(p *spot, was, is any) any {
	if same(was, is) {
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
	m.refuse(p, was, is)
	return was
}

func (m *merge) leaf(p *spot, was, is any) any {
	if p.tree.leaf.keys != nil {
		return m.keyed(p, was, is)
	}
	if check := p.tree.leaf.check; check != nil && is != nil {
		if why := check(is); why != "" {
			m.refused = append(m.refused, refusal{p.shown, "has a value that is not allowed: " + why, ""})
			return was
		}
	}
	m.changed = true
	return is
}

func (m *merge) maps(p *spot, was, is map[string]any) any {
	out := map[string]any{}
	for _, k := range union(was, is) {
		if v := m.value(p.below(k), was[k], is[k]); v != nil {
			out[k] = v
		}
	}
	if was == nil && len(out) == 0 {
		return nil
	}
	return out
}

// items compares two lists of things with names: they must be the same names in the same order.
func (m *merge) items(p *spot, was, is any) (any, bool) {
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

// keyed is a map of labels or annotations: keys may come, none may change or go.
func (m *merge) keyed(p *spot, was, is any) any {
	before, wasMap := was.(map[string]any)
	after, isMap := is.(map[string]any)
	if !wasMap && was != nil || !isMap && is != nil {
		m.refuse(p, was, is)
		return was
	}
	out := maps.Clone(before)
	for _, k := range union(before, after) {
		at := p.below(k)
		if _, rendered := before[k]; rendered {
			if !same(before[k], after[k]) {
				m.refused = append(m.refused, refusal{at.shown, verb(before[k], after[k]), "an overlay may only add to what linkwright renders"})
			}
			continue
		}
		if why := m.key(p, k, after[k]); why != "" {
			m.refused = append(m.refused, refusal{at.shown, "must not be added: " + why, ""})
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

func (m *merge) key(p *spot, key string, value any) string {
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

func (m *merge) refuse(p *spot, was, is any) {
	m.refused = append(m.refused, refusal{p.shown, verb(was, is), m.hint(p)})
}

// hint returns where the field, or the nearest above it, is declared instead; else what may change near it.
func (m *merge) hint(p *spot) string {
	instead := declared()
	for at := p; at != nil; at = at.up {
		for _, kind := range []string{m.kind, anyKind} {
			if hint := instead[kind+" "+at.path]; hint != "" {
				return hint
			}
		}
		if words := at.free(); len(words) > 0 && at.up != nil {
			return fmt.Sprintf("in %s, an overlay may change only %s", at.shown, strings.Join(words, ", "))
		}
	}
	if m.kind == secretKind {
		return "an overlay may add only labels to it"
	}
	return "an overlay may add only labels and annotations to it"
}

// free are the fields of a place that may change.
func (p *spot) free() []string {
	if p.tree == nil {
		return nil
	}
	var words []string
	for word, next := range p.tree.below {
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

// same compares values as JSON does: numbers by what they are, not how they are written.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	}
	return isPlain(b) && a == b
}

// isPlain reports whether == may be asked.
func isPlain(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// sameNumber: whole numbers are compared exactly, others as the API server reads them.
func sameNumber(a, b json.Number) bool {
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
