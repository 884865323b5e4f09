package report

import (
	"fmt"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Manifests collect what clusters must hold, as YAML for people and for kubectl, and as items for programs.
type Manifests struct {
	items []output.Manifest
	text  strings.Builder
}

// AddEnd adds an end. key is what secrets are hashed with.
func (m *Manifests) AddEnd(end object.Desired, key string) {
	item := output.Manifest{Cluster: string(end.End.Cluster), Source: string(end.End.Link.Source), Target: string(end.End.Link.Target)}
	if end.Blocked != nil {
		item.Blocked = redacting(nil).reason(end.Blocked)
		m.items = append(m.items, item)
		fmt.Fprintf(&m.text, "---\n# %s: Blocked: %s: %s\n", end.End, end.Blocked.Code, end.Blocked.Message)
		return
	}
	for _, o := range end.Objects {
		h := redacting([]keyed{{o.Key, o.Body}}).hashing(key)
		item.Object = h.shown(o.Key, o.Body)
		m.items = append(m.items, item)
		fmt.Fprintf(&m.text, "---\n# %s\n%s", end.End, asYAML(item.Object))
	}
}

// Add adds an object that is no secret, with its YAML.
func (m *Manifests) Add(cluster string, o any, yaml []byte) {
	m.items = append(m.items, output.Manifest{Cluster: cluster, Object: o})
	fmt.Fprintf(&m.text, "---\n# cluster %s\n%s", cluster, yaml)
}

// Answer is all of them.
func (m *Manifests) Answer() Answer {
	items := append([]output.Manifest{}, m.items...)
	return Plain(output.ManifestList{TypeMeta: output.Of(output.KindManifestList), Items: items}, m.text.String())
}
