package overlay

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"
)

// patchTarget is the target of a patch. It selects objects by kustomize's rule (api/resmap, Select).
type patchTarget struct {
	names               *types.SelectorRegex
	labels, annotations labels.Selector
}

func newPatchTarget(s types.Selector) (patchTarget, error) {
	names, err := types.NewSelectorRegex(&s)
	if err != nil {
		return patchTarget{}, err
	}
	c := patchTarget{names: names}
	if c.labels, err = labels.Parse(s.LabelSelector); err != nil {
		return patchTarget{}, err
	}
	c.annotations, err = labels.Parse(s.AnnotationSelector)
	return c, err
}

// matches reports whether the target selects the object.
func (c patchTarget) matches(content map[string]any) bool {
	id := identify(content)
	meta, _ := content["metadata"].(map[string]any)
	namespace := cmp.Or(id.key.Namespace, resid.TotallyNotANamespace)
	return c.names.MatchGvk(resid.Gvk{Group: id.key.Group, Version: id.version, Kind: id.key.Kind}) &&
		c.names.MatchName(id.key.Name) && c.names.MatchNamespace(namespace) &&
		c.labels.Matches(texts(meta["labels"])) && c.annotations.Matches(texts(meta["annotations"]))
}

// isPatched reports whether any patch selects the object.
func (t *task) isPatched(content map[string]any) bool {
	return slices.ContainsFunc(t.targets, func(c patchTarget) bool { return c.matches(content) })
}

// onlyPatches reports whether the Component, and those in it, change an object only by patches that select it: then only those
// objects are built. A patch that selects by the changes of another patch selects an object that is built already.
func (c validated) onlyPatches() bool {
	for name, data := range c.Files {
		if !slices.Contains(kustomizationNames(), path.Base(name)) {
			continue
		}
		var fields map[string]any
		if yaml.Unmarshal(data, &fields) != nil {
			return false
		}
		if fields["kind"] != types.ComponentKind {
			continue // it makes objects of its own
		}
		for field := range fields {
			if !slices.Contains([]string{"apiVersion", "kind", "metadata", "resources", "components", "patches"}, field) {
				return false
			}
		}
	}
	return true
}

// describe describes a target for messages.
func describe(s types.Selector) string {
	var parts []string
	for _, p := range []struct{ word, value string }{
		{"group", s.Group},
		{"version", s.Version},
		{"kind", s.Kind},
		{"name", s.Name},
		{"namespace", s.Namespace},
		{"labels", s.LabelSelector},
		{"annotations", s.AnnotationSelector},
	} {
		if p.value != "" {
			parts = append(parts, p.word+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}

// texts returns the string values of a map.
func texts(v any) labels.Set {
	m, _ := v.(map[string]any)
	out := make(labels.Set, len(m))
	for k, x := range m {
		if s, ok := x.(string); ok {
			out[k] = s
		}
	}
	return out
}
