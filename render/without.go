package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Without drops the ignored fields from an end's objects, so that others may own them. An object that has none of them
// stays the same byte for byte, and want itself is not changed. A map that becomes empty is dropped, too, except spec.
func Without(want object.Desired, ignored []api.Ignore, owner string) object.Desired {
	var changed []object.Object
	for i, o := range want.Objects {
		fields := ignoredPaths(o.Key, ignored)
		if len(fields) == 0 {
			continue
		}
		reduced, isChanged, err := withoutFields(o, fields, owner)
		if err != nil {
			return object.Desired{End: want.End, Blocked: object.Because(reason.RenderFailed, "%v", err)}
		}
		if !isChanged {
			continue
		}
		if changed == nil {
			changed = slices.Clone(want.Objects)
		}
		changed[i] = reduced
	}
	if changed != nil {
		want.Objects = changed
	}
	return want
}

// ignoredPaths returns the paths of an object's ignored fields.
func ignoredPaths(k object.Key, ignored []api.Ignore) [][]string {
	groups := map[api.IgnoredKind]string{api.IgnoreDeployment: "apps", api.IgnorePodDisruptionBudget: "policy", api.IgnoreService: ""}
	var out [][]string
	for _, rule := range ignored {
		if group, ok := groups[rule.Kind]; !ok || string(rule.Kind) != k.Kind || group != k.Group {
			continue
		}
		for _, field := range rule.Fields {
			out = append(out, strings.Split(field, "."))
		}
	}
	return out
}

func withoutFields(o object.Object, fields [][]string, owner string) (object.Object, bool, error) {
	d := json.NewDecoder(bytes.NewReader(o.Body.Bytes()))
	d.UseNumber()
	var content map[string]any
	if err := d.Decode(&content); err != nil {
		return object.Object{}, false, err
	}
	isChanged := false
	for _, path := range fields {
		isChanged = removeField(content, path) || isChanged
	}
	if !isChanged {
		return o, false, nil
	}
	reduced, err := object.Seal(object.Spec{Key: o.Key, Version: o.Version, Phase: o.Phase, Owner: owner}, content)
	return reduced, true, err
}

// removeField removes a field from a tree, and below its first level the maps that become empty; false: there is none.
func removeField(tree map[string]any, path []string) bool {
	if len(path) == 1 {
		_, found := tree[path[0]]
		delete(tree, path[0])
		return found
	}
	child, ok := tree[path[0]].(map[string]any)
	if !ok || !removeField(child, path[1:]) {
		return false
	}
	if len(child) == 0 && path[0] != "spec" {
		delete(tree, path[0])
	}
	return true
}
