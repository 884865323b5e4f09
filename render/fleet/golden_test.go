package fleet

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/api"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// Each archive is a tree, and a file "out": the problems of Load, then a summary of its fleet. A file "built" is what
// kustomize made of the tree.
func TestLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Error("the first line must say the behaviour in words")
	}
	tree, want := treeOf(archive)
	got := summary(Load("", tree))
	if strings.Contains(got, "canary") {
		t.Errorf("Load(%s) tells a secret:\n%s", file, got)
	}
	if *update {
		rewrite(t, file, archive, got)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Load(%s): -want +got\n%s", file, diff)
	}
}

// builtTree is a tree that kustomize has built.
type builtTree struct {
	fstest.MapFS
	stream []byte
}

func (b builtTree) Built() []byte { return b.stream }

func treeOf(archive *txtar.Archive) (tree fs.FS, want string) {
	files := fstest.MapFS{}
	tree = files
	for _, f := range archive.Files {
		switch f.Name {
		case "out":
			want = string(f.Data)
		case "built":
			tree = builtTree{files, f.Data}
		default:
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return tree, want
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, out string) {
	t.Helper()
	var kept []txtar.File
	for _, f := range archive.Files {
		if f.Name != "out" {
			kept = append(kept, f)
		}
	}
	archive.Files = append(kept, txtar.File{Name: "out", Data: []byte(out)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func summary(f *Fleet, problems []api.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		if p.Code != "" {
			fmt.Fprintf(&b, "[%s] ", p.Code)
		}
		fmt.Fprintln(&b, p)
	}
	if f == nil {
		fmt.Fprintln(&b, "no fleet")
		return b.String()
	}
	for _, c := range f.Clusters {
		fmt.Fprintln(&b, "cluster", c.Name, c.Labels, c.At)
		if c.Overlay != nil {
			fmt.Fprintln(&b, "  overlay", c.Overlay.Dir, c.Overlay.At)
		}
		for _, v := range c.Values {
			fmt.Fprintln(&b, "  value", v.Path, v.JSON, "of", v.From, v.At)
		}
	}
	for _, c := range f.Clusters {
		if r := c.Rollout; r != nil {
			fmt.Fprintln(&b, "rollout of", c.Name, "wave", r.Wave, "at once", *r.MaxUnavailableWorkloads, *r.PerNamespace, r.Detection, "of", r.From, r.At)
		}
	}
	for l := range f.Links() {
		fmt.Fprintln(&b, "link", l.Pair(), "of", l.From, *l.At)
	}
	return b.String()
}
