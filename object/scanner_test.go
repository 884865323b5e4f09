package object

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	const body = `{"a":{"b\"":["}"],"c":{"d":"<\"ü\\"}, "e" : "f" },"n":1,"o":"1\n\t\/\\2","p":"1\n\u0041\b"}`
	tests := []struct {
		path []string
		want string
		ok   bool
	}{
		{[]string{"a", "c", "d"}, `<"ü\`, true},
		{[]string{"a", "e"}, "f", true},
		{[]string{"a", "f"}, "", false},
		{[]string{"n"}, "", false},
		{[]string{"a"}, "", false},
		{[]string{"n", "d"}, "", false},
		{[]string{"o"}, "1\n\t/\\2", true},
		{[]string{"p"}, "1\nA\b", true},
	}
	if !json.Valid([]byte(body)) {
		t.Fatal(body)
	}
	for _, tt := range tests {
		if got, ok := NewBody([]byte(body)).Text(tt.path...); got != tt.want || ok != tt.ok {
			t.Errorf("Text(%v): got %q, %v, want %q, %v", tt.path, got, ok, tt.want, tt.ok)
		}
	}
	for end := range len(body) { // whatever is cut off, it ends
		NewBody([]byte(body[:end])).Text("a", "c", "d")
	}
}

// Of valid JSON it finds what a decoder finds first; nothing else makes it stumble.
func FuzzText(f *testing.F) {
	f.Add([]byte(`{"a":[{"data":1}],"data":{"x":"\\\"","k":"v"}}`))
	f.Add([]byte(`{"d\u0061ta" : {"k":"\ud83d\ude00"}, "data":{"k":null}}`))
	f.Add([]byte(`{"data":{"k":"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := NewBody(raw).Text("data", "k")
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		if want, found := firstText(raw, "data", "k"); got != want || ok != found {
			t.Errorf("Text of %s: got %q, %v, want %q, %v", raw, got, ok, want, found)
		}
	})
}

// firstText is Body.Text by a decoder.
func firstText(raw []byte, path ...string) (string, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	for _, name := range path {
		if open, err := d.Token(); err != nil || open != json.Delim('{') {
			return "", false
		}
		for {
			if !d.More() {
				return "", false
			}
			if key, err := d.Token(); err != nil || key == name {
				break
			}
			var skip json.RawMessage
			if d.Decode(&skip) != nil {
				return "", false
			}
		}
	}
	var v any
	_ = d.Decode(&v)
	s, ok := v.(string)
	return s, ok
}
