package overlay

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// places says where extras stand: the line of a document in its file; the kustomization for what is generated, the file
// for what is called otherwise there. Each file is read once.
type places struct {
	component checked
	files     map[string]map[called]api.Pos
}

// called is what a document says that it is.
type called struct{ kind, name string }

func (p places) of(e extra) api.Pos {
	file, ok := p.component.Files[e.origin]
	if !ok {
		return p.component.pos()
	}
	found, ok := p.files[e.origin]
	if !ok {
		found = placesIn(e.origin, file)
		p.files[e.origin] = found
	}
	if at, ok := found[called{e.id.key.Kind, e.id.key.Name}]; ok {
		return at
	}
	return api.Pos{File: e.origin}
}

// placesIn finds where each document of a file begins; of those that are called alike the first counts.
func placesIn(name string, file []byte) map[called]api.Pos {
	out := map[called]api.Pos{}
	d := yaml.NewDecoder(bytes.NewReader(file))
	for {
		var doc struct {
			Kind     yaml.Node
			Metadata struct{ Name yaml.Node }
		}
		if err := d.Decode(&doc); err != nil {
			return out
		}
		key := called{doc.Kind.Value, doc.Metadata.Name.Value}
		if _, known := out[key]; !known {
			out[key] = api.Pos{File: name, Line: doc.Kind.Line, Col: doc.Kind.Column}
		}
	}
}

// pos is the kustomization of a Component.
func (c checked) pos() api.Pos { return api.Pos{File: c.File} }
