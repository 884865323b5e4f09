package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/sync/source"
)

func TestPatterns(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/drafts/b.yaml", "b\n")
	r.write("fleet/notes.md", "notes\n")
	r.write("fleet/mesh.yaml", "mesh\n")
	link(r, "fleet/links/up.yaml")
	r.git("add", "-A")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",fleet/module")
	r.git("commit", "-q", "-m", "all")
	r.git("push", "-q", "origin", "HEAD")
	for name, tt := range map[string]struct {
		include, exclude []string
		want             []string
		words            string
	}{
		"nothing":          {nil, nil, nil, "is a symbolic link"},
		"the link":         {nil, []string{"links/"}, nil, "module: is a submodule"},
		"both":             {nil, []string{"links/", "module"}, []string{"drafts/b.yaml", "east.yaml", "mesh.yaml", "notes.md"}, ""},
		"some":             {[]string{"/*.yaml"}, nil, []string{"east.yaml", "mesh.yaml"}, ""},
		"some of some":     {[]string{"*.yaml"}, []string{"drafts", "up.yaml"}, []string{"east.yaml", "links/beside.yaml", "mesh.yaml"}, ""},
		"a chosen link":    {[]string{"links/"}, nil, nil, "links/up.yaml: is a symbolic link"},
		"a chosen module":  {[]string{"module"}, nil, nil, "module: is a submodule"},
		"a miss":           {[]string{"*.yml"}, nil, nil, `include "*.yml": matches no file`},
		"one miss of two":  {[]string{"*.md", "clusters/"}, nil, nil, `include "clusters/": matches no file`},
		"all of it is out": {[]string{"drafts/"}, []string{"*.yaml"}, nil, `include "drafts/": matches no file`},
	} {
		t.Run(name, func(t *testing.T) {
			o := source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Path: "fleet", Include: tt.include, Exclude: tt.exclude}
			snap, err := open(t, o).Poll(t.Context())
			expect(t, snap, err, tt.want, tt.words)
			if name == "the link" || name == "a chosen module" {
				return // a plain directory has no module that was never checked out, nor .gitmodules
			}
			snap, err = source.Dir(r.work, o)
			expect(t, snap, err, tt.want, tt.words)
		})
	}
	_, err := source.File(r.work+"/fleet/mesh.yaml", source.Options{Include: []string{"*.md"}})
	refuse(t, err, `include "*.md": matches no file`)
}

func expect(t *testing.T, s source.Snapshot, err error, want []string, words string) {
	t.Helper()
	if words != "" {
		refuse(t, err, words)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, names(t, s.Tree)); diff != "" {
		t.Errorf("names(Tree): -want +got\n%s", diff)
	}
}
