package enroll

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/source"
)

// Files that Git does not have are not declared. Names are no patterns: [a].yaml is ignored, and a.yaml is not.
func TestIgnoredFilesAreNotDeclared(t *testing.T) {
	at := newCheckout(t)
	for _, dir := range []string{"fleet", "fleet/build", "fleet/clusters", "other"} {
		if err := os.Mkdir(filepath.Join(at.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"other/[a].yaml", "fleet/[a].yaml", "fleet/a.yaml", "fleet/build/all.yaml", "fleet/clusters/east.yaml", "fleet/clusters/a\nb.yaml",
		"fleet/clusters/mine.yaml", "fleet/clusters/tracked.yaml",
	} {
		at.write(t, name, "kind: Cluster\n", 0o600)
	}
	at.must(t, "add", "fleet/clusters/tracked.yaml")
	at.write(t, ".gitignore", "\\[a].yaml\nbuild/\ntracked.yaml\na?b.yaml\n", 0o600)
	at.write(t, ".git/info/exclude", "mine.yaml\n", 0o600)
	fleet, err := openCheckout(t.Context(), filepath.Join(at.dir, "fleet"))
	if err != nil {
		t.Fatal(err)
	}
	b := bootstrap{enrollment: enrollment{f: &cli.Common{}}}
	snapshot, err := source.Dir(fleet.dir, b.readable(fleet))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = fs.WalkDir(snapshot.Tree, ".", func(name string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			got = append(got, name)
		}
		return err
	})
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a.yaml", "clusters/east.yaml", "clusters/tracked.yaml"}, got); diff != "" || err != nil {
		t.Errorf("declarations: %v, -want +got\n%s", err, diff)
	}
}

func TestOpenIgnoredCheckout(t *testing.T) {
	at := newCheckout(t)
	dir := filepath.Join(at.dir, "fleet")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at.write(t, "fleet/a.yaml", "kind: Cluster\n", 0o600)
	at.write(t, ".gitignore", "fleet/\n", 0o600)
	if _, err := openCheckout(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "take it out of .gitignore") {
		t.Errorf("openCheckout: %v", err)
	}
}
