package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"unique"
)

func TestCovered(t *testing.T) {
	const (
		tcp9999 = `k:{\"containerPort\":9999,\"protocol\":\"TCP\"}`
		spec    = `{"f:spec":{%s}}`
	)
	tests := []struct {
		name, fields, body string
		want               bool
	}{
		{"field by name", `{"f:data":{"f:k":{}}}`, `{"data":{"k":"v"}}`, true},
		{"field missing", `{"f:data":{"f:k":{}}}`, `{"data":{"k":"v","l":"v"}}`, false},
		{"parent missing", `{"f:type":{}}`, `{"data":{"k":"v"}}`, false},
		{"more than wanted", `{"f:data":{"f:k":{},"f:l":{}},"f:type":{}}`, `{"data":{"k":"v"}}`, true},
		{"with a dot", `{"f:data":{".":{},"f:k":{}}}`, `{"data":{"k":"v"}}`, true},
		{"a dot alone covers no child", `{"f:data":{".":{}}}`, `{"data":{"k":"v"}}`, false},
		{"a dot alone covers the empty", `{"f:data":{".":{}}}`, `{"data":{}}`, true},
		{"atomic map", `{"f:spec":{"f:selector":{}}}`, `{"spec":{"selector":{"app":"a"}}}`, true},
		{"atomic list", `{"f:rules":{}}`, `{"rules":[{"verbs":["get"]}]}`, true},
		{"identity is not listed", `{"f:metadata":{"f:labels":{"f:a":{}}}}`, `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","namespace":"n","labels":{"a":"b"}}}`, true},
		{"identity alone", `{"f:metadata":{}}`, `{"metadata":{"name":"a"}}`, true},
		{"list item by key", fmt.Sprintf(spec, `"f:ports":{"k:{\"port\":1}":{".":{},"f:port":{}}}`), `{"spec":{"ports":[{"port":1}]}}`, true},
		{"list item with other key", fmt.Sprintf(spec, `"f:ports":{"k:{\"port\":2}":{".":{},"f:port":{}}}`), `{"spec":{"ports":[{"port":1}]}}`, false},
		{"key whose part the server filled in", fmt.Sprintf(spec, `"f:ports":{"`+tcp9999+`":{".":{},"f:containerPort":{}}}`), `{"spec":{"ports":[{"containerPort":9999}]}}`, true},
		{"key whose part is spelled otherwise", fmt.Sprintf(spec, `"f:ports":{"`+tcp9999+`":{".":{},"f:containerPort":{}}}`), `{"spec":{"ports":[{"containerPort":9999,"protocol":"UDP"}]}}`, false},
		{"one of two that share a spelled key", fmt.Sprintf(spec, `"f:ports":{"k:{\"port\":1,\"protocol\":\"UDP\"}":{".":{}},"k:{\"port\":1,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{}}}`), `{"spec":{"ports":[{"port":1,"protocol":"TCP"}]}}`, true},
		{"any of two that share a spelled key", fmt.Sprintf(spec, `"f:ports":{"k:{\"port\":1,\"protocol\":\"UDP\"}":{".":{}},"k:{\"port\":1,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}`), `{"spec":{"ports":[{"port":1}]}}`, true},
		{"key of a type that is no key", `{"f:x":{"k:{\"a\":[1]}":{}}}`, `{"x":[{"a":[1]}]}`, true},
		{"item of a set, spelled otherwise", `{"f:x":{"v:\"<\"":{}}}`, `{"x":["\u003c"]}`, true},
		{"field of an item missing", fmt.Sprintf(spec, `"f:ports":{"k:{\"port\":1}":{".":{},"f:port":{}}}`), `{"spec":{"ports":[{"port":1,"name":"a"}]}}`, false},
		{"item of a set", `{"f:metadata":{"f:finalizers":{"v:\"a\"":{}}}}`, `{"metadata":{"finalizers":["a"]}}`, true},
		{"item missing in a set", `{"f:metadata":{"f:finalizers":{"v:\"a\"":{}}}}`, `{"metadata":{"finalizers":["a","b"]}}`, false},
		{"set of numbers", `{"f:x":{"v:1":{}}}`, `{"x":[1]}`, true},
		{"scalar", `{"f:type":{}}`, `{"type":"Opaque"}`, true},
		{"nothing of ours", ``, `{"data":{"k":"v"}}`, false},
		{"broken field set", `{"f:data"`, `{"data":{"k":"v"}}`, false},
		{"broken key", `{"f:x":{"k:{":{}}}`, `{"x":[{"a":1}]}`, false},
		{"child of another shape", `{"f:x":[]}`, `{"x":1}`, false},
		{"broken body", `{"f:x":{}}`, `{"x"`, false},
		{"simulated", allFields, `{"x":1}`, true},
	}
	for _, tt := range tests {
		o := Object{Body: NewBody([]byte(tt.body))}
		if got := o.Covered(Record{Fields: unique.Make(tt.fields)}); got != tt.want {
			t.Errorf("%s: Covered(%s) of %s: got %v, want %v", tt.name, tt.fields, tt.body, got, tt.want)
		}
	}
}

