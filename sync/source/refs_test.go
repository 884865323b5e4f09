package source_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// Who may push a branch or a tag must not choose which commit a hash is.
func TestAHashIsNoName(t *testing.T) {
	r := newRepo(t)
	first := r.git("rev-parse", "HEAD")
	r.write("fleet/west.yaml", "kind: Cluster\n")
	evil := r.push("evil")
	for _, name := range []string{first, first[:8]} {
		r.git("-C", r.bare, "update-ref", "refs/heads/"+name, evil)
		r.git("-C", r.bare, "update-ref", "refs/tags/"+name, evil)
	}
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Ref: first})
	if got := poll(t, s); string(got.Commit) != first {
		t.Errorf("Poll of %s = %s", first, got.Commit)
	}
	s = open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	for _, rev := range []string{first, "commit:" + first, "commit:" + first[:8]} {
		if got, err := s.At(t.Context(), rev); err != nil || string(got.Commit) != first {
			t.Errorf("At(%q) = %s, %v; want %s", rev, got.Commit, err, first)
		}
	}
	if _, err := s.At(t.Context(), "commit:main"); !errors.Is(err, source.ErrRefGone) {
		t.Errorf("At(commit:main): %v is not %v", err, source.ErrRefGone)
	}
}

// A name that is a branch and a tag is an error that names both; in full it is one of them.
func TestANameOfTwo(t *testing.T) {
	r := newRepo(t)
	first := r.git("rev-parse", "HEAD")
	r.git("-C", r.bare, "update-ref", "refs/tags/main", first)
	r.write("fleet/west.yaml", "kind: Cluster\n")
	head := r.push("west")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Ref: "main"})
	_, err := s.Poll(t.Context())
	refuse(t, err, "refs/heads/main", "refs/tags/main")
	for rev, want := range map[string]string{"refs/heads/main": head, "refs/tags/main": first} {
		if got, err := s.At(t.Context(), rev); err != nil || string(got.Commit) != want {
			t.Errorf("At(%q) = %s, %v; want %s", rev, got.Commit, err, want)
		}
	}
}

// A repository that names its objects by SHA-256 is reported as what it is.
func TestPollOfSHA256(t *testing.T) {
	r := repo{t: t, bare: filepath.Join(t.TempDir(), "fleet.git"), work: t.TempDir()}
	r.git("init", "-q", "-b", "main", "--object-format=sha256", ".")
	r.git("init", "-q", "--bare", "-b", "main", "--object-format=sha256", r.bare)
	r.shareObjects()
	r.write("fleet/east.yaml", "kind: Cluster\n")
	r.push("first")
	for _, s := range []*source.Source{
		open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}}),
		open(t, source.Options{Repo: serveHTTP(t, backend(r)) + "/fleet.git"}),
	} {
		_, err := s.Poll(t.Context())
		refuse(t, err, "SHA-256")
	}
}
