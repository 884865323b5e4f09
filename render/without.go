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

// Without leaves the ignored fields of an end's objects out, so that their value is nobody's or somebody else's. An
// object that has none of them stays byte for byte, and want itself is not changed. A map of which all was ignored goes
// with it, but not spec.
func Without(want object.Wanted, ignored []api.Ignore, owner string) object.Wanted {
	var changed []object.Object
	for i, o := range want.Objects {
		fields := ignoredOf(o.Key, ignored)
		if len(fields) == 0 {
			continue
		}
		less, differs, err := without(o, fields, owner)
		if err != nil {
			return object.Wanted{End: want.End, Blocked: object.Because(reason.RenderFailed, "%v", err)}
		}
		if !differs {
			continue
		}
		if changed == nil {
			changed = slices.Clone(want.Objects)
		}
		changed[i] = less
	}
	if changed != nil {
		want.Objects = changed
	}
	return want
}

// ignoredOf returns the paths below an object of that key that are left to others.
func ignoredOf(k object.Key, ignored []api.Ignore) [][]string {
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

func without(o object.Object, fields [][]string, owner string) (object.Object, bool, error) {
	d := json.NewDecoder(bytes.NewReader(o.Body.Bytes()))
	d.UseNumber()
	var content map[string]any
	if err := d.Decode(&content); err != nil {
		return object.Object{}, false, err
	}
	differs := false
	for _, path := range fields {
		differs = drop(content, path) || differs
	}
	if !differs {
		return o, false, nil
	}
	less, err := object.Seal(object.Spec{Key: o.Key, Version: o.Version, Phase: o.Phase, Owner: owner}, content)
	return less, true, err
}

// drop takes a field out of a tree, and below its first level the maps that it leaves empty; false: there is none.
func drop(tree map[string]any, path []string) bool {
	if len(path) == 1 {
		_, found := tree[path[0]]
		delete(tree, path[0])
		return found
	}
	below, ok := tree[path[0]].(map[string]any)
	if !ok || !drop(below, path[1:]) {
		return false
	}
	if len(below) == 0 && path[0] != "spec" {
		delete(tree, path[0])
	}
	return true
}
