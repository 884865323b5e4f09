package fleet

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// parsed is one YAML document of a file. It is not kept after decoding: a node takes some 200 bytes.
type parsed struct {
	file       string
	root       *yaml.Node
	misspelled bool // its apiVersion or its kind is, which is a problem of its own
}

func (p parsed) pos(n *yaml.Node) api.Pos {
	return api.Pos{File: p.file, Line: n.Line, Col: n.Column}
}

// at is the position of the deepest field of a path that the document has.
func (p parsed) at(keys ...string) api.Pos { return p.pos(deepest(p.root, keys)) }

// withIdentity prefixes the message of a problem without a line with kind and name of its document.
func withIdentity(problem api.Problem, identity string) api.Problem {
	if problem.Pos.Line == 0 && identity != "" {
		problem.Message = identity + ": " + problem.Message
	}
	return problem
}

// deepest follows a path as far as the document has it.
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

// document is what is kept of a document after decoding: the positions of its fields.
type document struct {
	file         string
	metadataName string // metadata.name, or empty
	identity     string // kind and name
	root         position
}

// lineCol is a line and a column.
type lineCol struct{ line, col int32 }

func lineColOf(n *yaml.Node) lineCol { return lineCol{int32(n.Line), int32(n.Column)} }

// position is the position of a node and of its children: by key, or by index if keys is nil.
type position struct {
	lineCol
	key      lineCol // of the key that has it
	keys     []string
	children []position
}

// deepestField is deeper than any field of a declaration.
const deepestField = 12

// document is the document without what a declaration cannot refer to: the texts, and all that is deeper than any field.
func (p parsed) document() document {
	return document{
		file: p.file, root: positionOf(p.root, deepestField),
		metadataName: text(child(child(p.root, "metadata"), "name")), identity: identity(p.root),
	}
}

func positionOf(n *yaml.Node, depth int) position {
	at := position{lineCol: lineColOf(n)}
	if depth == 0 || len(n.Content) == 0 {
		return at
	}
	switch n.Kind {
	case yaml.MappingNode:
		at.keys, at.children = make([]string, 0, len(n.Content)/2), make([]position, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Kind == yaml.ScalarNode {
				at.keys = append(at.keys, n.Content[i].Value)
				at.children = append(at.children, positionOf(n.Content[i+1], depth-1))
				at.children[len(at.children)-1].key = lineColOf(n.Content[i])
			}
		}
	case yaml.SequenceNode:
		at.children = make([]position, len(n.Content))
		for i, item := range n.Content {
			at.children[i] = positionOf(item, depth-1)
		}
	}
	return at
}

// child is the position of a key or an index; of a duplicate key, the first.
func (p *position) child(key string) *position {
	if p.keys == nil {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(p.children) {
			return &p.children[i]
		}
		return nil
	}
	for i := range p.keys {
		if p.keys[i] == key {
			return &p.children[i]
		}
	}
	return nil
}

// at is the position of the deepest field of a path that the document has.
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
func (d document) name() string { return d.metadataName }
