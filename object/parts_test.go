package object

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParts(t *testing.T) {
	const text = ` { "a" : 1 , "b\u0062":{"}":"\"]"},"c":[ ] ,"a":null } `
	parts, ok := Parts([]byte(text))
	var got [][3]string
	for _, p := range parts {
		got = append(got, [3]string{p.Name, text[p.Begin:p.To], text[p.From:p.To]})
	}
	want := [][3]string{{"a", `"a" : 1`, `1`}, {"bb", `"b\u0062":{"}":"\"]"}`, `{"}":"\"]"}`}, {"c", `"c":[ ]`, `[ ]`}, {"a", `"a":null`, `null`}}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("Parts(%s): %v -want +got\n%s", text, ok, diff)
	}
	for _, in := range []string{``, `1`, `null`, `[]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1}}`, `{"a":"b}`} {
		if parts, ok := Parts([]byte(in)); ok {
			t.Errorf("Parts(%s): %v", in, parts)
		}
	}
}

func TestItems(t *testing.T) {
	items, ok := Items([]byte(` [ 1 ,{"a":[2]}, "]" ] `))
	var got []string
	for _, one := range items {
		got = append(got, string(one))
	}
	if diff := cmp.Diff([]string{`1`, `{"a":[2]}`, `"]"`}, got); diff != "" || !ok {
		t.Errorf("Items: %v -want +got\n%s", ok, diff)
	}
	for _, in := range []string{``, `{}`, `[`, `[1`, `["]`, `[]]`} {
		if items, ok := Items([]byte(in)); ok {
			t.Errorf("Items(%s): %q", in, items)
		}
	}
}

// FuzzParts holds Parts and Items against encoding/json.
func FuzzParts(f *testing.F) {
	f.Add([]byte(`{"a":{"b":["c"]},"d":"\\\"}"}`))
	f.Add([]byte(` [ 1, {"a":"]"} ] `))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parts, isObject := Parts(raw)
		items, isList := Items(raw)
		if !json.Valid(raw) {
			return
		}
		var list []json.RawMessage
		var members map[string]json.RawMessage
		listed, decoded := json.Unmarshal(raw, &list) == nil && list != nil, json.Unmarshal(raw, &members) == nil && members != nil
		if listed != isList || decoded != isObject || len(items) != len(list) {
			t.Fatalf("%s: object %v, list %v with %d items", raw, isObject, isList, len(items))
		}
		for i, one := range items {
			if string(one) != string(list[i]) {
				t.Errorf("%s: item %d is %s, want %s", raw, i, one, list[i])
			}
		}
		last := map[string]json.RawMessage{}
		for _, p := range parts {
			last[p.Name] = raw[p.From:p.To]
			var one map[string]json.RawMessage
			if err := json.Unmarshal([]byte("{"+string(raw[p.Begin:p.To])+"}"), &one); err != nil || string(one[p.Name]) != string(last[p.Name]) {
				t.Errorf("%s: member %q is %s, %v", raw, p.Name, raw[p.Begin:p.To], err)
			}
		}
		if diff := cmp.Diff(members, last); diff != "" && isObject {
			t.Errorf("%s: -want +got\n%s", raw, diff)
		}
	})
}
