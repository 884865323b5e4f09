package source_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/sync/source"
)

// text returns a whole tree as one text.
func text(t *testing.T, s source.Snapshot) string {
	t.Helper()
	var b strings.Builder
	for _, name := range names(t, s.Tree) {
		b.WriteString(name + ": " + read(t, s, name) + "\n")
	}
	return b.String()
}

// committed returns the same text, by Git itself.
func (r repo) committed(rev string) string {
	r.t.Helper()
	var b strings.Builder
	for name := range strings.SplitSeq(r.git("ls-tree", "-r", "--name-only", rev), "\n") {
		out, err := exec.CommandContext(r.t.Context(), "git", "-C", r.work, "show", rev+":"+name).Output()
		if err != nil {
			r.t.Fatal(err)
		}
		b.WriteString(name + ": " + string(out) + "\n")
	}
	return b.String()
}

// same polls and wants what Git says is at the head.
func same(t *testing.T, r repo, s *source.Source) source.Snapshot {
	t.Helper()
	snap := poll(t, s)
	if head := r.git("rev-parse", "HEAD"); string(snap.Commit) != head {
		t.Fatalf("Commit = %s, want %s", snap.Commit, head)
	}
	if diff := cmp.Diff(r.committed("HEAD"), text(t, snap)); diff != "" {
		t.Fatalf("tree of %s: -want +got\n%s", snap.Commit.Short(), diff)
	}
	return snap
}

// noise does not get smaller by packing.
func noise(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rand.N(256))
	}
	return string(b)
}

// stored returns the one store in a cache.
func stored(t *testing.T, cache string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(cache, "*", "objects"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d stores in %s, %v; want 1", len(found), cache, err)
	}
	return filepath.Dir(found[0])
}

// Only what is new is sent, the store is one that Git understands, and a new process finds it.
func TestStore(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/noise", noise(1<<20))
	r.push("large")
	srv := serve(t, r, func(*http.Request) bool { return true })
	o := source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca), Cache: t.TempDir() + "/new/cache"}
	s := open(t, o)
	first := same(t, r, s)
	if sent := srv.sent.Swap(0); sent < 1<<20 {
		t.Errorf("the first fetch brought %d bytes", sent)
	}
	for i := range 3 {
		r.write("fleet/east.yaml", fmt.Sprint("kind: Cluster # ", i))
		r.push("change")
		same(t, r, s)
		if sent := srv.sent.Swap(0); sent > 8<<10 {
			t.Errorf("a commit of one line brought %d bytes", sent)
		}
	}
	srv.requests.Store(0)
	if again, err := s.At(t.Context(), string(first.Commit)); err != nil || text(t, again) != text(t, first) {
		t.Errorf("At(the first commit): %v", err)
	}
	if got := srv.requests.Load(); got != 0 {
		t.Errorf("a commit that the store holds cost %d requests", got)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", stored(t, o.Cache), "fsck", "--strict").CombinedOutput(); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := source.New(o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, r, next)
	if got := srv.requests.Swap(0); got != 1 {
		t.Errorf("the first poll of the next process made %d requests, want 1", got)
	}
	o.Ref = string(first.Commit)
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	pinned := open(t, o)
	if got := poll(t, pinned); text(t, got) != text(t, first) || poll(t, pinned) != got {
		t.Error("a pinned commit is not the same again")
	}
	if got := srv.requests.Load(); got != 0 {
		t.Errorf("a pinned commit that the store holds cost %d requests", got)
	}
}

