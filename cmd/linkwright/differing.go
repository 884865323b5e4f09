package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
)

func decodedBody(b object.Body) map[string]any {
	var out map[string]any
	_ = json.Unmarshal(b.Bytes(), &out) // what is no object differs in nothing
	return out
}

func field(of map[string]any, name string) map[string]any {
	m, _ := of[name].(map[string]any)
	return m
}

// differing are the fields in which two bodies differ, beside our marks and what the server writes.
func differing(a, b object.Body) []string {
	x, y := declaredPart(a), declaredPart(b)
	return slices.Compact(paths("", x, y))
}

func declaredPart(b object.Body) map[string]any {
	o := decodedBody(b)
	meta := field(o, "metadata")
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(meta, name)
	}
	for _, of := range []struct {
		member string
		marks  []string
	}{{"labels", object.MarkLabels()}, {"annotations", append(object.MarkAnnotations(), object.HelmPolicy)}} {
		m := field(meta, of.member)
		for _, name := range of.marks {
			delete(m, name)
		}
		if len(m) == 0 {
			delete(meta, of.member)
		}
	}
	delete(o, "status")
	return o
}

// paths are the innermost members that differ.
func paths(at string, a, b any) (out []string) {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if !isMap || !both {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []string{strings.TrimPrefix(at, ".")}
	}
	names := map[string]bool{}
	for name := range x {
		names[name] = true
	}
	for name := range y {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, paths(at+"."+name, x[name], y[name])...)
	}
	return out
}
