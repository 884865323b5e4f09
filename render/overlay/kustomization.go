package overlay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/linkwright/linkwright/api"
)

// kustomization is one kustomization file on its way through the gate: the value that kustomize makes of it, which is
// judged, and its nodes, which only tell where something stands.
type kustomization struct {
	place
	gate  *gate
	nodes *yaml.Node
	value types.Kustomization
	total cost
}

// place is where a kustomization stands, and the kind that whoever names it expects.
type place struct{ dir, file, kind string }

// decode reads a kustomization file with kustomize's own decoder.
func (g *gate) decode(p place, data []byte) (*kustomization, bool) {
	found, problems := g.documents(p.file, data)
	g.problems = append(g.problems, problems...)
	if len(problems) > 0 {
		return nil, false
	}
	if len(found) != 1 || found[0].Kind != yaml.MappingNode {
		g.refuse(api.Pos{File: p.file}, "a kustomization must be one document with a mapping", "")
		return nil, false
	}
	k := &kustomization{place: p, gate: g, nodes: found[0]}
	if key := twice(k.nodes, strings.ToLower); key != nil {
		g.refuse(k.pos(key), key.Value+": this key is declared twice", "")
		return nil, false
	}
	if !k.known() {
		sound, err := yaml.Marshal(k.nodes)
		if err != nil {
			return nil, false
		}
		data = sound // it is not built any more: the rest is judged so that all problems are told
	}
	if err := k.value.Unmarshal(data); err != nil {
		k.mistyped(err)
		return nil, false
	}
	return k, true
}

func (k *kustomization) pos(n *yaml.Node) api.Pos {
	return api.Pos{File: k.file, Line: n.Line, Col: n.Column}
}

// at is the position of the deepest field of a path that is written.
func (k *kustomization) at(keys ...string) api.Pos {
	n := k.nodes
	for _, key := range keys {
		next := childOf(n, key)
		if next == nil {
			break
		}
		n = next
	}
	return k.pos(n)
}

func (k *kustomization) refuse(message, hint string, keys ...string) {
	k.gate.refuse(k.at(keys...), api.Path(keys).String()+": "+message, hint)
}

// known refuses fields that kustomize does not know, and those that we do not let it know, and takes them away.
func (k *kustomization) known() bool {
	names, sound := fieldNames(), []*yaml.Node(nil)
	for i := 0; i+1 < len(k.nodes.Content); i += 2 {
		key := k.nodes.Content[i]
		n := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key.Value) })
		if n < 0 {
			k.gate.refuse(k.pos(key), key.Value+": unknown field", api.DidYouMean(key.Value, names))
			continue
		}
		if hint, refused := k.refused(names[n]); refused {
			k.gate.refuse(k.pos(key), key.Value+": is not allowed here", hint)
			continue
		}
		sound = append(sound, key, k.nodes.Content[i+1])
	}
	ok := len(sound) == len(k.nodes.Content)
	k.nodes.Content = sound
	return ok
}

// fieldNames are the names of all fields of a kustomization.
func fieldNames() (names []string) {
	for f := range reflect.TypeFor[types.Kustomization]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return append(names, "apiVersion", "kind")
}

// refused returns what to write instead of a field.
func (k *kustomization) refused(field string) (hint string, refused bool) {
	switch field {
	case "generators", "transformers", "validators":
		return "linkwright does not run plugins: write patches, labels, commonAnnotations or resources", true
	case "helmCharts", "helmGlobals", "helmChartInflationGenerator":
		return "linkwright does not inflate charts: commit the output of helm template, and name that file under resources", true
	case "openapi":
		return "the schemas of Kubernetes are built in; for lists of other kinds, write a JSON patch", true
	case "secretGenerator":
		return "a secret does not belong in Git: have your secret manager write it to an access Secret of the management cluster, and name that in spec.access.kubeconfigSecret", true
	}
	if !k.strict() {
		return "", false
	}
	return refusedInComponent(field)
}

// refusedInComponent are the fields that would reach further than one patch: into names, selectors, other objects.
func refusedInComponent(field string) (hint string, refused bool) {
	switch field {
	case "namePrefix", "nameSuffix", "namespace":
		return "an overlay must not change names", true
	case "commonLabels":
		return "it changes selectors too: write labels without includeSelectors", true
	case "images", "imageTags", "replicas":
		return "write it in the Link's controller, or as a patch with a target", true
	case "replacements", "vars":
		return "write the value into a patch", true
	case "configMapGenerator", "generatorOptions":
		return "an overlay adds objects under resources", true
	case "sortOptions", "buildMetadata":
		return "it has no effect in an overlay", true
	case "crds", "configurations":
		return "it changes what other fields apply to: write patches", true
	}
	return "", false
}

