package source_test

import (
	"errors"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

func TestSemver(t *testing.T) {
	r := newRepo(t)
	commits := map[string]string{}
	for _, tag := range []string{
		"v1.0.0", "v1.2.0", "1.10.0", "v1.11.0-rc.1", "v2.0.0-beta.1", "v2.0.0", "2.0.0",
		"v3.0.0+a", "v3.0.0+b", "v3.0.0", "v9", "app/v9.0.0", "release-9.0.0", "v09.0.0",
	} {
		r.write("version", tag)
		commits[tag] = r.push(tag)
		r.git("tag", "-a", "-m", tag, tag)
	}
	r.git("push", "-q", "origin", "--tags")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	for rule, tag := range map[string]string{
		"1.0.x":              "v1.0.0",
		">=1.0.0 <2.0.0":     "1.10.0",
		"^1":                 "1.10.0",
		">=1.0.0-0 <2.0.0-0": "v1.11.0-rc.1",
		"2.0.0-beta.1":       "v2.0.0-beta.1",
		"2.x":                "v2.0.0",
		"*":                  "v3.0.0+b",
		"<2":                 "1.10.0",
	} {
		got, err := s.At(t.Context(), "semver:"+rule)
		if err != nil || string(got.Commit) != commits[tag] {
			t.Errorf("At(semver:%s) = %s, %v; want %s (%s)", rule, got.Commit, err, commits[tag], tag)
		}
	}
	_, err := s.At(t.Context(), "semver:>=4")
	if !errors.Is(err, source.ErrRefGone) {
		t.Errorf("%v is not %v", err, source.ErrRefGone)
	}
	refuse(t, err, "within >=4", "14 tags, 10 of them versions, the highest: v3.0.0+b, v3.0.0+a, v3.0.0")
	_, err = s.At(t.Context(), "semver:one")
	refuse(t, err, `"semver:one"`, "write a range like semver:1.x")
	_, err = source.New(source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Ref: "semver:"})
	refuse(t, err, "semver:1.x")
}

// A poll follows the range: a new tag within it is a new head, one beyond it is not.
func TestPollOfARange(t *testing.T) {
	r := newRepo(t)
	r.git("push", "-q", "origin", "HEAD:refs/tags/v1.0.0")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Ref: "semver:1.x"})
	first := poll(t, s)
	r.write("a", "a")
	head := r.push("a")
	r.git("push", "-q", "origin", "HEAD:refs/tags/v2.0.0")
	if again := poll(t, s); again != first {
		t.Errorf("a tag beyond the range was taken: %s", again.Commit)
	}
	r.git("push", "-q", "origin", "HEAD:refs/tags/v1.0.1")
	if got := poll(t, s); string(got.Commit) != head {
		t.Errorf("Commit = %s, want %s", got.Commit, head)
	}
}
