package overlay

import (
	"bytes"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/linkwright/linkwright/api"
)

// FuzzValidate: any two kustomizations, one in the root and one beside other files, are refused with a place for every
// problem, or go on with clean paths to what the tree holds. What goes on is built right here, without a cage: it asks
// for no file that is not part of the job, opens no connection and starts no program.
func FuzzValidate(f *testing.F) {
	for _, name := range append(glob(f, "testdata/flatten/*.txtar"), glob(f, "testdata/component/*.txtar")...) {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.Contains(strings.ToLower(file.Name), "kustomization") {
				f.Add(file.Data, []byte("resources: [b.yaml]\n"))
				f.Add([]byte("resources: [a.yaml, sub]\n"), file.Data)
				f.Add([]byte("components: [sub]\n"), file.Data)
			}
		}
	}
	c := watchProcess(f)
	f.Fuzz(func(t *testing.T, root, sub []byte) {
		tree := fstest.MapFS{
			"kustomization.yaml":     {Data: root},
			"a.yaml":                 {Data: []byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {x: 1}\n")},
			"p.yaml":                 {Data: []byte("- {op: add, path: /spec/y, value: 2}\n")},
			"link":                   {Data: []byte("a.yaml"), Mode: os.ModeSymlink},
			"sub/kustomization.yaml": {Data: sub},
			"sub/b.yaml":             {Data: []byte("apiVersion: v1\nkind: B\nmetadata: {name: b}\n")},
			"github.com/o/r.yaml":    {Data: []byte("apiVersion: v1\nkind: C\nmetadata: {name: c}\n")},
		}
		validatedTree(t, c, tree, func() (validated, []api.Problem) { return newValidator(tree, Limits{}).validateRoot() })
		validatedTree(t, c, tree, func() (validated, []api.Problem) {
			return validateComponent(tree, "sub", api.Pos{File: "x", Line: 1}, Limits{})
		})
	})
}

// validatedTree judges one tree, and builds what is let through.
func validatedTree(t *testing.T, c *watcher, tree fstest.MapFS, gate func() (validated, []api.Problem)) {
	got, problems := gate()
	again, problemsAgain := gate()
	if diff := cmp.Diff(got.Hash, again.Hash) + cmp.Diff(problems, problemsAgain); diff != "" {
		t.Errorf("the gate, a second time: -first +second\n%s", diff)
	}
	for _, p := range problems {
		if p.Message == "" || p.Pos.File == "" {
			t.Errorf("problem %+v has no message or no place", p)
		}
	}
	if len(problems) > 0 {
		return
	}
	for name, data := range got.Files {
		if tree[name] == nil {
			t.Errorf("file %q of the job is none of the tree", name)
		}
		if path.Base(name) == "kustomization.yaml" {
			cleanPath(t, got.Files, path.Dir(name), data)
		}
	}
	j := job{Files: got.Files, Dir: got.Dir, Component: got.Dir != "."}
	watched := &watchedFS{FileSystem: filesys.MakeFsInMemory()}
	func() {
		defer func() { _ = recover() }() // a child takes a panic of kustomize for an error, too
		_, _ = j.runOn(watched)
	}()
	for _, asked := range watched.missed {
		if !permitted(got.Files, asked) {
			t.Errorf("the build asks for %q, which the gate did not see\n%s", asked, got.Files["kustomization.yaml"])
		}
	}
	c.check(t)
}

// cleanPath reads a kustomization that was let through once more, and holds each entry against a rule of its own.
func cleanPath(t *testing.T, files map[string][]byte, dir string, data []byte) {
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		t.Errorf("what was let through is no kustomization: %v\n%s", err, data)
	}
	if len(k.Generators)+len(k.Transformers)+len(k.Validators)+len(k.HelmCharts)+len(k.OpenAPI)+len(k.SecretGenerator)+
		len(k.HelmChartInflationGenerator)+len(k.Bases)+len(k.PatchesStrategicMerge) > 0 || k.HelmGlobals != nil {
		t.Errorf("a refused field was let through: %s", data)
	}
	for _, entry := range entriesOf(k) {
		if entry == "" {
			continue
		}
		local := entry == ".." || strings.HasPrefix(entry, "./") || strings.HasPrefix(entry, "../")
		if !local || strings.ContainsAny(entry, ":@?%&\\\n") || strings.Contains(entry, "//") {
			t.Errorf("entry %q was let through", entry)
		}
		name := path.Join(dir, entry)
		if files[name] == nil && files[path.Join(name, "kustomization.yaml")] == nil {
			t.Errorf("entry %q leads to nothing of the job", entry)
		}
	}
}

