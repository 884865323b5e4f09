package overlay

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// position says where an extra stands: the line of its document in its file; the kustomization for what is generated,
// and for what is called otherwise there.
func (c checked) position(e extra) api.Pos {
	file, ok := c.Files[e.origin]
	if !ok {
		return c.pos()
	}
	d := yaml.NewDecoder(bytes.NewReader(file))
	for {
		var doc struct {
			Kind     yaml.Node
			Metadata struct{ Name yaml.Node }
		}
		if err := d.Decode(&doc); err != nil {
			return api.Pos{File: e.origin}
		}
		if doc.Kind.Value == e.id.key.Kind && doc.Metadata.Name.Value == e.id.key.Name {
			return api.Pos{File: e.origin, Line: doc.Kind.Line, Col: doc.Kind.Column}
		}
	}
}

// pos is the kustomization of a Component.
func (c checked) pos() api.Pos { return api.Pos{File: c.File} }