// strict reports whether this is a Component that may be applied to an end.
func (k *kustomization) strict() bool { return k.gate.strict && k.kind == types.ComponentKind }

// mistyped returns an error of the decoder the place of the field that it names.
func (k *kustomization) mistyped(err error) {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		message := strings.TrimPrefix(tidy(err.Error()), "invalid Kustomization: ")
		k.gate.refuse(api.Pos{File: k.file}, "this is not a valid kustomization: "+strings.TrimPrefix(message, "json: "), "")
		return
	}
	keys := slices.DeleteFunc(strings.Split(typed.Field, "."), func(key string) bool { // names of embedded types
		return key == "" || unicode.IsUpper(rune(key[0]))
	})
	hint := "write a value of type " + typed.Type.String()
	if typed.Type.Kind() == reflect.String {
		hint = "write a string, in quotes"
	}
	k.refuse(fmt.Sprintf("a %s is not allowed here", typed.Value), hint, keys...)
}

// isA reports whether this is what the place that names it needs.
func (k *kustomization) isA(at api.Pos) bool {
	version := types.KustomizationVersion
	if k.kind == types.ComponentKind {
		version = types.ComponentVersion
	}
	kind := cmp.Or(k.value.Kind, types.KustomizationKind)
	switch {
	case kind != k.kind:
		hint := "name a Component under components, and any other kustomization under resources"
		if k.gate.strict && len(k.gate.stack) == 1 {
			hint = "an overlay must be a Component: write kind: Component, apiVersion: " + types.ComponentVersion
		}
		k.gate.refuse(cmp.Or(at, k.at("kind")), fmt.Sprintf("%s has a %s, expected a %s", k.dir, kind, k.kind), hint)
	case cmp.Or(k.value.APIVersion, version) != version:
		k.refuse("expected "+version, "", "apiVersion")
	default:
		return true
	}
	return false
}

// canonical is the file as it was understood, with the fields that were judged and no others: deprecated ones have
// become what stands for them today, and every path is spelled plainly.
func (k *kustomization) canonical() []byte {
	k.value.FixKustomization()
	v := k.value
	out := types.Kustomization{
		TypeMeta: v.TypeMeta, MetaData: v.MetaData,
		NamePrefix: v.NamePrefix, NameSuffix: v.NameSuffix, Namespace: v.Namespace,
		CommonLabels: v.CommonLabels, Labels: v.Labels, CommonAnnotations: v.CommonAnnotations,
		Patches: append(k.strategic(), v.Patches...), PatchesJson6902: v.PatchesJson6902,
		Images: v.Images, Replacements: v.Replacements, Replicas: v.Replicas, Vars: v.Vars, SortOptions: v.SortOptions,
		Resources: v.Resources, Components: v.Components, Crds: v.Crds, Configurations: v.Configurations,
		ConfigMapGenerator: v.ConfigMapGenerator, GeneratorOptions: v.GeneratorOptions, BuildMetadata: v.BuildMetadata,
	}
	if len(k.gate.stack) == 1 && !k.gate.strict && !slices.Contains(out.BuildMetadata, types.OriginAnnotations) {
		out.BuildMetadata = append(out.BuildMetadata, types.OriginAnnotations)
	}
	text, err := json.Marshal(out)
	if err != nil {
		k.gate.refuse(api.Pos{File: k.file}, "this is not a valid kustomization: "+err.Error(), "")
	}
	return text
}

// strategic gives patchesStrategicMerge, whose entries are paths or patches, as patches, which say which of both they are.
func (k *kustomization) strategic() (out []types.Patch) {
	for _, entry := range k.value.PatchesStrategicMerge {
		if text := string(entry); inline(text) {
			out = append(out, types.Patch{Patch: text})
		} else {
			out = append(out, types.Patch{Path: text})
		}
	}
	return out
}

// inline reports whether an entry is a patch rather than a path: the letters of paths cannot write a mapping.
func inline(entry string) bool { return strings.ContainsAny(entry, "\n:{") }
