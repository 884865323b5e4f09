package declared

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/source"
)

// load loads the clusters c0 to c2 and what else is declared.
func load(t *testing.T, limit int, more string) (*fleet.Fleet, string) {
	t.Helper()
	loader, err := NewLoader(t.Context(), Options{Owner: "linkwright", MaxLinks: limit})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 3 {
		fmt.Fprintf(&text, "---\napiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c%d, labels: {mesh: all}}\n"+
			"spec: {access: {kubeconfigSecret: {name: c%d}}}\n", i, i)
	}
	tree := fstest.MapFS{"clusters.yaml": {Data: []byte(text.String())}, "more.yaml": {Data: []byte(more)}}
	f, problems, err := loader.Load(t.Context(), Origin{Snapshot: source.Snapshot{Commit: "1", Tree: tree}, Dir: "fleet"})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range problems {
		all = append(all, p.Code+" "+p.String())
	}
	return f, strings.Join(all, "\n")
}

func TestTooManyLinks(t *testing.T) {
	link := func(source, target string) string {
		return fmt.Sprintf("---\napiVersion: linkwright.dev/v1alpha1\nkind: Link\nmetadata: {name: %s-%s}\nspec: {source: %[1]s, target: %[2]s}\n", source, target)
	}
	const mesh = "---\napiVersion: linkwright.dev/v1alpha1\nkind: Mesh\nmetadata: {name: all}\nspec: {clusters: {matchLabels: {mesh: all}}}\n"
	for _, tt := range []struct {
		name  string
		limit int
		more  string
		want  string // of the problem; empty: none
	}{
		{"as many as allowed", 6, mesh, ""},
		{"a mesh", 5, mesh, "TooManyLinks fleet/more.yaml:2:1: 6 links are declared, more than the limit of 5: Mesh all declares 6"},
		{"a mesh and a link", 5, link("c0", "c1") + mesh, "6 links are declared, more than the limit of 5: Mesh all declares 5"},
		{"links", 1, link("c0", "c1") + link("c1", "c0"), "2 links are declared, more than the limit of 1: Link c0-c1 declares 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, got := load(t, tt.limit, tt.more)
			if refused := f == nil; refused != (tt.want != "") || !strings.Contains(got, tt.want) {
				t.Errorf("limit %d: fleet %v, problems %q, want %q", tt.limit, f != nil, got, tt.want)
			}
		})
	}
}
