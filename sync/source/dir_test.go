package source_test

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/sync/source"
)

func TestDir(t *testing.T) {
	r := newRepo(t) // a checkout: it has a .git, which is not looked at
	snap, err := source.Dir(r.work)
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
	snap, err := source.File(r.work + "/fleet/east.yaml")
	if err != nil {
		t.Fatalf("File: %v", err)
	}
	if diff := cmp.Diff([]string{"east.yaml"}, names(t, snap.Tree)); diff != "" {
		t.Errorf("names(Tree): -want +got\n%s", diff)
	}
	link(r, "fleet/up.yaml")
	_, err = source.File(r.work + "/fleet/up.yaml")
	refuse(t, err, "up.yaml: is a symbolic link")
	_, err = source.File(r.work + "/fleet/nope.yaml")
	refuse(t, err, "nope.yaml", "no such file or directory")
}

func TestDirRefuses(t *testing.T) {
	r := newRepo(t)
	_, err := source.Dir(r.work + "/nope")
	refuse(t, err, "nope", "no such file or directory")
	_, err = source.Dir(r.work + "/README.md")
	refuse(t, err, "README.md", "not a directory")
	link(r, "fleet/up.yaml")
	_, err = source.Dir(r.work)
	refuse(t, err, r.work, "fleet/up.yaml: is a symbolic link")
	if err := os.Remove(r.work + "/fleet/up.yaml"); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "fleet/other")
	_, err = source.Dir(r.work)
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
