package api

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:generate go run ../hack/fielddocs
//go:generate go run ../cmd/linkwright schema --write ../docs/schema

// kind is one kind of declaration, as a value of its type that holds the defaults of all fields that have one.
type kind struct {
	name     string
	defaults any
}

func kinds() []kind {
	cluster := Cluster{Access: Access{KubeconfigSecret: &SecretKey{}}}
	return []kind{
		{"Cluster", ClusterDoc{Spec: cluster.WithDefaults()}},
		{"Link", LinkDoc{Spec: Link{LinkSpec: LinkSpec{}.WithDefaults()}}},
		{"Mesh", MeshDoc{Spec: Mesh{}.WithDefaults()}},
		{"ProxyConfig", ProxyConfigDoc{Spec: ProxyConfig{Rollout: new(Rollout{}.WithDefaults())}}},
		{"SyncPolicy", SyncPolicyDoc{Spec: SyncPolicy{}.WithDefaults()}},
	}
}

// Kinds are the kinds that may be declared.
func Kinds() []string {
	var out []string
	for _, k := range kinds() {
		out = append(out, k.name)
	}
	return out
}

func (k kind) field() Field { return walker{limits(), examples()}.kind(k) }

// walker walks a Go value: its types are the fields of a declaration, its values are the defaults.
type walker struct {
	limits   map[string]Limits
	examples map[string][]any
}

func (w walker) kind(k kind) Field {
	out := w.value(reflect.ValueOf(k.defaults), k.name)
	out.Name, out.Required = k.name, true
	for i, f := range out.Fields {
		switch f.Name {
		case "apiVersion":
			out.Fields[i].Words = []Word{{Name: GroupVersion}}
		case "kind":
			out.Fields[i].Words = []Word{{Name: k.name}}
		}
	}
	return out
}

// value describes a type. Limits and examples are known for the first of the keys that the tables have: the path of a
// field, the struct and the field, or the type.
func (w walker) value(v reflect.Value, keys ...string) Field {
	fallback := defaultOf(v)
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		v = reflect.Zero(v.Type().Elem())
	case v.Kind() == reflect.Pointer:
		v = v.Elem()
	}
	t := v.Type()
	keys = append(slices.Clip(keys), t.Name())
	out := Field{
		of: t.Name(), Type: typeName(t), Description: typeDoc(t), Words: wordsOf(t), Default: fallback,
		Limits: firstOf(w.limits, keys), Examples: firstOf(w.examples, keys),
	}
	switch out.Type {
	case Object:
		out.Fields = w.fields(v, keys[0])
	case List, Map:
		of := w.value(reflect.Zero(t.Elem()), withSuffix(keys, "[]")...)
		out.Of = &of
	}
	return out
}

func firstOf[V any](table map[string]V, keys []string) (found V) {
	for _, key := range keys {
		if v, ok := table[key]; ok {
			return v
		}
	}
	return found
}

// fields returns the fields of a struct by the rules of encoding/json; what may be left out says omitempty or omitzero.
func (w walker) fields(v reflect.Value, path string) []Field {
	var out []Field
	for f, below := range v.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			out = append(out, w.fields(below, path)...)
		case name != "" && name != "-":
			own := v.Type().Name() + "." + name
			field := w.value(below, path+"."+name, own)
			field.Name = name
			field.Description = cmp.Or(fieldDoc(v.Type(), name), describeAs(name, field))
			field.Required = !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
			out = append(out, field)
		}
	}
	return out
}

// describeAs is the description of a field's type, with the field's name in place of the type's.
func describeAs(name string, f Field) string {
	if rest, ok := strings.CutPrefix(f.Description, f.of+" "); ok {
		return name + " " + rest
	}
	return f.Description
}

func withSuffix(keys []string, suffix string) []string {
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = key + suffix
	}
	return out
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return Quantity
	case t.Kind() == reflect.Struct:
		return Object
	case t.Kind() == reflect.Slice:
		return List
	case t.Kind() == reflect.Map:
		return Map
	case t.Kind() == reflect.Bool:
		return Boolean
	case t.Kind() == reflect.Float64:
		return Number
	case t.Kind() == reflect.String:
		return String
	}
	return Integer
}

// defaultOf reads a value in which defaults are filled in: what is empty there has none, but for a truth, which is false.
func defaultOf(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.IsZero():
		return nil
	case v.Kind() == reflect.Pointer:
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanInt():
		return v.Int()
	case v.CanFloat():
		return v.Float()
	}
	return nil
}

// wordsOf returns the words of a type that has few.
func wordsOf(t reflect.Type) []Word {
	if t == reflect.TypeFor[metav1.LabelSelectorOperator]() {
		t = reflect.TypeFor[operator]()
	}
	few, ok := reflect.TypeAssert[interface{ Words() []string }](reflect.Zero(t))
	if !ok {
		return nil
	}
	var out []Word
	for _, w := range few.Words() {
		out = append(out, Word{w, docs(t.Name() + "=" + w)})
	}
	return out
}

// swagger is how Kubernetes' types tell their comments: by field, that of the type under the empty name.
type swagger interface{ SwaggerDoc() map[string]string }

func typeDoc(t reflect.Type) string {
	if s, ok := reflect.TypeAssert[swagger](reflect.Zero(t)); ok {
		return s.SwaggerDoc()[""]
	}
	return docs(t.Name())
}

func fieldDoc(t reflect.Type, name string) string {
	if s, ok := reflect.TypeAssert[swagger](reflect.Zero(t)); ok {
		return s.SwaggerDoc()[name]
	}
	return docs(t.Name() + "." + name)
}
