package overlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// attack is one tree that tries to make kustomize read, run or fetch something.
type attack struct {
	name string
	tree fstest.MapFS
}

// attacks are every field with every shape of an entry, and the trees of the archives.
func attacks(t *testing.T, host string) (all []attack) {
	for _, field := range words(t, "fields") {
		for _, shape := range words(t, "shapes") {
			entry := strings.ReplaceAll(shape, "HOST", host)
			if !strings.HasPrefix(entry, `"`) {
				entry = "'" + entry + "'"
			}
			all = append(all, attack{field + " " + entry, fstest.MapFS{
				"kustomization.yaml":     {Data: []byte(fmt.Sprintf(field, entry) + "\n")},
				"sub/kustomization.yaml": {Data: []byte("resources: [b.yaml]\n")},
				"sub/b.yaml":             {Data: []byte("apiVersion: v1\nkind: A\nmetadata: {name: b}\n")},
				"a.yaml":                 {Data: []byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\n")},
				"link.yaml":              {Data: []byte("a.yaml"), Mode: os.ModeSymlink | 0o777},
				"linked":                 {Data: []byte("sub"), Mode: os.ModeSymlink | 0o777},
			}})
		}
	}
	for _, name := range glob(t, "testdata/hostile/*.txtar") {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range archive.Files {
			archive.Files[i].Data = []byte(strings.ReplaceAll(string(archive.Files[i].Data), "HOST", host))
		}
		tree, _ := treeOf(archive)
		all = append(all, attack{filepath.Base(name), tree})
	}
	return all
}

func words(t *testing.T, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata/hostile", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// Every attack is refused before anything is built, and told where it stands.
func TestHostileInput(t *testing.T) {
	for _, a := range attacks(t, "127.0.0.1:1") {
		_, problems := newValidator(a.tree, Limits{}).validateRoot()
		if len(problems) == 0 {
			t.Errorf("%s: is let through", a.name)
		}
		for _, p := range problems {
			if p.Pos.File == "" || p.Pos.Line == 0 {
				t.Errorf("%s: %v has no place", a.name, p)
			}
		}
	}
}

// What the gate refuses, a locked child still cannot do: it is given each attack as it is, and programs lie in its PATH.
func TestHostileChild(t *testing.T) {
	host, connections := listener(t)
	mark := filepath.Join(t.TempDir(), "started")
	c := newCage(t, Options{Arguments: []string{canaryChild, fakePrograms(t, mark)}, Children: 2, Limits: Limits{Time: 10 * time.Second}})
	for _, a := range attacks(t, host) {
		_, err := c.build(t.Context(), job{Files: regularFiles(a.tree)})
		if errors.Is(err, errChild) {
			t.Errorf("%s: %v", a.name, err)
		}
		if n := connections.Load(); n > 0 {
			t.Fatalf("%s: %d connections were opened", a.name, n)
		}
		if text, err := os.ReadFile(mark); err == nil {
			t.Fatalf("%s: programs were started: %s", a.name, text)
		}
	}
	if k := c.idle[0]; !k.locked {
		t.Skip("this kernel filters no system calls")
	}
}

// The canaries are alive: without gate and lock, the same child fetches and starts.
func TestCanaries(t *testing.T) {
	host, connections := listener(t)
	mark := filepath.Join(t.TempDir(), "started")
	c := newCage(t, Options{Arguments: []string{bareChild, fakePrograms(t, mark)}})
	for _, entry := range []string{"http://" + host + "/a.yaml", "https://example.invalid/org/repo.git"} {
		_, err := c.build(t.Context(), job{Files: map[string][]byte{"kustomization.yaml": []byte("resources: ['" + entry + "']\n")}})
		if err == nil || errors.Is(err, errChild) {
			t.Errorf("build(%s): %v", entry, err)
		}
	}
	if connections.Load() == 0 {
		t.Error("the listener saw no connection")
	}
	if text, err := os.ReadFile(mark); err != nil || !strings.Contains(string(text), "git") {
		t.Errorf("git was not started: %q, %v", text, err)
	}
}

func regularFiles(tree fstest.MapFS) map[string][]byte {
	out := map[string][]byte{}
	for name, file := range tree {
		if file.Mode.IsRegular() {
			out[name] = file.Data
		}
	}
	return out
}

// listener counts the connections to an address of this machine, and closes each.
func listener(t *testing.T) (host string, count *atomic.Int64) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count = &atomic.Int64{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return l.Addr().String(), count
}
