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

// kustomization is one kustomization file under validation: the value that kustomize decodes, which is validated, and its
// YAML nodes, which only have fieldPositions.
type kustomization struct {
	kustomizationRef
	fieldPositions
	validator *validator
	value     types.Kustomization
	total     cost
}

// fieldPositions are those of the fields of a file.
type fieldPositions struct {
	in    string // the file
	nodes *yaml.Node
}

// kustomizationRef is the directory and file of a kustomization, and the kind that the reference to it expects.
type kustomizationRef struct{ dir, file, kind string }

// decode reads a kustomization file with kustomize's own decoder.
func (g *validator) decode(p kustomizationRef, data []byte) (*kustomization, bool) {
	found, problems := g.documents(p.file, data)
	g.problems = append(g.problems, problems...)
	if len(problems) > 0 {
		return nil, false
	}
	if len(found) != 1 || found[0].Kind != yaml.MappingNode {
		g.fail(api.Pos{File: p.file}, "a kustomization must be one document with a mapping", "")
		return nil, false
	}
	k := &kustomization{kustomizationRef: p, fieldPositions: fieldPositions{p.file, found[0]}, validator: g}
	if key := duplicateKey(k.nodes, strings.ToLower); key != nil {
		g.fail(k.pos(key), key.Value+": this key is declared twice", "")
		return nil, false
	}
	if !k.checkFieldNames() {
		sound, err := yaml.Marshal(k.nodes)
		if err != nil {
			return nil, false
		}
		data = sound // it will not be built: the rest is validated to report all problems
	}
	if err := k.value.Unmarshal(data); err != nil {
		k.typeError(err)
		return nil, false
	}
	return k, true
}

func (p fieldPositions) pos(n *yaml.Node) api.Pos {
	return api.Pos{File: p.in, Line: n.Line, Col: n.Column}
}

// at is the position of the deepest field of a path that the file has.
func (p fieldPositions) at(keys ...string) api.Pos {
	n := p.nodes
	for _, key := range keys {
		next := childOf(n, key)
		if next == nil {
			break
		}
		n = next
	}
	return p.pos(n)
}

func (k *kustomization) fail(message, hint string, keys ...string) {
	k.validator.fail(k.at(keys...), api.Path(keys).String()+": "+message, hint)
}

// checkFieldNames fails fields that kustomize does not know and fields that are not allowed, and removes them.
func (k *kustomization) checkFieldNames() bool {
	names, sound := fieldNames(), []*yaml.Node(nil)
	for i := 0; i+1 < len(k.nodes.Content); i += 2 {
		key := k.nodes.Content[i]
		n := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key.Value) })
		if n < 0 {
			k.validator.fail(k.pos(key), key.Value+": unknown field", api.DidYouMean(key.Value, names))
			continue
		}
		if hint, refused := deniedField(names[n], k.inOverlay()); refused {
			k.validator.fail(k.pos(key), key.Value+": is not allowed here", hint)
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

// deniedField reports whether a field is not allowed, and what to write instead. A Component of an overlay may have fewer.
func deniedField(field string, component bool) (hint string, denied bool) {
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
	if !component {
		return "", false
	}
	return deniedInComponent(field)
}

// deniedInComponent reports the fields that change more than a patch does: names, selectors, other objects.
func deniedInComponent(field string) (hint string, denied bool) {
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

// inOverlay reports whether this is a Component of an overlay.
func (k *kustomization) inOverlay() bool { return k.validator.strict && k.kind == types.ComponentKind }

// typeError reports an error of the decoder at the position of the field that it names.
func (k *kustomization) typeError(err error) {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		message := strings.TrimPrefix(oneLine(err.Error()), "invalid Kustomization: ")
		k.validator.fail(api.Pos{File: k.file}, "this is not a valid kustomization: "+strings.TrimPrefix(message, "json: "), "")
		return
	}
	keys := slices.DeleteFunc(strings.Split(typed.Field, "."), func(key string) bool { // names of embedded types
		return key == "" || unicode.IsUpper(rune(key[0]))
	})
	hint := "write a value of type " + typed.Type.String()
	if typed.Type.Kind() == reflect.String {
		hint = "write a string, in quotes"
	}
	k.fail(fmt.Sprintf("a %s is not allowed here", typed.Value), hint, keys...)
}

// hasKind reports whether the kustomization has the expected kind.
func (k *kustomization) hasKind(at api.Pos) bool {
	version := types.KustomizationVersion
	if k.kind == types.ComponentKind {
		version = types.ComponentVersion
	}
	kind := cmp.Or(k.value.Kind, types.KustomizationKind)
	switch {
	case kind != k.kind:
		hint := "name a Component under components, and any other kustomization under resources"
		if k.validator.strict && len(k.validator.stack) == 1 {
			hint = "an overlay must be a Component: write kind: Component, apiVersion: " + types.ComponentVersion
		}
		k.validator.fail(cmp.Or(at, k.at("kind")), fmt.Sprintf("%s has a %s, expected a %s", k.dir, kind, k.kind), hint)
	case cmp.Or(k.value.APIVersion, version) != version:
		k.fail("expected "+version, "", "apiVersion")
	default:
		return true
	}
	return false
}

// canonical is the file encoded again from its decoded value: it has only validated fields, current fields in place of
// deprecated ones, and normalized paths.
func (k *kustomization) canonical() []byte {
	k.value.FixKustomization()
	v := k.value
	out := types.Kustomization{
		TypeMeta: v.TypeMeta, MetaData: v.MetaData,
		NamePrefix: v.NamePrefix, NameSuffix: v.NameSuffix, Namespace: v.Namespace,
		CommonLabels: v.CommonLabels, Labels: v.Labels, CommonAnnotations: v.CommonAnnotations,
		Patches: append(strategic(v.PatchesStrategicMerge), v.Patches...), PatchesJson6902: v.PatchesJson6902,
		Images: v.Images, Replacements: v.Replacements, Replicas: v.Replicas, Vars: v.Vars, SortOptions: v.SortOptions,
		Resources: v.Resources, Components: v.Components, Crds: v.Crds, Configurations: v.Configurations,
		ConfigMapGenerator: v.ConfigMapGenerator, GeneratorOptions: v.GeneratorOptions, BuildMetadata: v.BuildMetadata,
	}
	if len(k.validator.stack) == 1 && !k.validator.strict && !slices.Contains(out.BuildMetadata, types.OriginAnnotations) {
		out.BuildMetadata = append(out.BuildMetadata, types.OriginAnnotations)
	}
	text, err := json.Marshal(out)
	if err != nil {
		k.validator.fail(api.Pos{File: k.file}, "this is not a valid kustomization: "+err.Error(), "")
	}
	return text
}

// strategic returns patchesStrategicMerge, whose entries are paths or patches, as patches.
func strategic(entries []types.PatchStrategicMerge) (out []types.Patch) {
	for _, entry := range entries {
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
