// Package values changes single fields of a YAML document, and leaves all other bytes as they are: comments, order and style. Only a mapping in
// braces that has the field is written anew, as a block.
//
// Documents are read as Linkerd's proxy injector reads its values (sigs.k8s.io/yaml). Each change is checked before it is returned: the new document
// must decode to the old one with exactly that field changed.
package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Document is a YAML document whose root is a mapping. It is immutable.
type Document struct {
	text string
	root *yaml3.Node
	tree map[string]any
}

// Parse reads a document. It must be one mapping in block style, as Helm and Linkerd's command line write it.
func Parse(text string) (Document, error) {
	if breaks := strings.NewReplacer("\r\n", "").Replace(text); strings.ContainsAny(breaks, "\r\u0085\u2028\u2029") {
		return Document{}, errors.New("it has line breaks that are neither \\n nor \\r\\n")
	}
	var first, next yaml3.Node
	d := yaml3.NewDecoder(strings.NewReader(text))
	switch err := d.Decode(&first); {
	case errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0:
		return Document{}, errors.New("it is empty")
	case err != nil:
		return Document{}, err
	}
	if err := d.Decode(&next); !errors.Is(err, io.EOF) {
		return Document{}, errors.New("it has more than one YAML document")
	}
	root := first.Content[0]
	if root.Kind != yaml3.MappingNode || root.Style&yaml3.FlowStyle != 0 {
		return Document{}, errors.New("it is not a mapping in block style")
	}
	var tree map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &tree); err != nil {
		return Document{}, err
	}
	return Document{text, root, tree}, nil
}

// String returns the document's text.
func (d Document) String() string { return d.text }

// Value returns the value of a field as JSON, in the form of encoding/json; false: the document does not have the field.
func (d Document) Value(path string) (string, bool) {
	var at any = d.tree
	for key := range strings.SplitSeq(path, ".") {
		below, ok := at.(map[string]any)
		if !ok {
			return "", false
		}
		if at, ok = below[key]; !ok {
			return "", false
		}
	}
	return encode(at), true
}

// JSON returns a text as JSON.
func JSON(text string) string { return encode(text) }

// Equal reports whether two JSON texts mean the same value.
func Equal(a, b string) bool {
	x, okX := decode(a)
	y, okY := decode(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

// Set returns the document with a field set to a value, which is given as JSON.
func (d Document) Set(path, value string) (Document, error) {
	v, ok := decode(value)
	if !ok {
		return d, fmt.Errorf("%s: %q is not JSON", path, value)
	}
	if d.root == nil {
		return d, fmt.Errorf("%s: there is no document", path)
	}
	keys := strings.Split(path, ".")
	p, at := d.find(keys)
	var text string
	var err error
	switch {
	case p.key == nil:
		text, err = d.insert(p, keys[at], nested(keys[at+1:], v))
	case at == len(keys)-1:
		text, err = d.replace(p, v)
	default: // a mapping in flow style, or none
		text, err = d.replace(p, with(d.lookup(keys[:at+1]), keys[at+1:], v))
	}
	if err != nil {
		return d, fmt.Errorf("%s: %w", path, err)
	}
	return d.checked(text, with(d.tree, keys, v), path)
}

// Remove returns the document without a field. A mapping that has no other field becomes empty.
func (d Document) Remove(path string) (Document, error) {
	if _, has := d.Value(path); !has {
		return d, nil
	}
	keys := strings.Split(path, ".")
	p, at := d.find(keys)
	if parent, _ := d.lookup(keys[:len(keys)-1]).(map[string]any); len(parent) == 1 && len(keys) > 1 {
		return d.Set(strings.Join(keys[:len(keys)-1], "."), "{}")
	}
	if at < len(keys)-1 { // inside a mapping in flow style
		parent := maps.Clone(d.lookup(keys[:len(keys)-1]).(map[string]any))
		delete(parent, keys[len(keys)-1])
		return d.Set(strings.Join(keys[:len(keys)-1], "."), encode(parent))
	}
	if p.key == nil { // it comes by a merge key
		return d, fmt.Errorf("%s: %w", path, errStyle)
	}
	lines := d.lines()
	text := strings.Join(lines[:p.key.Line-1], "") + strings.Join(lines[p.end(lines):], "")
	return d.checked(text, without(d.tree, keys), path)
}

// checked parses a changed text, which must mean the tree.
func (d Document) checked(text string, tree map[string]any, path string) (Document, error) {
	next, err := Parse(text)
	if err != nil || !reflect.DeepEqual(next.tree, tree) {
		return d, fmt.Errorf("%s cannot be changed alone: write the document in block style, without anchors", path)
	}
	return next, nil
}

// lookup returns the value at the end of a path; nil: there is none.
func (d Document) lookup(keys []string) any {
	var at any = d.tree
	for _, key := range keys {
		below, _ := at.(map[string]any)
		at = below[key]
	}
	return at
}

// nested returns a value below keys.
func nested(keys []string, v any) any {
	for _, key := range slices.Backward(keys) {
		v = map[string]any{key: v}
	}
	return v
}

// with returns a mapping in which a field is set. What is no mapping is replaced by one.
func with(tree any, keys []string, v any) map[string]any {
	below, _ := tree.(map[string]any)
	out := maps.Clone(below)
	if out == nil {
		out = map[string]any{}
	}
	if len(keys) == 1 {
		out[keys[0]] = v
	} else {
		out[keys[0]] = with(out[keys[0]], keys[1:], v)
	}
	return out
}

// without returns a mapping without a field.
func without(tree map[string]any, keys []string) map[string]any {
	out := maps.Clone(tree)
	if len(keys) == 1 {
		delete(out, keys[0])
	} else if below, ok := out[keys[0]].(map[string]any); ok {
		out[keys[0]] = without(below, keys[1:])
	}
	return out
}

func decode(text string) (v any, ok bool) { return v, json.Unmarshal([]byte(text), &v) == nil }

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null" // it was decoded from JSON
	}
	return string(text)
}
