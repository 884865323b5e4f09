package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/object"
)

// admission is what changes objects on their way in: one policy adds an annotation, another overrules a label of ours. Not
// of custom kinds: it takes the server a while to know their schemas.
func (j *agreement) admission() {
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}
	bindings := policies
	bindings.Resource = "mutatingadmissionpolicybindings"
	for name, expression := range map[string]string{
		"admitted":  `[JSONPatch{op: "add", path: "/metadata/annotations/example.com~1admitted", value: "yes"}]`,
		"overruled": `[JSONPatch{op: "add", path: "/metadata/labels/velero.io~1exclude-from-backup", value: "no"}]`,
	} {
		j.create(policies, map[string]any{
			"apiVersion": policies.GroupVersion().String(), "kind": "MutatingAdmissionPolicy", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"reinvocationPolicy": "Never", "failurePolicy": "Fail",
				"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
					"apiGroups": []any{"", "apps", "policy", rbacGroup}, "apiVersions": []any{"*"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"*"},
				}}},
				"matchConditions": []any{map[string]any{"name": "named", "expression": fmt.Sprintf("object.metadata.name.contains('-%s')", name)}},
				"mutations": []any{map[string]any{
					"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": expression},
				}},
			},
		})
		j.create(bindings, map[string]any{
			"apiVersion": policies.GroupVersion().String(), "kind": "MutatingAdmissionPolicyBinding", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"policyName": name},
		})
	}
	probe := &unstructured.Unstructured{}
	for range 1000 { // it takes a moment until the server does so
		made, err := j.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
			Create(j.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
					"name": fmt.Sprintf("n%d-overruled-admitted", j.r.Uint32()), "labels": map[string]any{"a": "b"}, "annotations": map[string]any{"a": "b"},
				},
			}}, metav1.CreateOptions{})
		if err != nil {
			j.Fatal(err)
		}
		if probe = made; made.GetAnnotations()["example.com/admitted"] != "" && made.GetLabels()["velero.io/exclude-from-backup"] != "" {
			return
		}
	}
	j.Fatalf("no policy is in force: %v", probe)
}

func (j *agreement) create(r schema.GroupVersionResource, content map[string]any) {
	if _, err := j.client.Resource(r).Create(j.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		j.Fatal(err)
	}
}

// write is something that others do to an object; an error: the server refused it.
type write struct {
	name string
	do   func(*agreement, object.Object, *unstructured.Unstructured) error
}

func writes() []write {
	return []write{
		{"PUT", (*agreement).put},
		{"merge patch", (*agreement).mergePatch},
		{"JSON patch", (*agreement).jsonPatch},
		{"forced apply", (*agreement).forcedApply},
		{"scale", (*agreement).scale},
		{"wiped managed fields", (*agreement).resetManagedFields},
		{"recreate", (*agreement).recreate},
		{"older version", (*agreement).olderVersion},
		{"impostor", (*agreement).sameDigestOtherContent},
		{"nothing", func(*agreement, object.Object, *unstructured.Unstructured) error { return nil }},
	}
}

func (j *agreement) put(o object.Object, live *unstructured.Unstructured) error {
	j.change(o, live.Object)
	_, err := j.resource(o).Update(j.Context(), live, metav1.UpdateOptions{FieldManager: "foreign"})
	return err
}

func (j *agreement) mergePatch(o object.Object, live *unstructured.Unstructured) error {
	return j.patch(o, types.MergePatchType, j.part(o, live), metav1.PatchOptions{FieldManager: "foreign"})
}

func (j *agreement) forcedApply(o object.Object, live *unstructured.Unstructured) error {
	part := j.part(o, live)
	metadata, _ := part["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"] = o.Key.Name
	part["apiVersion"], part["kind"], part["metadata"] = live.GetAPIVersion(), live.GetKind(), metadata
	return j.patch(o, types.ApplyPatchType, part, metav1.PatchOptions{FieldManager: "foreign", Force: new(true)})
}

func (j *agreement) jsonPatch(o object.Object, live *unstructured.Unstructured) error {
	path := j.change(o, live.Object)
	v, found := at(live.Object, path)
	op := map[string]any{"op": "replace", "path": pointer(path), "value": v}
	if !found {
		op = map[string]any{"op": "remove", "path": pointer(path)}
	}
	return j.patch(o, types.JSONPatchType, []any{op}, metav1.PatchOptions{FieldManager: "foreign"})
}

func (j *agreement) scale(o object.Object, _ *unstructured.Unstructured) error {
	if o.Key.Kind != "Deployment" {
		return fmt.Errorf("%s has no scale", o.Key)
	}
	return j.patch(o, types.MergePatchType, map[string]any{"spec": map[string]any{"replicas": 1 + j.r.IntN(3)}}, metav1.PatchOptions{FieldManager: "scaler"}, "scale")
}

func (j *agreement) resetManagedFields(o object.Object, _ *unstructured.Unstructured) error {
	wiped := map[string]any{"metadata": map[string]any{"managedFields": []any{map[string]any{}}}}
	return j.patch(o, types.MergePatchType, wiped, metav1.PatchOptions{FieldManager: "foreign"})
}

