package source_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/sync/source"
)

func TestMain(m *testing.M) {
	code := leaks.Code(m.Run())
	_ = os.RemoveAll(firstDir)
	os.Exit(code)
}

func open(t *testing.T, o source.Options) *source.Source {
	t.Helper()
	s, err := source.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func poll(t *testing.T, s *source.Source) source.Snapshot {
	t.Helper()
	snap, err := s.Poll(t.Context())
	if err != nil {
		t.Fatalf("Poll: %v", err)
	}
	return snap
}

// refuse wants an error whose text says all the words.
func refuse(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func names(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPoll(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/a/b.yaml", "b\n")
	r.write("fleet/a.yaml", "a\n") // Git sorts it before the directory a
	head := r.push("more")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Path: "fleet/"})
	snap := poll(t, s)
	if got := string(snap.Commit); got != head {
		t.Errorf("Commit: -want +got\n-%s\n+%s", head, got)
	}
	if diff := cmp.Diff([]string{"a/b.yaml", "a.yaml", "east.yaml"}, names(t, snap.Tree)); diff != "" {
		t.Errorf("names(Tree): -want +got\n%s", diff)
	}
	if err := fstest.TestFS(snap.Tree, "a/b.yaml", "a.yaml", "east.yaml"); err != nil {
		t.Error(err)
	}
	if text, err := fs.ReadFile(snap.Tree, "a/b.yaml"); err != nil || string(text) != "b\n" {
		t.Errorf("ReadFile(a/b.yaml) = %q, %v", text, err)
	}
	if again := poll(t, s); again != snap {
		t.Error("an unchanged head did not give the same snapshot")
	}
}

func TestPollNoticesACommit(t *testing.T) {
	r := newRepo(t)
	s := open(t, source.Options{Repo: "file://" + r.bare, Allow: source.Allow{File: true}, Ref: "main"})
	first := poll(t, s)
	r.write("fleet/west.yaml", "kind: Cluster\n")
	r.push("one")
	r.write("fleet/north.yaml", "kind: Cluster\n")
	head := r.push("two")
	if got := poll(t, s); string(got.Commit) != head {
		t.Errorf("Commit: -want +got\n-%s\n+%s", head, got.Commit)
	}
	if diff := cmp.Diff([]string{"README.md", "fleet/east.yaml"}, names(t, first.Tree)); diff != "" {
		t.Errorf("an older snapshot changed: -want +got\n%s", diff)
	}
}

func TestPollNoticesAForcePush(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/west.yaml", "kind: Cluster\n")
	r.push("west")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	poll(t, s)
	r.write("fleet/west.yaml", "kind: Cluster # other\n")
	r.git("commit", "-q", "-a", "--amend", "-m", "other")
	r.git("push", "-q", "-f", "origin", "main")
	if got, head := poll(t, s), r.git("rev-parse", "HEAD"); string(got.Commit) != head {
		t.Errorf("Commit: -want +got\n-%s\n+%s", head, got.Commit)
	}
}

// The server forgot the commit that was given: it cannot say what is new, and whatever it sends is taken.
func TestPollWhenTheLastCommitIsForgotten(t *testing.T) {
	r := newRepo(t)
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	poll(t, s)
	r.git("checkout", "-q", "--orphan", "fresh")
	r.git("commit", "-q", "-m", "fresh")
	r.git("push", "-q", "-f", "origin", "HEAD:main")
	r.git("-C", r.bare, "reflog", "expire", "--expire=now", "--all")
	r.git("-C", r.bare, "gc", "-q", "--prune=now")
	if got, head := poll(t, s), r.git("rev-parse", "HEAD"); string(got.Commit) != head {
		t.Errorf("Commit: -want +got\n-%s\n+%s", head, got.Commit)
	}
}

func TestPollOfAGoneBranch(t *testing.T) {
	r := newRepo(t)
	r.git("push", "-q", "origin", "HEAD:refs/heads/prod")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Ref: "prod"})
	snap := poll(t, s)
	r.git("push", "-q", "origin", ":refs/heads/prod")
	_, err := s.Poll(t.Context())
	if !errors.Is(err, source.ErrRefGone) {
		t.Fatalf("Poll of a deleted branch: %v", err)
	}
	refuse(t, err, r.bare, "prod")
	r.git("push", "-q", "origin", "HEAD:refs/heads/prod")
	if again := poll(t, s); again != snap {
		t.Error("the branch is back at the same commit, and the snapshot is another one")
	}
}

