package fleet

import (
	"reflect"
	"strings"
)

// types caches the fields of structs during one Load.
type types map[reflect.Type]fields

// field is a field of a struct. Optional ones have omitempty or omitzero, in package api as in Kubernetes.
type field struct {
	name     string
	typ      reflect.Type
	required bool
}

type fields []field

func (f fields) find(name string) *field {
	for i := range f {
		if f[i].name == name {
			return &f[i]
		}
	}
	return nil
}

func (f fields) names() []string {
	out := make([]string, len(f))
	for i := range f {
		out[i] = f[i].name
	}
	return out
}

// fields returns the fields of a struct by the rules of encoding/json, as far as declarations use them.
func (t types) fields(of reflect.Type) fields {
	if known, ok := t[of]; ok {
		return known
	}
	var out fields
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			out = append(out, t.fields(f.Type)...)
		case name != "" && name != "-":
			out = append(out, field{name, f.Type, !optional(options)})
		}
	}
	t[of] = out
	return out
}

func optional(options string) bool {
	return strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
}
