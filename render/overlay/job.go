// Package overlay answers: what does kustomize make of these bytes, in a cage?
package overlay

import (
	"encoding/json"
	"fmt"
	"path"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// job is one build: everything that it may load, and what is to be built.
type job struct {
	Files map[string][]byte `json:"files"` // by slash path from the root of the tree; there is nothing else to load
	Dir   string            `json:"dir"`   // of the Kustomization, or of the Component
	// Component: Dir holds a Component, which is applied to Resources; else Dir is built as it is.
	Component bool              `json:"component,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"` // one object each
	Targets   []types.Selector  `json:"targets,omitempty"`   // of patches: which of Resources do they choose?
}

// built is what became of a job.
type built struct {
	Objects []made `json:"objects"`
	Chosen  []bool `json:"chosen"` // by Targets: any of Resources is chosen
}

// made is one object, and the file of the tree that it comes from; empty for an object of Resources.
type made struct {
	Body   json.RawMessage `json:"body"`
	Origin string          `json:"origin,omitempty"`
}

// Where a job's files stand in memory. The end is beside the tree, so that no path of the tree leads into it by accident.
const (
	treeRoot = "/tree"
	endRoot  = "/end"
	endFile  = "end.json"
)

// run builds in this process. It is what a child does; whoever calls it directly has no cage.
func (j job) run() (built, error) {
	files := filesys.MakeFsInMemory()
	for name, data := range j.Files {
		if err := files.WriteFile(path.Join(treeRoot, name), data); err != nil {
			return built{}, fmt.Errorf("keep %s: %w", name, err)
		}
	}
	root := path.Join(treeRoot, j.Dir)
	if j.Component {
		root = endRoot
		if err := j.writeEnd(files); err != nil {
			return built{}, err
		}
	}
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, root)
	if err != nil {
		return built{}, err
	}
	return j.result(m)
}

// writeEnd makes a Kustomization of the end's objects and the Component.
func (j job) writeEnd(files filesys.FileSystem) error {
	k := map[string]any{"components": []string{path.Join("..", treeRoot, j.Dir)}}
	if len(j.Resources) > 0 {
		k["resources"] = []string{endFile}
		list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": j.Resources})
		if err != nil {
			return err
		}
		if err := files.WriteFile(path.Join(endRoot, endFile), list); err != nil {
			return err
		}
	}
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return files.WriteFile(path.Join(endRoot, "kustomization.yaml"), text)
}

func (j job) result(m resmap.ResMap) (built, error) {
	out := built{Objects: make([]made, 0, m.Size())}
	for _, r := range m.Resources() {
		body, err := r.MarshalJSON()
		if err != nil {
			return built{}, err
		}
		out.Objects = append(out.Objects, made{Body: body})
	}
	return out, nil
}
