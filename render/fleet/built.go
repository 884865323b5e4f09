package fleet

import (
	"cmp"
	"fmt"
	"io/fs"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// Built is a tree whose declarations kustomize has built: they are in Built, one YAML stream, and nothing else of the tree
// is read as a declaration. A document's annotation config.kubernetes.io/origin names the file it comes from in YAML
// (path: clusters/east.yaml, from the root of the tree). Its problems have positions in that file if the file has
// a document of the same kind and name; else they have the kustomization in the root as position, without a line.
type Built interface {
	fs.FS
	Built() []byte
}

// originAnnotation is kustomize's annotation; see the field buildMetadata of a Kustomization.
const originAnnotation = "config.kubernetes.io/origin"

// readBuilt decodes the documents that kustomize has made.
func (l *loader) readBuilt(tree Built) {
	root := cmp.Or(kustomization(tree, "."), "kustomization.yaml")
	data := tree.Built()
	o := originals{tree: tree, root: root, files: map[string]map[string]position{}}
	var f *fault
	if len(data) > MaxTreeBytes {
		f = &fault{message: fmt.Sprintf("cannot be read: its output is larger than %d MiB", MaxTreeBytes>>20), hint: tooLargeHint}
	} else {
		f = l.extent.bounded(data)
	}
	if f == nil {
		f = parse(root, data, func(p parsed) { l.decode(o.locate(p)) })
	}
	switch {
	case f != nil: // without its line, which is of the build's output
		l.failIncomplete(api.Pos{File: root}, f.message, f.hint)
	case l.documents == 0 && !l.incomplete:
		l.noDeclarations("the output of " + root + " is empty")
	}
}

// originals are the documents in the files of people, by file, kind and name.
type originals struct {
	tree   fs.FS
	root   string
	files  map[string]map[string]position
	extent extent
	size   int64
}

// locate gives a built document the positions of its original, and removes its origin annotation.
func (o *originals) locate(p parsed) parsed {
	file := originOf(takeAnnotation(p.root))
	at, found := o.in(file)[identity(p.root)]
	if !found {
		(&position{}).applyTo(p.root)
		return parsed{file: o.root, root: p.root}
	}
	at.applyTo(p.root)
	return parsed{file: file, root: p.root}
}

// plainOrigin matches nearly all origins; parsing each as YAML would be half of the cost.
var plainOrigin = regexp.MustCompile(`^path: ([a-zA-Z][-\w./]*)\n?$`)

// originOf returns the path in an annotation's text, or empty.
func originOf(annotation string) (file string) {
	if m := plainOrigin.FindStringSubmatch(annotation); m != nil {
		return m[1]
	}
	const longest = 10_000 // a path, and what configured the transformer that made the document
	if len(annotation) > longest || exceedsBounds([]byte(annotation)) != nil {
		return ""
	}
	parse("", []byte(annotation), func(p parsed) { file = text(child(p.root, "path")) })
	return file
}

// takeAnnotation removes the origin annotation from a document and returns its value.
func takeAnnotation(root *yaml.Node) string {
	metadata := child(root, "metadata")
	annotations := child(metadata, "annotations")
	value := text(child(annotations, originAnnotation))
	if value == "" || annotations.Kind != yaml.MappingNode {
		return ""
	}
	remove(annotations, originAnnotation)
	if len(annotations.Content) == 0 {
		remove(metadata, "annotations")
	}
	return value
}

func remove(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return
		}
	}
}

// in returns the documents of one file; a file that cannot be read, or would exceed the bounds, has none.
func (o *originals) in(file string) map[string]position {
	if known, ok := o.files[file]; ok || !fs.ValidPath(file) {
		return known
	}
	documents := map[string]position{}
	o.files[file] = documents
	info, err := fs.Stat(o.tree, file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxFileBytes || o.size+info.Size() > MaxTreeBytes {
		return documents
	}
	o.size += info.Size()
	data, err := fs.ReadFile(o.tree, file)
	if err != nil || o.extent.bounded(data) != nil {
		return documents
	}
	parse(file, data, func(p parsed) {
		id := identity(p.root)
		if id == "SyncPolicy" {
			id = "SyncPolicy default" // the name that it is built with
		}
		if documents[id].line == 0 {
			documents[id] = positionOf(p.root, deepestField)
		}
	})
	return documents
}

// applyTo gives every node the position of its counterpart, or of the deepest one above it that is written.
func (p *position) applyTo(n *yaml.Node) {
	n.Line, n.Column = int(p.line), int(p.col)
	children := map[string]*position{}
	for i, key := range p.keys {
		if children[key] == nil {
			children[key] = &p.children[i]
		}
	}
	for i := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
			n.Content[i].Line, n.Content[i].Column = p.keyOf(children[n.Content[i].Value])
		case n.Kind == yaml.MappingNode && children[n.Content[i-1].Value] != nil:
			children[n.Content[i-1].Value].applyTo(n.Content[i])
		case n.Kind == yaml.SequenceNode && p.keys == nil && i < len(p.children):
			p.children[i].applyTo(n.Content[i])
		default:
			(&position{lineCol: p.lineCol}).applyTo(n.Content[i])
		}
	}
}

// keyOf is the position of a child's key, or the own position if there is no such child.
func (p *position) keyOf(below *position) (line, col int) {
	if below == nil {
		return int(p.line), int(p.col)
	}
	return int(below.key.line), int(below.key.col)
}