// entriesOf are all texts through which kustomize loads something; inline patches apart.
func entriesOf(k types.Kustomization) []string {
	out := append(append(append(append([]string{}, k.Resources...), k.Components...), k.Crds...), k.Configurations...)
	for _, p := range append(append([]types.Patch{}, k.Patches...), k.PatchesJson6902...) {
		out = append(out, p.Path)
	}
	for _, r := range k.Replacements {
		out = append(out, r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		out = append(append(out, g.EnvSources...), g.EnvSource)
		for _, file := range g.FileSources {
			if _, named, ok := strings.Cut(file, "="); ok {
				file = named
			}
			out = append(out, file)
		}
	}
	return out
}

// permitted reports whether a build may ask for what is not there: for another name of a kustomization file.
func permitted(files map[string][]byte, asked string) bool {
	name := strings.TrimPrefix(asked, treeRoot+"/")
	_, known := files[name]
	return known || strings.HasPrefix(asked, endRoot+"/") || strings.HasPrefix(asked, treeRoot) &&
		(path.Base(name) == "kustomization.yml" || path.Base(name) == "Kustomization" || path.Base(name) == "kustomization.yaml")
}

// watchedFS remembers what was asked for in vain.
type watchedFS struct {
	filesys.FileSystem
	missed []string
}

func (w *watchedFS) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	dir, file, err := w.FileSystem.CleanedAbs(name)
	if err != nil {
		w.missed = append(w.missed, name)
	}
	return dir, file, err
}

func (w *watchedFS) ReadFile(name string) ([]byte, error) {
	data, err := w.FileSystem.ReadFile(name)
	if err != nil {
		w.missed = append(w.missed, name)
	}
	return data, err
}

// watcher notices what this very process does: requests, and programs started from PATH.
type watcher struct {
	mark string

	mu       sync.Mutex
	requests []string
}

// RoundTrip implements http.RoundTripper: no request goes out.
func (c *watcher) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r.URL.String())
	return nil, http.ErrNotSupported
}

// watchProcess puts canaries where kustomize looks for a network and for programs.
func watchProcess(tb testing.TB) *watcher {
	c := &watcher{mark: filepath.Join(tb.TempDir(), "started")}
	before := http.DefaultTransport
	http.DefaultTransport = c
	tb.Cleanup(func() { http.DefaultTransport = before })
	tb.Setenv("PATH", fakePrograms(tb, c.mark))
	return c
}

func (c *watcher) check(tb testing.TB) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) > 0 {
		tb.Errorf("requests were made: %v", c.requests)
	}
	if text, err := os.ReadFile(c.mark); err == nil {
		tb.Errorf("programs were started: %s", text)
	}
}

// fakePrograms is a directory with everything that kustomize or a plugin might start; each leaves its name behind.
func fakePrograms(tb testing.TB, mark string) string {
	dir := tb.TempDir()
	for _, name := range []string{"git", "helm", "ssh", "curl", "wget", "hg", "sh", "bash", "docker", "podman", "go", "plugin"} {
		script := "#!/bin/sh\necho \"$0 $*\" >>'" + mark + "'\nexit 1\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func glob(tb testing.TB, pattern string) []string {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		tb.Fatalf("nothing is %s: %v", pattern, err)
	}
	return names
}

// FuzzFrame: any bytes are a frame or an error; a frame that is read is written alike and read again.
func FuzzFrame(f *testing.F) {
	var b bytes.Buffer
	if err := writeFrame(&b, 1<<20, response{Number: 1, Built: buildResult{Objects: []builtObject{{Body: []byte(`{}`), Origin: "a"}}, Chosen: []bool{true}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 2, '{'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 10
		var a, again response
		r := bytes.NewReader(data)
		if err := readFrame(r, limit, &a); err != nil {
			return
		}
		if read := len(data) - r.Len(); read > frameHead+limit {
			t.Errorf("readFrame(%q): %d bytes were read", data, read)
		}
		var b bytes.Buffer
		if err := writeFrame(&b, 1<<20, a); err != nil {
			t.Fatalf("writeFrame(%+v): %v", a, err)
		}
		if err := readFrame(&b, 1<<20, &again); err != nil {
			t.Fatalf("readFrame(what was written): %v", err)
		}
		if diff := cmp.Diff(a.Number, again.Number) + cmp.Diff(len(a.Built.Objects), len(again.Built.Objects)) + cmp.Diff(a.Error, again.Error); diff != "" {
			t.Errorf("a frame, written and read: -want +got\n%s", diff)
		}
	})
}
