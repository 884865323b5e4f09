package source_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/sync/source"
)

func TestDir(t *testing.T) {
	r := newRepo(t) // a checkout: it has a .git, which is not looked at
	snap, err := source.Dir(r.work, source.Options{})
	if err != nil {
		t.Fatalf("Dir: %v", err)
	}
	if snap.Commit != "" {
		t.Errorf("Commit = %q, want none", snap.Commit)
	}
	want := []string{"README.md", "fleet/east.yaml"}
	if diff := cmp.Diff(want, names(t, snap.Tree)); diff != "" {
		t.Errorf("names(Tree): -want +got\n%s", diff)
	}
	if err := fstest.TestFS(snap.Tree, want...); err != nil {
		t.Error(err)
	}
	r.write("README.md", "changed")
	if text := read(t, snap, "README.md"); text != "beside\n" {
		t.Errorf("README.md = %q: the snapshot changed with the directory", text)
	}
}

func TestFile(t *testing.T) {
	r := newRepo(t)
	snap, err := source.File(r.work+"/fleet/east.yaml", source.Options{})
	if err != nil {
		t.Fatalf("File: %v", err)
	}
	if diff := cmp.Diff([]string{"east.yaml"}, names(t, snap.Tree)); diff != "" {
		t.Errorf("names(Tree): -want +got\n%s", diff)
	}
	link(r, "fleet/up.yaml")
	_, err = source.File(r.work+"/fleet/up.yaml", source.Options{})
	refuse(t, err, "up.yaml: is a symbolic link")
	_, err = source.File(r.work+"/fleet/nope.yaml", source.Options{})
	refuse(t, err, "nope.yaml", "no such file or directory")
}

func TestDirRefuses(t *testing.T) {
	r := newRepo(t)
	_, err := source.Dir(r.work+"/nope", source.Options{})
	refuse(t, err, "nope", "no such file or directory")
	_, err = source.Dir(r.work+"/README.md", source.Options{})
	refuse(t, err, "README.md", "not a directory")
	link(r, "fleet/up.yaml")
	_, err = source.Dir(r.work, source.Options{})
	refuse(t, err, r.work, "fleet/up.yaml: is a symbolic link")
	if err := os.Remove(r.work + "/fleet/up.yaml"); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "fleet/other")
	_, err = source.Dir(r.work, source.Options{})
	refuse(t, err, "fleet/other: is a repository of its own")
}

func read(t *testing.T, s source.Snapshot, name string) string {
	t.Helper()
	b, err := fs.ReadFile(s.Tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A path is opened as Git would: through no link, and without a look beside it.
func TestDirBelow(t *testing.T) {
	r := newRepo(t)
	link(r, "docs/up.md")
	snap, err := source.Dir(r.work, source.Options{Path: "fleet"})
	if err != nil {
		t.Fatalf("Dir(fleet): %v", err)
	}
	if diff := cmp.Diff([]string{"east.yaml"}, names(t, snap.Tree)); diff != "" {
		t.Errorf("names(Tree): -want +got\n%s", diff)
	}
	if err := os.Symlink("fleet", r.work+"/other"); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "fleet/own")
	for below, words := range map[string]string{
		"nope/fleet":      "nope does not exist",
		"other":           "other is a symbolic link",
		"other/sub":       "other is a symbolic link",
		"fleet/east.yaml": "fleet/east.yaml is a file",
		"fleet/own":       "fleet/own: is a repository of its own",
		"../x":            "stay inside",
		"/fleet":          "stay inside",
	} {
		_, err := source.Dir(r.work, source.Options{Path: below})
		refuse(t, err, words)
	}
}

// What a commit holds as a submodule is refused in a work tree, too, where it may be an empty directory.
func TestDirRefusesAHollowSubmodule(t *testing.T) {
	r := newRepo(t)
	r.write(".gitmodules", "[submodule \"a\"]\n\tpath = fleet/other\n\turl = https://git.example.com/other.git\n")
	if err := os.Mkdir(r.work+"/fleet/other", 0o755); err != nil {
		t.Fatal(err)
	}
	for below, words := range map[string]string{"": "fleet/other: is a submodule", "fleet": "other: is a submodule"} {
		_, err := source.Dir(r.work, source.Options{Path: below})
		refuse(t, err, words)
	}
	r.write("docs/page.md", "")
	if _, err := source.Dir(r.work, source.Options{Path: "docs"}); err != nil {
		t.Errorf("Dir(docs), beside a submodule: %v", err)
	}
}

// A directory is bounded as a commit is.
func TestDirBounds(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+strings.Repeat("/d", source.MaxDepth+1), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Dir(dir, source.Options{}); err != nil {
		t.Errorf("Dir of %d directories in one another: %v", source.MaxDepth, err)
	}
	if err := os.Mkdir(dir+strings.Repeat("/d", source.MaxDepth+2), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := source.Dir(dir, source.Options{})
	refuse(t, err, "lies in more than 64 directories")
	dir = t.TempDir()
	if err := os.WriteFile(dir+"/large", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(dir+"/large", source.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err = source.Dir(dir, source.Options{})
	refuse(t, err, "too large: with large, the files are larger than 64 MiB")
}
