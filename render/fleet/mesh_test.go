package fleet

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// Many meshes that link nothing cost as much as their selectors, which is bounded, too.
func TestSelectorsAreBounded(t *testing.T) {
	tree := meshOf(1000)
	var text strings.Builder
	const hubless = "---\napiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: {name: m%d}\n" +
		"spec: {clusters: {}, topology: HubAndSpoke, hubs: {matchLabels: {a: b}}}\n"
	for i := range 5000 {
		fmt.Fprintf(&text, hubless, i)
	}
	tree["mesh.yaml"] = &fstest.MapFile{Data: []byte(text.String())}
	f, problems := Load("", tree)
	want := "the selectors of all meshes up to Mesh m3333 are too many or too long for 1000 clusters"
	if f != nil || len(problems) != 2 || problems[0].Message != want || problems[1].Code != Unjudged {
		t.Errorf("Load: %v, want %q", problems, want)
	}
}

// What a check compares is bounded by what is declared, not by its square.
func TestLongSelectors(t *testing.T) {
	var in, notIn strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&in, "v%d, ", i)
		fmt.Fprintf(&notIn, "v%d, ", 19_999-i)
	}
	tree := meshOf(2)
	tree["mesh.yaml"].Data = fmt.Appendf(tree["mesh.yaml"].Data, "  template:\n    selector: {matchExpressions: "+
		"[{key: k, operator: In, values: [%s]}, {key: k, operator: NotIn, values: [%s]}]}\n", &in, &notIn)
	_, problems := Load("", tree)
	if len(problems) != 1 || problems[0].Code != ImpossibleSelector {
		t.Errorf("Load: %v", problems)
	}
}
