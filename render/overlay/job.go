// Package overlay answers: what does kustomize make of these bytes, in a cage?
package overlay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
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
func (j job) run() (built, error) { return j.runOn(filesys.MakeFsInMemory()) }

// runOn builds on an empty file system.
func (j job) runOn(files filesys.FileSystem) (built, error) {
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
	out, err := j.result(m)
	if err != nil {
		return built{}, err
	}
	out.Chosen, err = j.chosen()
	return out, err
}

// writeEnd makes a Kustomization of the end's objects and the Component.
func (j job) writeEnd(files filesys.FileSystem) error {
	k := map[string]any{
		"components":    []string{path.Join("..", treeRoot, j.Dir)},
		"buildMetadata": []string{types.OriginAnnotations},
	}
	if len(j.Resources) > 0 {
		k["resources"] = []string{endFile}
		list, err := j.list()
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

// result takes the objects out in kustomize's order. An object of the end has lost the annotation that says where it
// comes from; one of a Kustomization keeps it, if that asked for it.
func (j job) result(m resmap.ResMap) (built, error) {
	out := built{Objects: make([]made, 0, m.Size())}
	for _, r := range m.Resources() {
		origin, err := j.origin(r)
		if err != nil {
			return built{}, err
		}
		out.Objects = append(out.Objects, made{Origin: origin})
	}
	if j.Component {
		if err := m.RemoveOriginAnnotations(); err != nil {
			return built{}, err
		}
	}
	for i, r := range m.Resources() {
		body, err := r.MarshalJSON()
		if err != nil {
			return built{}, err
		}
		out.Objects[i].Body = body
	}
	return out, nil
}

// origin is the file of the tree that an object comes from; of a generated one, the file that asked for it.
func (j job) origin(r *resource.Resource) (string, error) {
	origin, err := r.GetOrigin()
	if err != nil || origin == nil {
		return "", err
	}
	root := path.Join(treeRoot, j.Dir)
	if j.Component {
		root = endRoot
	}
	name, within := strings.CutPrefix(path.Join(root, cmp.Or(origin.Path, origin.ConfiguredIn)), treeRoot+"/")
	if _, known := j.Files[name]; !within || !known {
		return "", nil
	}
	return name, nil
}

// chosen says of each target whether it chooses any object of the end as it was rendered.
func (j job) chosen() ([]bool, error) {
	if len(j.Targets) == 0 {
		return nil, nil
	}
	list, err := j.list()
	if err != nil {
		return nil, err
	}
	m, err := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes(list)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(j.Targets))
	for i, target := range j.Targets {
		found, err := m.Select(target)
		if err != nil {
			return nil, err
		}
		out[i] = len(found) > 0
	}
	return out, nil
}

// list is the end's objects as one document.
func (j job) list() ([]byte, error) {
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": j.Resources})
}