// A link beside Path is nobody's business.
func TestPollSeesPathAlone(t *testing.T) {
	r := newRepo(t)
	link(r, "docs/up.md")
	r.push("link")
	snap := poll(t, open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Path: "fleet"}))
	if diff := cmp.Diff([]string{"east.yaml"}, names(t, snap.Tree)); diff != "" {
		t.Errorf("names(Tree): -want +got\n%s", diff)
	}
}

func TestPollOfAnEmptyRepository(t *testing.T) {
	r := repo{t: t, work: t.TempDir()}
	r.git("init", "-q", "--bare", ".")
	_, err := open(t, source.Options{Repo: r.work, Allow: source.Allow{File: true}}).Poll(t.Context())
	refuse(t, err, r.work, "is empty", "push a first commit")
}

func TestPollOfNoRepository(t *testing.T) {
	dir := t.TempDir()
	_, err := open(t, source.Options{Repo: dir, Allow: source.Allow{File: true}}).Poll(t.Context())
	refuse(t, err, dir, "no repository there")
}

func TestAt(t *testing.T) {
	r := newRepo(t)
	first := r.git("rev-parse", "HEAD")
	r.git("tag", "-a", "-m", "v1", "v1")
	r.git("push", "-q", "origin", "v1", "HEAD:refs/pull/7/head")
	r.write("fleet/west.yaml", "kind: Cluster\n")
	middle := r.push("middle")
	r.write("fleet/north.yaml", "kind: Cluster\n")
	head := r.push("head")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	for rev, want := range map[string]string{
		"":                      head,
		"HEAD":                  head,
		"main":                  head,
		"refs/heads/main":       head,
		head:                    head,
		head[:8]:                head,
		"v1":                    first,
		"refs/pull/7/head":      first,
		middle:                  middle,
		middle[:7]:              middle,
		strings.ToUpper(middle): middle,
	} {
		got, err := s.At(t.Context(), rev)
		if err != nil || string(got.Commit) != want {
			t.Errorf("At(%q) = %s, %v; want %s", rev, got.Commit, err, want)
		}
	}
	for _, rev := range []string{"HEAD~1", "main^", "main@{1}"} {
		_, err := s.At(t.Context(), rev)
		refuse(t, err, rev, "not supported (name a branch, a tag or a hash")
	}
	for _, rev := range []string{"nope", "123", strings.Repeat("1", 40), "beef0"} {
		if _, err := s.At(t.Context(), rev); !errors.Is(err, source.ErrRefGone) {
			t.Errorf("At(%q): %v is not %v", rev, err, source.ErrRefGone)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		o     source.Options
		words string
	}{
		"no address":       {source.Options{}, "no address is given"},
		"plain http":       {source.Options{Repo: "http://u:canary@git.example.com/f.git"}, "http://git.example.com/f.git: linkwright does not use plain http"},
		"a file":           {source.Options{Repo: "/srv/f.git"}, "file:///srv/f.git: repositories on this machine"},
		"a relative file":  {source.Options{Repo: "srv/f.git", Allow: source.Allow{File: true}}, "needs an absolute path"},
		"git://":           {source.Options{Repo: "git://git.example.com/f.git"}, "does not use plain git"},
		"a helper":         {source.Options{Repo: "ext::sh -c true"}, "ssh needs the keys identity"},
		"a query":          {source.Options{Repo: "https://git.example.com/f.git?token=canary"}, "query"},
		"an unclear one":   {source.Options{Repo: "https://u:canary%zz@git.example.com/f.git"}, "not an address"},
		"ssh without keys": {source.Options{Repo: "git@git.example.com:f.git"}, "ssh needs the keys identity and known_hosts"},
		"a path outside":   {source.Options{Repo: "https://git.example.com/f.git", Path: "../x"}, "stay inside"},
		"a strange proxy":  {source.Options{Repo: "https://git.example.com/f.git", Proxy: "ftp://canary@proxy"}, "the proxy is not an address"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := source.New(tt.o)
			refuse(t, err, tt.words)
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("error %q shows a credential", err)
			}
		})
	}
}
