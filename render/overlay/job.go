// Package overlay builds kustomizations in a sandbox, and applies the overlays of clusters to rendered objects.
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

// job is one build: all files that it may load, and what to build.
type job struct {
	Files map[string][]byte `json:"files"` // by slash path from the root of the tree; there is nothing else to load
	Dir   string            `json:"dir"`   // of the Kustomization, or of the Component
	// Component: Dir holds a Component, which is applied to Resources; else Dir is built as it is.
	Component bool              `json:"component,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"` // one object each
	Targets   []types.Selector  `json:"targets,omitempty"`   // of patches: which of Resources do they choose?
}

// buildResult is the result of a job.
type buildResult struct {
	Objects []builtObject `json:"objects"`
	Chosen  []bool        `json:"chosen"` // by Targets: any of Resources is chosen
}

// builtObject is one object, and the file of the tree that it comes from; the file is empty for an object of Resources.
type builtObject struct {
	Body   json.RawMessage `json:"body"`
	Origin string          `json:"origin,omitempty"`
}

// Directories of a job's files in memory. The end is beside the tree, so that no path of the tree leads into it by accident.
const (
	treeRoot = "/tree"
	endRoot  = "/end"
	endFile  = "end.json"
)

// run builds in this process, without a sandbox. Child processes call it.
func (j job) run() (buildResult, error) { return j.runOn(filesys.MakeFsInMemory()) }

// runOn builds on an empty file system.
func (j job) runOn(files filesys.FileSystem) (buildResult, error) {
	for name, data := range j.Files {
		if err := files.WriteFile(path.Join(treeRoot, name), data); err != nil {
			return buildResult{}, fmt.Errorf("keep %s: %w", name, err)
		}
	}
	root := path.Join(treeRoot, j.Dir)
	if j.Component {
		root = endRoot
		if err := j.writeEnd(files); err != nil {
			return buildResult{}, err
		}
	}
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, root)
	if err != nil {
		return buildResult{}, err
	}
	out, err := j.result(m)
	if err != nil {
		return buildResult{}, err
	}
	out.Chosen, err = j.chosen()
	return out, err
}

// writeEnd writes a Kustomization with the end's objects and the Component.
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

// result returns the objects in kustomize's order. Objects of an end lose their origin annotation; objects of a
// Kustomization keep it if the Kustomization asks for it.
func (j job) result(m resmap.ResMap) (buildResult, error) {
	out := buildResult{Objects: make([]builtObject, 0, m.Size())}
	for _, r := range m.Resources() {
		origin, err := j.origin(r)
		if err != nil {
			return buildResult{}, err
		}
		out.Objects = append(out.Objects, builtObject{Origin: origin})
	}
	if j.Component {
		if err := m.RemoveOriginAnnotations(); err != nil {
			return buildResult{}, err
		}
	}
	for i, r := range m.Resources() {
		body, err := r.MarshalJSON()
		if err != nil {
			return buildResult{}, err
		}
		out.Objects[i].Body = body
	}
	return out, nil
}

// origin is the file of the tree that an object comes from; for a generated one, the file with the generator.
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

// chosen reports for each target whether it selects any object of the end as it was rendered.
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

// list is one document with the end's objects.
func (j job) list() ([]byte, error) {
	return json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": j.Resources})
}
