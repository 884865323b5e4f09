package overlay

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// positions finds the positions of extras: the document in its file; the kustomization for generated objects; the file if no
// document in it has the name. Each file is read once.
type positions struct {
	component validated
	files     map[string]map[documentID]api.Pos
}

// documentID is kind and name of a document.
type documentID struct{ kind, name string }

func (p positions) of(e extra) api.Pos {
	file, ok := p.component.Files[e.origin]
	if !ok {
		return p.component.pos()
	}
	found, ok := p.files[e.origin]
	if !ok {
		found = documentPositions(e.origin, file)
		p.files[e.origin] = found
	}
	if at, ok := found[documentID{e.id.key.Kind, e.id.key.Name}]; ok {
		return at
	}
	return api.Pos{File: e.origin}
}

// documentPositions finds where each document of a file begins; of duplicates the first counts.
func documentPositions(name string, file []byte) map[documentID]api.Pos {
	out := map[documentID]api.Pos{}
	d := yaml.NewDecoder(bytes.NewReader(file))
	for {
		var doc struct {
			Kind     yaml.Node
			Metadata struct{ Name yaml.Node }
		}
		if err := d.Decode(&doc); err != nil {
			return out
		}
		key := documentID{doc.Kind.Value, doc.Metadata.Name.Value}
		if _, known := out[key]; !known {
			out[key] = api.Pos{File: name, Line: doc.Kind.Line, Col: doc.Kind.Column}
		}
	}
}

// pos is the position of the Component's kustomization.
func (c validated) pos() api.Pos { return api.Pos{File: c.File} }
