package fleet

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// parsed is one YAML document of a file, only as long as it is decoded: a node takes some 200 bytes.
type parsed struct {
	file string
	root *yaml.Node
}

func (p parsed) pos(n *yaml.Node) api.Pos {
	return api.Pos{File: p.file, Line: n.Line, Col: n.Column}
}

// at is the position of the deepest field of a path that is written.
func (p parsed) at(keys ...string) api.Pos { return p.pos(deepest(p.root, keys)) }

// named adds to a problem without a place whose it is.
func named(problem api.Problem, identity string) api.Problem {
	if problem.Pos.Line == 0 && identity != "" {
		problem.Message = identity + ": " + problem.Message
	}
	return problem
}

// deepest follows a path as far as it is written.
func deepest(n *yaml.Node, keys []string) *yaml.Node {
	for _, key := range keys {
		next := child(n, key)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// child is the value of a key, or the item of an index, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
				return n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

// text is the value of a string, or empty.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return ""
	}
	return n.Value
}

// identity is the kind and the name.
func identity(n *yaml.Node) string {
	return strings.TrimSpace(text(child(n, "kind")) + " " + text(child(child(n, "metadata"), "name")))
}

// document is what is kept of a document once it is decoded: where its fields stand.
type document struct {
	file     string
	declares string // metadata.name, or empty
	identity string // kind and name
	root     place
}

// spot is a line and a column.
type spot struct{ line, col int32 }

func spotOf(n *yaml.Node) spot { return spot{int32(n.Line), int32(n.Column)} }

// place is where a node stands, and the nodes below it: by key, or by index where keys is nil.
type place struct {
	spot
	key   spot // of the key that has it
	keys  []string
	below []place
}

// deepestField is more than any declaration has.
const deepestField = 12

// kept is the document without what a declaration cannot refer to: the texts, and all that is deeper than any field.
func (p parsed) kept() document {
	return document{
		file: p.file, root: placeOf(p.root, deepestField),
		declares: text(child(child(p.root, "metadata"), "name")), identity: identity(p.root),
	}
}

func placeOf(n *yaml.Node, depth int) place {
	at := place{spot: spotOf(n)}
	if depth == 0 || len(n.Content) == 0 {
		return at
	}
	switch n.Kind {
	case yaml.MappingNode:
		at.keys, at.below = make([]string, 0, len(n.Content)/2), make([]place, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Kind == yaml.ScalarNode {
				at.keys = append(at.keys, n.Content[i].Value)
				at.below = append(at.below, placeOf(n.Content[i+1], depth-1))
				at.below[len(at.below)-1].key = spotOf(n.Content[i])
			}
		}
	case yaml.SequenceNode:
		at.below = make([]place, len(n.Content))
		for i, item := range n.Content {
			at.below[i] = placeOf(item, depth-1)
		}
	}
	return at
}

// child is the place of a key or an index; of a key that comes twice, of the first.
func (p *place) child(key string) *place {
	if p.keys == nil {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(p.below) {
			return &p.below[i]
		}
		return nil
	}
	for i := range p.keys {
		if p.keys[i] == key {
			return &p.below[i]
		}
	}
	return nil
}

// at is the position of the deepest field of a path that is written.
func (d document) at(keys ...string) api.Pos {
	p := &d.root
	for _, key := range keys {
		next := p.child(key)
		if next == nil {
			break
		}
		p = next
	}
	return api.Pos{File: d.file, Line: int(p.line), Col: int(p.col)}
}

// name is the declared name, or empty.
func (d document) name() string { return d.declares }
