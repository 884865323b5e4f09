package overlay

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/linkwright/linkwright/api"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func newCage(t *testing.T, o Options) *Sandbox {
	t.Helper()
	c := New(o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close(): %v", err)
		}
	})
	return c
}

// goldens gives each archive of a directory as a tree, and compares what its file "out" holds. A file whose content is
// "-> PATH" is a symbolic link.
func goldens(t *testing.T, dir string, out func(*testing.T, fstest.MapFS) string) {
	names, err := filepath.Glob("testdata/" + dir + "/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if first, _, _ := strings.Cut(string(archive.Comment), "\n"); strings.TrimSpace(first) == "" {
				t.Error("the first line must say the behaviour in words")
			}
			tree, want := treeOf(archive)
			got := out(t, tree)
			if *update {
				rewrite(t, name, archive, got)
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", name, diff)
			}
		})
	}
}

func treeOf(archive *txtar.Archive) (tree fstest.MapFS, out string) {
	tree = fstest.MapFS{}
	for _, f := range archive.Files {
		switch to, link := strings.CutPrefix(string(f.Data), "-> "); {
		case f.Name == "out":
			out = string(f.Data)
		case link:
			tree[f.Name] = &fstest.MapFile{Data: []byte(strings.TrimSpace(to)), Mode: fs.ModeSymlink | 0o777}
		default:
			tree[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return tree, out
}

func rewrite(t *testing.T, name string, archive *txtar.Archive, out string) {
	t.Helper()
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "out" })
	archive.Files = append(archive.Files, txtar.File{Name: "out", Data: []byte(out)})
	if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lines(problems []api.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

// Each archive is a tree; out is what it builds, or the problems.
func TestFlatten(t *testing.T) {
	c := newCage(t, Options{})
	goldens(t, "flatten", func(t *testing.T, tree fstest.MapFS) string {
		flat, problems, err := c.Flatten(t.Context(), tree)
		if err != nil {
			t.Fatalf("Flatten(): %v", err)
		}
		if (flat == nil) != (len(problems) > 0) {
			t.Errorf("Flatten(): a tree %v with problems %v", flat, problems)
		}
		if flat == nil {
			return lines(problems)
		}
		return string(flat.(interface{ Built() []byte }).Built())
	})
}

// Each archive is a tree whose directory "overlay" is checked as an overlay; out is what is let through, or the problems.
func TestComponent(t *testing.T) {
	goldens(t, "component", func(_ *testing.T, tree fstest.MapFS) string {
		c, problems := validateComponent(tree, "overlay", api.Pos{File: "east.yaml", Line: 7, Col: 12}, Limits{})
		if len(problems) > 0 {
			return lines(problems)
		}
		var b strings.Builder
		for _, p := range c.Patches {
			fmt.Fprintf(&b, "%s: a patch of %s\n", p.At, p.Target.String())
		}
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			fmt.Fprintf(&b, "%s:\n%s\n", name, c.Files[name])
		}
		return b.String()
	})
}

func TestFlattenWithoutKustomization(t *testing.T) {
	c := newCage(t, Options{Program: "/does/not/exist"})
	tree := fstest.MapFS{"east.yaml": {Data: []byte("kind: Cluster\n")}, "overlays/kustomization.yaml": {Data: []byte("kind: Component\n")}}
	flat, problems, err := c.Flatten(t.Context(), tree)
	if len(problems) > 0 || err != nil {
		t.Fatalf("Flatten(): %v, %v", problems, err)
	}
	if diff := cmp.Diff(fs.FS(tree), flat); diff != "" {
		t.Errorf("Flatten(a plain tree): -want +got\n%s", diff)
	}
}

func TestFlattenRemembers(t *testing.T) {
	tree := fstest.MapFS{
		"kustomization.yaml": {Data: []byte("resources: [east.yaml]\n")},
		"east.yaml":          {Data: []byte("apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: east}\n")},
	}
	c := newCage(t, Options{})
	if _, problems, err := c.Flatten(t.Context(), tree); len(problems) > 0 || err != nil {
		t.Fatalf("Flatten(): %v, %v", problems, err)
	}
	c.options.Program = "/does/not/exist" // whoever starts another child fails
	c.endIdle()
	tree["notes.md"] = &fstest.MapFile{Data: []byte("nothing of the build\n")}
	if _, problems, err := c.Flatten(t.Context(), tree); len(problems) > 0 || err != nil {
		t.Errorf("Flatten(the same inputs): %v, %v", problems, err)
	}
	tree["east.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: Other\nmetadata: {name: east}\n")}
	if _, problems, err := c.Flatten(t.Context(), tree); len(problems) > 0 || err == nil {
		t.Error("Flatten(another input): built without a child")
	}
}

// What this machine fails at is an error; a bound that the tree exceeds is a problem of the tree. Neither is remembered.
func TestFlattenFailure(t *testing.T) {
	tree := fstest.MapFS{
		"kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")},
		"a.yaml":             {Data: smallJob().Files["a.yaml"]},
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, row := range []struct {
		name    string
		ctx     context.Context
		program string
		time    time.Duration
		error   string
	}{
		{"no program", t.Context(), "/does/not/exist", 0, "build kustomization.yaml: start the sandbox: "},
		{"no child", t.Context(), "/bin/false", 0, "build kustomization.yaml: the build process failed: "},
		{"not waited for", ended, "", 0, "context canceled"},
		{"before it has its job", t.Context(), "", time.Millisecond, "it takes longer than 1ms"},
	} {
		c := newCage(t, Options{Program: row.program, Limits: Limits{Time: row.time}})
		flat, problems, err := c.Flatten(row.ctx, tree)
		if flat != nil || len(problems) > 0 || err == nil || !strings.Contains(err.Error(), row.error) {
			t.Errorf("Flatten(%s): %v, %v, -want +got\n-%s\n+%v", row.name, flat, problems, row.error, err)
		}
		c.options.Program, c.options.Limits.Time = "", time.Minute
		if flat, problems, err := c.Flatten(t.Context(), tree); flat == nil {
			t.Errorf("Flatten(again, after %s): %v, %v", row.name, problems, err)
		}
	}
	tree["a.yaml"].Data = append(tree["a.yaml"].Data, "---\napiVersion: v1\nkind: A\nmetadata: {name: b}\n"...)
	_, problems, err := newCage(t, Options{Limits: Limits{Objects: 1}}).Flatten(t.Context(), tree)
	want := "kustomization.yaml: kustomize cannot build it: 2 objects: at most 1 are allowed (make it smaller: docs/explanation/kustomize.md lists the limits of a build)\n"
	if diff := cmp.Diff(want, lines(problems)); diff != "" || err != nil {
		t.Errorf("Flatten(too many objects): %v, -want +got\n%s", err, diff)
	}
}

// endIdle ends the children that wait.
func (c *Sandbox) endIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.idle {
		c.dismiss(k)
	}
	c.idle = nil
}
