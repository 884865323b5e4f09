package object

import (
	"fmt"
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
		{"simulated", everything, `{"x":1}`, true},
	}
	for _, tt := range tests {
		o := Object{Body: NewBody([]byte(tt.body))}
		if got := o.Covered(Record{Fields: unique.Make(tt.fields)}); got != tt.want {
			t.Errorf("%s: Covered(%s) of %s: got %v, want %v", tt.name, tt.fields, tt.body, got, tt.want)
		}
	}
}

func FuzzCovered(f *testing.F) {
	f.Add(`{"f:spec":{"f:ports":{"k:{\"port\":1}":{".":{},"f:port":{}}}}}`, `{"spec":{"ports":[{"port":1}]}}`)
	f.Add(`{"f:x":{"v:\"a\"":{}}}`, `{"x":["a"],"metadata":{"name":"a"}}`)
	f.Add(`*`, `{}`)
	f.Add(`{"f:x":{"k:{\"a\":[1]}":{}}}`, `{"x":[{"a":[1]}]}`)
	f.Fuzz(func(t *testing.T, fields, body string) {
		o := Object{Body: NewBody([]byte(body))}
		first := o.Covered(Record{Fields: unique.Make(fields)})
		if second := o.Covered(Record{Fields: unique.Make(fields)}); second != first {
			t.Errorf("Covered(%s) of %s: got %v, then %v", fields, body, first, second)
		}
	})
}
