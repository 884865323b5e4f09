package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

// text is a whole tree as one text.
func text(t *testing.T, s source.Snapshot) string {
	t.Helper()
	var b strings.Builder
	for _, name := range names(t, s.Tree) {
		b.WriteString(name + ": " + read(t, s, name) + "\n")
	}
	return b.String()
}

// committed is the same text, by Git itself.
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

// stored gives the one store in a cache.
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
	s, err := source.New(source.Options{Repo: r.bare, AllowFile: true})
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
	o := source.Options{Repo: r.bare, AllowFile: true, Cache: t.TempDir()}
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
			s := open(t, source.Options{Repo: r.bare, AllowFile: true, Cache: cache})
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
	s := open(t, source.Options{Repo: r.bare, AllowFile: true, Cache: cache})
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
			s = open(t, source.Options{Repo: r.bare, AllowFile: true, Cache: cache})
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

// The server packs anew, and throws away what nothing reaches, while we ask.
func TestPollWhileRepacked(t *testing.T) {
	r := newRepo(t)
	for i := range 20 {
		r.write(fmt.Sprintf("fleet/%d.yaml", i), strings.Repeat(fmt.Sprintln("line", i), 50))
	}
	r.push("many")
	srv := serve(t, r, func(*http.Request) bool { return true })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	same(t, r, s)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			for _, args := range [][]string{{"repack", "-q", "-a", "-d"}, {"gc", "-q", "--prune=now"}} {
				_ = exec.CommandContext(t.Context(), "git", append([]string{"-C", r.bare}, args...)...).Run() // to its end: git kills no children
			}
		}
	})
	last := poll(t, s)
	for i := range 10 {
		r.write("fleet/7.yaml", fmt.Sprint("round ", i))
		r.git("commit", "-q", "-a", "-m", "round")
		for exec.CommandContext(t.Context(), "git", "-C", r.work, "push", "-q", "origin", "HEAD").Run() != nil {
			continue // gc took away what the push had just brought
		}
		for tries := 0; tries < 20; tries++ { // what gc takes away under a server's feet is an error, never part of a commit
			if _, err := s.Poll(t.Context()); err == nil {
				break
			}
		}
		snap := same(t, r, s)
		if err := s.Follows(t.Context(), snap.Commit, last.Commit); errors.Is(err, source.ErrRewound) || errors.Is(err, source.ErrForgotten) {
			t.Errorf("Follows: %v", err)
		}
		last = snap
	}
	cancel()
	group.Wait()
}

// A revert brings back a file that the last commit's ancestors have, and the last commit has not: whoever takes ancestors for
// granted does not send it.
func TestPollOfARevert(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/west.yaml", "kind: Cluster # west\n")
	r.push("west")
	r.git("rm", "-q", "fleet/west.yaml")
	r.push("without")
	for name, repo := range map[string]func() source.Options{
		"file": func() source.Options { return source.Options{Repo: r.bare, AllowFile: true} },
		"http": func() source.Options {
			srv := serve(t, r, func(*http.Request) bool { return true })
			return source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, repo())
			same(t, r, s)
			r.git("revert", "--no-edit", "HEAD")
			r.git("push", "-q", "origin", "HEAD")
			same(t, r, s)
		})
	}
}

// Branches that began before the last commit and were merged after it cost what is on them, and not what came before.
func TestFollowsAMerge(t *testing.T) {
	r := newRepo(t)
	r.git("-C", r.bare, "config", "uploadpack.allowFilter", "true")
	r.git("checkout", "-q", "-b", "side")
	for range 5 {
		r.git("commit", "-q", "--allow-empty", "-m", "side")
	}
	r.git("checkout", "-q", "main")
	for range 300 {
		r.git("commit", "-q", "--allow-empty", "-m", "main")
	}
	r.write("last", "last")
	last := api.Commit(r.push("last"))
	srv := serve(t, r, func(*http.Request) bool { return true })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	poll(t, s)
	r.write("a", strings.Repeat("text\n", 10_000))
	r.push("on main")
	r.git("merge", "-q", "-m", "merge", "side")
	r.git("push", "-q", "origin", "HEAD")
	head := poll(t, s)
	srv.requests.Store(0)
	srv.sent.Store(0)
	if err := s.Follows(t.Context(), head.Commit, last); err != nil {
		t.Errorf("Follows: %v", err)
	}
	if n, sent := srv.requests.Load(), srv.sent.Load(); n != 2 || sent > 4<<10 {
		t.Errorf("it took %d requests and %d bytes, want 2 and a few commits", n, sent)
	}
	if err := s.Follows(t.Context(), last, head.Commit); !errors.Is(err, source.ErrRewound) && !errors.Is(err, source.ErrRefGone) {
		t.Errorf("Follows the other way: %v", err)
	}
}

// A store that has many packs is made anew.
func TestStoreIsBounded(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	s := open(t, source.Options{Repo: r.bare, AllowFile: true, Cache: cache})
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

// A tag that is made anew for a commit that we hold is another object to fetch, and brings nothing else.
func TestPollOfAMovedTag(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	o := source.Options{Repo: r.bare, AllowFile: true, Cache: cache, Ref: "v1"}
	r.git("push", "-q", "origin", "HEAD:refs/tags/v1")
	s := open(t, o)
	first := same(t, r, s)
	r.git("tag", "-a", "-m", "annotated", "v1")
	r.git("push", "-q", "-f", "origin", "v1")
	again, err := s.At(t.Context(), "v1")
	if err != nil || again.Commit != first.Commit {
		t.Fatalf("At(v1) = %s, %v", again.Commit, err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", stored(t, cache), "cat-file", "-t", r.git("rev-parse", "v1"))
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "tag" {
		t.Errorf("the store does not hold the tag: %s, %v", out, err)
	}
}

// What one commit has in common with the one before is the very same memory.
func TestSnapshotsShare(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/deep/a.yaml", "a\n")
	r.write("moved/b.yaml", "b\n")
	r.push("more")
	s := open(t, source.Options{Repo: r.bare, AllowFile: true})
	first := same(t, r, s)
	r.write("fleet/east.yaml", "changed\n")
	r.git("mv", "moved", "elsewhere")
	r.push("changed")
	next := same(t, r, s)
	info := func(s source.Snapshot, name string) fs.FileInfo {
		t.Helper()
		i, err := fs.Stat(s.Tree, name)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	if info(first, "fleet/deep") != info(next, "fleet/deep") {
		t.Error("a directory that did not change was read again")
	}
	if info(first, "fleet") == info(next, "fleet") {
		t.Error("a directory that changed is the same")
	}
}

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
			o := source.Options{Repo: r.bare, AllowFile: true, Path: "fleet", Include: tt.include, Exclude: tt.exclude}
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

// A turn is waited for no longer than the caller does.
func TestPollWaitsForItsTurn(t *testing.T) {
	addr := silentListener(t)
	s := open(t, source.Options{Repo: "http://" + addr.String() + "/fleet.git", Timeout: time.Second})
	done := make(chan error)
	go func() {
		_, err := s.Poll(t.Context())
		done <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.At(ctx, "main")
	refuse(t, err, "not done within")
	refuse(t, <-done, "not done within")
}
