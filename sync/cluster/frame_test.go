package cluster

import (
	"maps"
	"testing"

	"github.com/linkwright/linkwright/object"
)

// A frame that is taken apart is checked as one that is decoded would be: nothing behind it looks at all of it again.
func TestFramesOfJSON(t *testing.T) {
	const one = `{"metadata":{"name":"a"}}`
	for _, c := range []struct {
		frame, kind, object string
		ok                  bool
	}{
		{`{"type":"ADDED","object":` + one + `}`, "ADDED", one, true},
		{"{ \"object\" : " + one + " ,\n\"type\":\"MODIFIED\", \"more\":[1]}\n", "MODIFIED", one, true},
		{`{"object":` + one + `}`, "", one, true},
		{`{"type":"ADDED","object":{"metadata":{"name":"a",}}}`, "", "", false},
		{`{"type":"ADDED","object":` + one, "", "", false},
		{`{"type":1,"object":` + one + `}`, "", one, false},
		{`["ADDED"]`, "", "", false},
	} {
		got, err := (&stream{}).frame([]byte(c.frame))
		if (err == nil) != c.ok || got.Type != c.kind || string(got.Object.Raw) != c.object {
			t.Errorf("%s: %q, %s, %v", c.frame, got.Type, got.Object.Raw, err)
		}
	}
}

func TestLabelsOf(t *testing.T) {
	for body, want := range map[string]map[string]string{
		`{"spec":{"labels":{"a":"x"}},"metadata":{"name":"n","labels":{"a":"b\"c"}}}`: {"a": `b"c`},
		`{"metadata":{"labels":null}}`:    nil,
		`{"metadata":{"labels":{"a":1}}}`: nil,
		`{"metadata":{"name":"n"}}`:       nil,
		`{"spec":{}}`:                     nil,
	} {
		if got := labelsOf(object.NewBody([]byte(body))); !maps.Equal(got, want) {
			t.Errorf("%s: %v", body, got)
		}
	}
}
