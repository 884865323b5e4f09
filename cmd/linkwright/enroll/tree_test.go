package enroll

import (
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/source"
)

// A mesh is known by its declaration, and not by a text that resembles its name.
func TestHasMesh(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		want       bool
	}{
		"its declaration":        {"mesh.yaml", meshText("name: prod"), true},
		"in another file":        {"meshes/all.yml", meshText("name: prod"), true},
		"quoted, with a comment": {"mesh.yaml", meshText(`name: "prod" # all of it`), true},
		"a comment":              {"mesh.yaml", "# once name: prod\n" + meshText("name: test"), false},
		"a label":                {"mesh.yaml", meshText("name: test\n  labels:\n    name: prod"), false},
		"nothing":                {"README.md", "name: prod\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{tt.file: {Data: []byte(tt.text)}}
			has := tree{fleet: &fleet.Fleet{}, origin: declared.Origin{Snapshot: source.Snapshot{Tree: files}}}
			if got := has.hasMesh("prod"); got != tt.want {
				t.Errorf("hasMesh: %v, want %v\n%s", got, tt.want, tt.text)
			}
		})
	}
}

func meshText(metadata string) string {
	return "apiVersion: " + api.GroupVersion + "\nkind: Mesh\nmetadata:\n  " + metadata + "\nspec:\n  clusters: {}\n"
}