// An entry in terms of another version covers nothing, whatever its fields.
func TestCoveredInAnotherVersion(t *testing.T) {
	for _, tt := range []struct {
		group, version, entry string
		want                  bool
	}{
		{"", "v1", "v1", true},
		{"", "v1", "v2", false},
		{"", "v1", "", false},
		{"", "v1", "apps/v1", false},
		{"", "v1", "/v1", true},
		{"apps", "v1", "apps/v1", true},
		{"apps", "v1", "v1", false},
		{"apps", "v1", "apps/v1beta2", false},
		{"apps", "v1", "policy/v1", false},
		{"apps", "v1", "apps/v1/", false},
	} {
		o := Object{Key: Key{Group: tt.group}, Version: tt.version, Body: NewBody([]byte(`{"x":1}`))}
		if got := o.Covered(Record{Fields: unique.Make(tt.entry + `{"f:x":{}}`)}); got != tt.want {
			t.Errorf("Covered of %s by an entry of %q: got %v, want %v", o.APIVersion(), tt.entry, got, tt.want)
		}
	}
}

// What is walked through is judged as what is decoded was, whatever the two look like.
func TestCoveredAsDecoded(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	covered, coverage := 0, Coverage{}
	for range 20_000 {
		body, fields := bodyAndFields(r)
		o, record := Object{Body: NewBody(body)}, Record{Fields: unique.Make(string(fields))}
		want := coveredDecoded(o, record)
		if got := coverage.Covers(o, record); got != want {
			t.Fatalf("seed %d: Covered(%s) of %s: got %v, want %v", seed, fields, body, got, want)
		}
		if want {
			covered++
		}
	}
	if covered < 2_000 || covered > 19_000 { // 17,900, give or take 50
		t.Errorf("seed %d: %d of 20000 are covered: the test says little", seed, covered)
	}
}

// bodyAndFields makes an object, and the field set of all of it with some of it left out, or changed.
func bodyAndFields(r *rand.Rand) (body, fields []byte) {
	v := value(r, 0)
	set := fieldsOf(r, v)
	body, _ = json.Marshal(v)
	fields, _ = json.Marshal(set)
	return body, fields
}

func value(r *rand.Rand, depth int) any {
	scalars := []any{"a", "", "<&>", "ü\u2028", `\"`, `{"a":[`, "a\\", 1, 1.5, -3, 1e30, true, false, nil, "apiVersion"}
	switch n := r.IntN(6 + depth); {
	case depth == 0 || n == 0:
		out := map[string]any{}
		for range r.IntN(4) {
			out[nameIn(r)] = value(r, depth+1)
		}
		return out
	case n == 1 && depth < 5:
		out := []any{}
		for range r.IntN(4) {
			out = append(out, value(r, depth+1))
		}
		return out
	}
	return scalars[r.IntN(len(scalars))]
}

func nameIn(r *rand.Rand) string {
	all := []string{"a", "b", "c", "metadata", "name", "kind", "apiVersion", "spec", "<", "\"", "a/b", ".", "ü", "k:", ""}
	return all[r.IntN(len(all))]
}

// fieldsOf is what a server would list of a value, or nearly.
func fieldsOf(r *rand.Rand, v any) any {
	if r.IntN(40) == 0 {
		return []any{map[string]any{}, "a", nil, map[string]any{".": map[string]any{}}}[r.IntN(4)]
	}
	out := map[string]any{}
	switch w := v.(type) {
	case map[string]any:
		for name, v := range w {
			if r.IntN(30) > 0 {
				out["f:"+name] = fieldsOf(r, v)
			}
		}
	case []any:
		for _, item := range w {
			out[keyOf(r, item)] = fieldsOf(r, item)
		}
	}
	if m, ok := v.(map[string]any); ok && len(m) > 0 && len(out) == 0 {
		out["."] = map[string]any{}
	}
	return out
}

// keyOf is how a list item may be named: by some of its fields, or by its value.
func keyOf(r *rand.Rand, item any) string {
	m, ok := item.(map[string]any)
	if !ok || r.IntN(8) == 0 {
		b, _ := json.Marshal(item)
		if r.IntN(2) == 0 {
			b = bytes.ReplaceAll(b, []byte(`\u003c`), []byte("<")) // as the server escapes
		}
		return "v:" + string(b)
	}
	key := map[string]any{}
	for name, v := range m {
		if r.IntN(3) > 0 {
			key[name] = v
		}
	}
	if r.IntN(4) == 0 {
		key["filled in"] = 1
	}
	b, _ := json.Marshal(key)
	return "k:" + string(b)
}

// FuzzCovered: asked twice it says the same; of what we write, what decoding both would say.
func FuzzCovered(f *testing.F) {
	f.Add(`{"f:spec":{"f:ports":{"k:{\"port\":1}":{".":{},"f:port":{}}}}}`, `{"spec":{"ports":[{"port":1}]}}`)
	f.Add(`{"f:x":{"v:\"a\"":{}}}`, `{"x":["a"],"metadata":{"name":"a"}}`)
	f.Add(`{"f:x":{"k:{\"a\":[1]}":{}}}`, `{"x":[{"a":[1]}]}`)
	f.Add(`*`, `{}`)
	f.Fuzz(func(t *testing.T, fields, text string) {
		o, r := Object{Body: NewBody([]byte(text))}, Record{Fields: unique.Make(fields)}
		if first := o.Covered(r); o.Covered(r) != first {
			t.Errorf("Covered(%s) of %s: got %v, then another answer", fields, text, first)
		}
		var v map[string]any
		if json.Unmarshal([]byte(text), &v) != nil || v == nil {
			return
		}
		body, err := json.Marshal(v) // canonical: once each, in order
		if err != nil {
			return
		}
		o = Object{Body: NewBody(body)}
		if got, want := o.Covered(r), coveredDecoded(o, r); got != want {
			t.Errorf("Covered(%s) of %s: got %v, want %v", fields, body, got, want)
		}
	})
}
