package object

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

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

func TestMember(t *testing.T) {
	const text = ` { "a" : 1 , "b\u0062":{"}":"\"]"},"c":[ ] ,"a":null } `
	for name, want := range map[string]string{"a": `"a" : 1`, "bb": `"b\u0062":{"}":"\"]"}`, "c": `"c":[ ]`, "}": ""} {
		if p, ok := Member([]byte(text), name); !ok || text[p.Begin:p.To] != want || want != "" && p.Name != name {
			t.Errorf("Member(%s, %s): %+v, %v, want %s", text, name, p, ok, want)
		}
	}
	for _, in := range []string{``, `1`, `null`, `[]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1}}`, `{"a":1,"b":"c}`} {
		if p, ok := Member([]byte(in), "a"); ok {
			t.Errorf("Member(%s): %+v", in, p)
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
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		var list []json.RawMessage
		if decoded := json.Unmarshal(raw, &list) == nil && list != nil; decoded != isList {
			t.Fatalf("Items(%s): %v", raw, isList)
		}
		for i, one := range list {
			if string(one) != string(items[i]) {
				t.Errorf("Items(%s): item %d is %s, want %s", raw, i, items[i], one)
			}
		}
		var members map[string]json.RawMessage
		if decoded := json.Unmarshal(raw, &members) == nil && members != nil; decoded != isObject {
			t.Fatalf("Parts(%s): %v", raw, isObject)
		}
		if diff := cmp.Diff(members, membersOf(t, raw, parts)); isObject && diff != "" {
			t.Errorf("Parts(%s): -want +got\n%s", raw, diff)
		}
	})
}

// membersOf is what parts say, of those of one name the last; name and value together say it, too.
func membersOf(t *testing.T, raw []byte, parts []Part) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	for _, p := range parts {
		var one map[string]json.RawMessage
		value := string(raw[p.From:p.To])
		if err := json.Unmarshal([]byte("{"+string(raw[p.Begin:p.To])+"}"), &one); err != nil || string(one[p.Name]) != value {
			t.Errorf("Parts(%s): member %q is %s, %v", raw, p.Name, raw[p.Begin:p.To], err)
		}
		out[p.Name] = json.RawMessage(value)
	}
	return out
}