// recreate keeps all that people see, our marks included.
func (j *agreement) recreate(o object.Object, live *unstructured.Unstructured) error {
	if err := j.resource(o).Delete(j.Context(), o.Key.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	live.SetUID("")
	live.SetResourceVersion("")
	if j.r.IntN(2) == 0 {
		live.SetManagedFields(nil)
	}
	_, err := j.resource(o).Create(j.Context(), live, metav1.CreateOptions{FieldManager: "foreign"})
	return err
}

// olderVersion is what a migration leaves that wrote objects as they were: our entry in terms of another version.
func (j *agreement) olderVersion(o object.Object, live *unstructured.Unstructured) error {
	older := map[string]string{"multicluster.linkerd.io/v1alpha3": "multicluster.linkerd.io/v1alpha2", "apps/v1": "apps/v1beta2", "policy/v1": "policy/v1beta1"}
	entries := live.GetManagedFields()
	for i := range entries {
		version, ok := older[entries[i].APIVersion]
		if !ok {
			return fmt.Errorf("%s has one version", o.Key)
		}
		entries[i].APIVersion = version
	}
	live.SetManagedFields(entries)
	_, err := j.resource(o).Update(j.Context(), live, metav1.UpdateOptions{FieldManager: "migrator"})
	return err
}

// sameDigestOtherContent applies something else as us, with our digest.
func (j *agreement) sameDigestOtherContent(o object.Object, live *unstructured.Unstructured) error {
	var ours map[string]any
	if err := json.Unmarshal(o.Body.Bytes(), &ours); err != nil {
		return err
	}
	j.change(o, ours)
	delete(ours, "status")
	if !j.covered(o, &unstructured.Unstructured{Object: live.Object}) {
		return fmt.Errorf("%s is not as we left it", o.Key)
	}
	return j.patch(o, types.ApplyPatchType, ours, metav1.PatchOptions{FieldManager: object.Manager(object.DefaultOwner), Force: new(true)})
}

func (j *agreement) patch(o object.Object, how types.PatchType, content any, opts metav1.PatchOptions, sub ...string) error {
	b, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, err = j.resource(o).Patch(j.Context(), o.Key.Name, how, b, opts, sub...)
	return err
}

// part is a change as far as a merge patch tells of it: lists whole.
func (j *agreement) part(o object.Object, live *unstructured.Unstructured) map[string]any {
	path := j.change(o, live.Object)
	for i, step := range path {
		if _, index := step.(int); index {
			path = path[:i]
			break
		}
	}
	v, _ := at(live.Object, path) // nil: removed
	out := map[string]any{}
	into := out
	for _, step := range path[:len(path)-1] {
		below := map[string]any{}
		into[step.(string)], into = below, below
	}
	into[path[len(path)-1].(string)] = v
	return out
}

// change changes a value of ours somewhere in a live object, or writes it as it is, or adds one of others; it gives where.
func (j *agreement) change(o object.Object, live map[string]any) []any {
	if j.r.IntN(8) == 0 {
		path := []any{"metadata", []string{"labels", "annotations"}[j.r.IntN(2)]}
		m, _ := at(live, path)
		with := map[string]any{"example.com/note": "hello"} // a write before may have taken all away
		if before, ok := m.(map[string]any); ok {
			maps.Copy(with, before)
		}
		set(live, path, with)
		return path
	}
	var ours map[string]any
	if err := json.Unmarshal(o.Body.Bytes(), &ours); err != nil {
		j.Fatal(err)
	}
	all := paths(ours, nil)
	for {
		path := all[j.r.IntN(len(all))]
		v, found := at(live, path)
		if !found {
			continue
		}
		switch j.r.IntN(4) {
		case 0: // the same value
		case 1:
			remove(live, path)
		default:
			set(live, path, j.other(v))
		}
		return path
	}
}

// other is a value like another.
func (j *agreement) other(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case int64:
		return v + 1
	case map[string]any:
		out := maps.Clone(v)
		out["x"] = "y"
		return out
	case []any:
		out := slices.Clone(v)
		switch {
		case len(v) == 0: // a write before took the only item
			return []any{"x"}
		case j.r.IntN(2) == 0:
			return out[1:]
		}
		return append(out, j.other(v[len(v)-1]))
	}
	return v
}

// paths are where values of an object stand, its identity left out: maps, lists and what they hold.
func paths(v any, from []any) (out [][]any) {
	add := func(step, below any) {
		path := append(slices.Clone(from), step)
		switch pointer(path) {
		case "/apiVersion", "/kind", "/metadata/name", "/metadata/namespace":
			return
		}
		if len(path) > 1 {
			out = append(out, path)
		}
		out = append(out, paths(below, path)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			add(k, v[k])
		}
	case []any:
		for i := range v {
			add(i, v[i])
		}
	}
	return out
}

func pointer(path []any) string {
	var b strings.Builder
	for _, step := range path {
		fmt.Fprintf(&b, "/%s", strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return b.String()
}

func at(v any, path []any) (any, bool) {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			below, ok := m[s]
			if !ok {
				return nil, false
			}
			v = below
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				return nil, false
			}
			v = l[s]
		}
	}
	return v, true
}

func set(v any, path []any, to any) {
	parent, _ := at(v, path[:len(path)-1])
	switch p := parent.(type) {
	case map[string]any:
		p[path[len(path)-1].(string)] = to
	case []any:
		p[path[len(path)-1].(int)] = to
	}
}

func remove(v any, path []any) {
	parent, _ := at(v, path[:len(path)-1])
	switch p := parent.(type) {
	case map[string]any:
		delete(p, path[len(path)-1].(string))
	case []any:
		i := path[len(path)-1].(int)
		set(v, path[:len(path)-1], slices.Delete(slices.Clone(p), i, i+1))
	}
}
