package overlay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
)

// TestPlaces: a file is read once, however many objects stand in it; what cannot be found in it is told as the file.
func TestPlaces(t *testing.T) {
	var file strings.Builder
	for i := range 3 {
		fmt.Fprintf(&file, "kind: A\nmetadata: {name: a-%d}\n---\n", i)
	}
	c := validated{File: "k.yaml", Files: map[string][]byte{"a.yaml": []byte(file.String())}}
	p := positions{c, map[string]map[documentID]api.Pos{}}
	var got []string
	for _, e := range []struct{ file, name string }{{"a.yaml", "a-0"}, {"a.yaml", "a-2"}, {"a.yaml", "b"}, {"", "a-0"}} {
		x := extra{origin: e.file}
		x.id.key.Kind, x.id.key.Name = "A", e.name
		got = append(got, p.of(x).String())
		c.Files["a.yaml"] = nil // a second look would find nothing
	}
	if diff := cmp.Diff([]string{"a.yaml:1:7", "a.yaml:7:7", "a.yaml", "k.yaml"}, got); diff != "" {
		t.Errorf("of: -want +got\n%s", diff)
	}
}