// A store goes with Close, if it is temporary, and leaves nothing behind but its lock, if it is not.
func TestClose(t *testing.T) {
	r := newRepo(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s, err := source.New(source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	if err != nil {
		t.Fatal(err)
	}
	snap := poll(t, s)
	if left := list(t, temp); len(left) != 1 {
		t.Errorf("while it is open: %q", left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := list(t, temp); len(left) != 0 {
		t.Errorf("after Close: %q", left)
	}
	if got := read(t, snap, "fleet/east.yaml"); got != "kind: Cluster\n" {
		t.Errorf("a snapshot went with the store: %q", got)
	}
}

func list(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Whoever comes second takes a directory of its own, also while the first one writes.
func TestTwoProcesses(t *testing.T) {
	r := newRepo(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	o := source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: t.TempDir()}
	first := open(t, o)
	same(t, r, first)
	second, err := source.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r.write("a", fmt.Sprint(i))
		r.push("a")
		same(t, r, first)
		same(t, r, second)
	}
	if left := list(t, temp); len(left) != 1 {
		t.Errorf("the second one uses %q", left)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if left := list(t, temp); len(left) != 0 {
		t.Errorf("after Close: %q", left)
	}
	same(t, r, first)
	if out, err := exec.CommandContext(t.Context(), "git", "-C", stored(t, o.Cache), "fsck").CombinedOutput(); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

func TestStoreIsMadeAnew(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, store string){
		"the store gone":     func(t *testing.T, store string) { remove(t, store) },
		"the cache gone":     func(t *testing.T, store string) { remove(t, filepath.Dir(store)) },
		"the packs gone":     func(t *testing.T, store string) { remove(t, store+"/objects") },
		"a file in its way":  func(t *testing.T, store string) { remove(t, store); keep(t, store, "") },
		"of another format":  func(t *testing.T, store string) { keep(t, store+"/format", "linkwright store 0\n") },
		"shallow is garbage": func(t *testing.T, store string) { keep(t, store+"/shallow", "garbage\n\x00") },
		"shallow says more":  func(t *testing.T, store string) { keep(t, store+"/shallow", strings.Repeat("1", 40)+"\n") },
		"packs cut off": func(t *testing.T, store string) {
			each(t, store, "pack", func(b []byte) []byte { return b[:len(b)/2] })
		},
		"packs emptied": func(t *testing.T, store string) { each(t, store, "pack", func([]byte) []byte { return nil }) },
		"packs flipped": func(t *testing.T, store string) {
			each(t, store, "pack", func(b []byte) []byte {
				for i := 12; i < len(b); i += 7 {
					b[i] ^= 0x55
				}
				return b
			})
		},
		"indexes cut off": func(t *testing.T, store string) { each(t, store, "idx", func(b []byte) []byte { return b[:len(b)/2] }) },
		"indexes gone":    func(t *testing.T, store string) { each(t, store, "idx", func([]byte) []byte { return nil }) },
		"packs exchanged": exchange,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			cache := t.TempDir()
			s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: cache})
			first := same(t, r, s)
			r.write("fleet/west.yaml", "kind: Cluster # west\n")
			r.push("west")
			same(t, r, s)
			harm(t, stored(t, cache))
			if got, err := s.At(t.Context(), "HEAD"); err != nil || text(t, got) != r.committed("HEAD") {
				t.Errorf("At(HEAD): %v", err)
			}
			harm(t, stored(t, cache))
			r.write("fleet/west.yaml", "kind: Cluster # changed\n")
			r.push("changed")
			same(t, r, s)
			harm(t, stored(t, cache))
			if got, err := s.At(t.Context(), string(first.Commit)); err != nil || text(t, got) != text(t, first) {
				t.Errorf("At(the first commit): %v", err)
			}
			if left := list(t, cache); len(left) != 2 {
				t.Errorf("left in the cache: %q", left)
			}
		})
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// each rewrites all packs or indexes of a store.
func each(t *testing.T, store, ext string, change func([]byte) []byte) {
	t.Helper()
	found, err := filepath.Glob(store + "/objects/pack/*." + ext)
	if err != nil || len(found) == 0 {
		t.Fatalf("%d files *.%s, %v", len(found), ext, err)
	}
	for _, name := range found {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		remove(t, name)
		keep(t, name, string(change(b)))
	}
}

// exchange lets every index point into another pack.
func exchange(t *testing.T, store string) {
	t.Helper()
	found, err := filepath.Glob(store + "/objects/pack/*.pack")
	if err != nil || len(found) == 0 {
		t.Fatalf("%d packs, %v", len(found), err)
	}
	first, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range found {
		next := first
		if i+1 < len(found) {
			if next, err = os.ReadFile(found[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		remove(t, name)
		keep(t, name, string(next))
	}
}

// Every byte of a small store is flipped in turn: what is given is always what was committed.
func TestStoreWithOneWrongByte(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: cache})
	head := same(t, r, s)
	want := text(t, head)
	for _, ext := range []string{"pack", "idx"} {
		for i := 0; ; i += 11 {
			end := false
			each(t, stored(t, cache), ext, func(b []byte) []byte {
				if end = i >= len(b); !end {
					b[i] ^= 0xff
				}
				return b
			})
			if end {
				break
			}
			// A new Source builds without an older tree.
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: cache})
			if got, err := s.At(t.Context(), string(head.Commit)); err != nil || text(t, got) != want {
				t.Fatalf("byte %d of the %s: %v", i, ext, err)
			}
		}
	}
}

// The store goes while it is used: after the listing, and again and again while commits come.
func TestStoreIsDeletedDuringUse(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	srv := serve(t, r, func(*http.Request) bool { return true })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca), Cache: cache})
	same(t, r, s)
	left := 0
	srv.before = func(_ http.ResponseWriter, q *http.Request, _ string) bool {
		if q.Method == http.MethodPost && left > 0 {
			left--
			remove(t, cache)
		}
		return false
	}
	for i := range 3 {
		r.write("a", fmt.Sprint(i))
		r.push("a")
		left = 1
		same(t, r, s)
		if left != 0 {
			t.Error("the store was not deleted")
		}
	}
	srv.before = nil
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			_ = os.RemoveAll(cache)
		}
	})
	for i := range 20 {
		snap, err := s.At(t.Context(), "main")
		if err == nil && text(t, snap) != r.committed("HEAD") {
			t.Errorf("round %d gave part of a commit", i)
		}
	}
	cancel()
	group.Wait()
	same(t, r, s)
}

// A store that has many packs is created again.
func TestStoreIsBounded(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: cache})
	most := 0
	for i := range source.MaxPacks + 5 {
		r.write("a", fmt.Sprint(i))
		r.push("a")
		snap := poll(t, s)
		if got := read(t, snap, "a"); got != fmt.Sprint(i) {
			t.Fatalf("a = %q in round %d", got, i)
		}
		found, _ := filepath.Glob(stored(t, cache) + "/objects/pack/*.pack")
		most = max(most, len(found))
	}
	if most != source.MaxPacks {
		t.Errorf("there were up to %d packs, want %d", most, source.MaxPacks)
	}
}
