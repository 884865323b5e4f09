package enroll

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
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

// A cluster that is added to a mesh may be too old for its links to clusters that were declared before, and are not read now.
func TestCheckFindsOldLinkerd(t *testing.T) {
	cluster := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("apiVersion: " + api.GroupVersion + "\nkind: Cluster\nmetadata:\n  name: " + name + "\nspec:\n  access:\n    kubeconfigSecret:\n      name: " + name + "\n")}
	}
	declares, problems := fleet.Load("", fstest.MapFS{
		"mesh.yaml": {Data: []byte(meshText("name: prod"))}, "west.yaml": cluster("west"), "east.yaml": cluster("east"), "old.yaml": cluster("old"),
	})
	if declares == nil {
		t.Fatal(problems)
	}
	for version, says := range map[string]string{"stable-2.14.10": "link old→east: LinkerdTooOld: Linkerd stable-2.14.10 in old needs controllers", "stable-2.18.0": ""} {
		found := []imported{{name: "old", facts: linkerd.Facts{Version: version}}}
		switch err := new(tree).check(declares, found); {
		case says == "" && err != nil, says != "" && err == nil:
			t.Errorf("%s: %v, want %q", version, err, says)
		case says != "" && (!strings.HasPrefix(err.Error(), says) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want one line that begins with %q", version, err, says)
		}
	}
}
