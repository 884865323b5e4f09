package cluster

import (
	"encoding/json"
	"testing"
)

func TestGuard(t *testing.T) {
	tests := []struct{ in, uid, want string }{
		{`{"kind":"A","metadata":{"name":"a"},"b":1.0}`, "u", `{"kind":"A","metadata":{"uid":"u","resourceVersion":"7","name":"a"},"b":1.0}`},
		{`{"kind":"A","metadata":{"name":"a"}}`, "", `{"kind":"A","metadata":{"resourceVersion":"7","name":"a"}}`},
		{`{"spec":{"metadata":{"x":1}},"metadata":{ }}`, "", `{"spec":{"metadata":{"x":1}},"metadata":{"resourceVersion":"7" }}`},
		{`{"spec":{"metadata":null}}`, "", `{"metadata":{"resourceVersion":"7"},"spec":{"metadata":null}}`},
		{`{}`, "u", `{"metadata":{"uid":"u","resourceVersion":"7"}}`},
		{` { "a" : [ "metadata" , {"metadata":{}} ] }`, "", ` {"metadata":{"resourceVersion":"7"}, "a" : [ "metadata" , {"metadata":{}} ] }`},
	}
	for _, tt := range tests {
		got, err := guard([]byte(tt.in), tt.uid, "7")
		if err != nil || string(got) != tt.want {
			t.Errorf("guard(%s): got %s, %v, want %s", tt.in, got, err, tt.want)
		}
		if !json.Valid(got) {
			t.Errorf("guard(%s): got no JSON: %s", tt.in, got)
		}
	}
	if got, err := guard([]byte(`{"metadata":{}}`), "u", ""); err != nil || string(got) != `{"metadata":{"uid":"u"}}` {
		t.Errorf("guard by uid alone: got %s, %v", got, err)
	}
	if got, err := guard([]byte(`{"metadata":{}}`), "", ""); err != nil || string(got) != `{"metadata":{}}` {
		t.Errorf("guard by nothing: got %s, %v", got, err)
	}
	for _, in := range []string{``, `[]`, `{"metadata":1}`, `{"metadata":null}`, `{"a":`, `{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"name":"a","uid":"u"}}`} {
		if got, err := guard([]byte(in), "", "7"); err == nil {
			t.Errorf("guard(%s): got %s, want an error", in, got)
		}
	}
}

func FuzzGuard(f *testing.F) {
	f.Add(`{"kind":"A","metadata":{"name":"a"}}`)
	f.Add(`{"spec":[{"metadata":{}}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			t.Skip()
		}
		got, err := guard([]byte(in), "u", "7")
		if err != nil {
			return
		}
		var out struct {
			Metadata map[string]any `json:"metadata"`
		}
		if err := json.Unmarshal(got, &out); err != nil {
			t.Fatalf("guard(%s): got %s: %v", in, got, err)
		}
		if len(got) <= len(in) {
			t.Fatalf("guard(%s): got %s, want preconditions in it", in, got)
		}
	})
}
