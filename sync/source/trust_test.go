package source_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
	"github.com/linkwright/linkwright/sync/trust"
)

// signer signs with a key of ssh-keygen.
type signer struct {
	repo
	key    string
	public []byte
}

func newSigner(t *testing.T, r repo) signer {
	t.Helper()
	s := signer{repo: r, key: filepath.Join(t.TempDir(), "key")}
	if out, err := exec.CommandContext(t.Context(), need(t, "ssh-keygen"), "-q", "-N", "", "-t", "ed25519", "-C", "ann", "-f", s.key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	var err error
	if s.public, err = os.ReadFile(s.key + ".pub"); err != nil {
		t.Fatal(err)
	}
	return s
}

// sign runs git with the key.
func (s signer) sign(args ...string) {
	s.t.Helper()
	s.git(append([]string{"-c", "gpg.format=ssh", "-c", "user.signingKey=" + s.key}, args...)...)
}

// commit pushes a signed commit.
func (s signer) commit(message string) string {
	s.t.Helper()
	s.sign("commit", "-q", "-S", "--allow-empty", "-m", message)
	s.git("push", "-q", "-f", "origin", "HEAD")
	return s.git("rev-parse", "HEAD")
}

// tag pushes a signed tag of what is checked out.
func (s signer) tag(name string) {
	s.t.Helper()
	s.sign("tag", "-s", "-m", name, name)
	s.git("push", "-q", "-f", "origin", "refs/tags/"+name)
}

// object pushes a raw object under a ref.
func (s signer) object(kind string, raw []byte, ref string) string {
	s.t.Helper()
	name := filepath.Join(s.t.TempDir(), "raw")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		s.t.Fatal(err)
	}
	hash := s.git("hash-object", "-t", kind, "-w", name)
	s.git("push", "-q", "-f", "origin", hash+":"+ref)
	return hash
}

func (s signer) raw(kind, rev string) []byte { return []byte(s.git("cat-file", kind, rev) + "\n") }

// trusting believes the given keys; they may be changed while it is used.
func trusting(t *testing.T, mode source.Mode, files *map[string][]byte) source.Trust {
	t.Helper()
	return source.Trust{Mode: mode, Keys: func(context.Context) (trust.Keys, error) { return trust.ParseKeys(*files) }}
}

func distrusted(t *testing.T, err error, commit string, words ...string) {
	t.Helper()
	refuse(t, err, words...)
	var u *source.Untrusted
	if !errors.Is(err, source.ErrUntrusted) || !errors.As(err, &u) || u.Commit != api.Commit(commit) {
		t.Errorf("error %v is not ErrUntrusted of %s", err, commit)
	}
}

// A head counts if it is signed by a key that is believed now; what was given stays what it was.
func TestVerifyHEAD(t *testing.T) {
	s := newSigner(t, newRepo(t))
	files := map[string][]byte{"ann.pub": s.public}
	src := open(t, source.Options{Repo: s.bare, Allow: source.Allow{File: true}, Trust: trusting(t, source.VerifyHEAD, &files)})
	unsigned := s.git("rev-parse", "HEAD")
	_, err := src.Poll(t.Context())
	distrusted(t, err, unsigned, "unsigned", "git commit -S")

	good := s.commit("signed")
	if snap := poll(t, src); string(snap.Commit) != good {
		t.Errorf("Poll = %s, want %s", snap.Commit, good)
	}
	raw := s.raw("commit", "HEAD")
	tampered := s.object("commit", bytes.Replace(raw, []byte("\nsigned"), []byte("\nforged"), 1), "refs/heads/main")
	_, err = src.Poll(t.Context())
	distrusted(t, err, tampered, "bad signature", "does not match the content")
	head, rest, _ := bytes.Cut(raw, []byte("gpgsig "))
	_, message, _ := bytes.Cut(rest, []byte("\n\n"))
	stripped := s.object("commit", append(append(head, '\n'), message...), "refs/heads/main")
	_, err = src.Poll(t.Context())
	distrusted(t, err, stripped, "unsigned")

	for range 2 { // fetched, and from the store
		if _, err := src.At(t.Context(), good); err != nil {
			t.Errorf("At(%s): %v", good, err)
		}
		_, err = src.At(t.Context(), stripped)
		distrusted(t, err, stripped, "unsigned")
	}
	next := s.commit("next")
	if snap := poll(t, src); string(snap.Commit) != next {
		t.Errorf("Poll = %s, want %s", snap.Commit, next)
	}
}

// Keys are read for each visit: one that is taken away bites at the next poll, also of a head that stands still.
func TestVerifyWithChangedKeys(t *testing.T) {
	s := newSigner(t, newRepo(t))
	other := newSigner(t, s.repo)
	head := s.commit("signed")
	s.tag("v1.0.0")
	for _, o := range []source.Options{
		{Ref: "main", Trust: source.Trust{Mode: source.VerifyHEAD}},
		{Ref: head, Trust: source.Trust{Mode: source.VerifyHEAD}},
		{Ref: "semver:1.x", Trust: source.Trust{Mode: source.VerifyTag}},
		{Ref: head, Trust: source.Trust{Mode: source.VerifyTag}},
	} {
		files := map[string][]byte{"ann": s.public}
		o.Repo, o.Allow.File, o.Trust.Keys = s.bare, true, trusting(t, o.Trust.Mode, &files).Keys
		src := open(t, o)
		first := poll(t, src)
		if again := poll(t, src); again != first {
			t.Errorf("%s: another snapshot of the same head", o.Ref)
		}
		files = map[string][]byte{"bob": other.public}
		_, err := src.Poll(t.Context())
		distrusted(t, err, head, "signed by an unknown key SHA256:")
		files = map[string][]byte{"bob": other.public, "ann": s.public}
		if again := poll(t, src); again != first {
			t.Errorf("%s: another snapshot once the key is back", o.Ref)
		}
		files = map[string][]byte{"ann": []byte("rubble")}
		_, err = src.Poll(t.Context())
		refuse(t, err, "keys to verify signatures with: ann:1: ")
		if errors.Is(err, source.ErrUntrusted) {
			t.Error("keys that cannot be read distrust a commit")
		}
	}
}

// A tag counts if it is annotated and signed, under the name that it was made for; its commit need not be.
func TestVerifyTag(t *testing.T) {
	s := newSigner(t, newRepo(t))
	files := map[string][]byte{"ann": s.public}
	first := s.git("rev-parse", "HEAD")
	src := open(t, source.Options{Repo: s.bare, Ref: "semver:1.x", Allow: source.Allow{File: true}, Trust: trusting(t, source.VerifyTag, &files)})
	s.tag("v1.0.0")
	if snap := poll(t, src); string(snap.Commit) != first {
		t.Errorf("Poll = %s, want %s", snap.Commit, first)
	}
	s.write("more", "")
	second := s.push("second")
	s.git("tag", "v1.1.0")
	s.git("tag", "-a", "-m", "plain", "v1.2.0")
	replayed := s.raw("tag", "v1.0.0")
	for _, tt := range []struct{ tag, commit, says string }{
		{"v1.1.0", second, "tag v1.1.0: unsigned, it is a lightweight tag"},
		{"v1.2.0", second, "tag v1.2.0: unsigned (sign it: git tag -s)"},
		{"v1.3.0", first, `the tag has the name "v1.0.0", but its ref has the name "v1.3.0"`},
	} {
		if tt.tag == "v1.3.0" {
			s.object("tag", replayed, "refs/tags/v1.3.0")
		} else {
			s.git("push", "-q", "origin", tt.tag)
		}
		_, err := src.Poll(t.Context())
		distrusted(t, err, tt.commit, tt.says)
		_, err = src.At(t.Context(), tt.tag)
		distrusted(t, err, tt.commit, tt.says)
	}
	s.tag("v1.4.0")
	if snap := poll(t, src); string(snap.Commit) != second {
		t.Errorf("Poll = %s, want %s", snap.Commit, second)
	}
	if _, err := src.At(t.Context(), "v1.0.0"); err != nil {
		t.Errorf("At(v1.0.0): %v", err)
	}
	_, err := src.At(t.Context(), "main")
	distrusted(t, err, second, "refs/heads/main is not a tag")
}

// A commit by its hash is believed in mode Tag if a signed tag names it, be that in this process or in the repository.
func TestVerifyTagAtACommit(t *testing.T) {
	s := newSigner(t, newRepo(t))
	files := map[string][]byte{"ann": s.public}
	plain := s.git("rev-parse", "HEAD")
	s.write("more", "")
	signed := s.push("second")
	s.git("tag", "-a", "-m", "unsigned", "v1.9.0")
	s.git("push", "-q", "origin", "v1.9.0")
	s.tag("v1.0.0")
	o := source.Options{Repo: s.bare, Ref: "v1.0.0", Allow: source.Allow{File: true}, Trust: trusting(t, source.VerifyTag, &files)}
	src := open(t, o) // has seen nothing yet
	for _, rev := range []string{signed, signed[:12], signed} {
		if snap, err := src.At(t.Context(), rev); err != nil || string(snap.Commit) != signed {
			t.Errorf("At(%s) = %s, %v", rev, snap.Commit, err)
		}
	}
	_, err := src.At(t.Context(), plain)
	distrusted(t, err, plain, "no annotated tag names it")

	seen := open(t, o)
	poll(t, seen)
	s.git("push", "-q", "-f", "origin", ":refs/tags/v1.0.0")
	if _, err := seen.At(t.Context(), signed); err != nil {
		t.Errorf("At of what was believed before its tag went: %v", err)
	}
	_, err = open(t, o).At(t.Context(), signed)
	distrusted(t, err, signed, "tag v1.9.0: unsigned")
}

func TestVerifyTagAndHEAD(t *testing.T) {
	s := newSigner(t, newRepo(t))
	files := map[string][]byte{"ann": s.public}
	first := s.git("rev-parse", "HEAD")
	s.tag("v1.0.0")
	src := open(t, source.Options{Repo: s.bare, Ref: "semver:1.x", Allow: source.Allow{File: true}, Trust: trusting(t, source.VerifyTagAndHEAD, &files)})
	_, err := src.Poll(t.Context())
	distrusted(t, err, first, "unsigned (sign it: git commit -S)")
	head := s.commit("signed")
	s.git("tag", "-a", "-m", "plain", "v1.0.1")
	s.git("push", "-q", "origin", "v1.0.1")
	_, err = src.Poll(t.Context())
	distrusted(t, err, head, "tag v1.0.1: unsigned")
	s.tag("v1.0.2")
	if snap := poll(t, src); string(snap.Commit) != head {
		t.Errorf("Poll = %s, want %s", snap.Commit, head)
	}
}

// What a server says of a tag is compared with the tag.
func TestVerifyTagOfALyingServer(t *testing.T) {
	s := newSigner(t, newRepo(t))
	files := map[string][]byte{"ann": s.public}
	old := s.git("rev-parse", "HEAD")
	s.tag("v1.0.0")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	var from, to string
	backend := &cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(s.bare), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/info/refs") || from == "" {
			backend.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		backend.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		_, _ = w.Write([]byte(strings.ReplaceAll(rec.Body.String(), from+" refs/tags/v1.1.0^{}", to+" refs/tags/v1.1.0^{}")))
	}))
	defer srv.Close()
	src := open(t, source.Options{Repo: srv.URL + "/" + filepath.Base(s.bare), Ref: "semver:1.x", Trust: trusting(t, source.VerifyTag, &files)})
	poll(t, src)
	s.write("more", "")
	from, to = s.push("second"), old
	s.tag("v1.1.0")
	_, err = src.Poll(t.Context())
	distrusted(t, err, old, "tag v1.1.0: it names another object")
}

// What can work with no repository is refused at once.
func TestTrustOptions(t *testing.T) {
	files := map[string][]byte{}
	some := trusting(t, "", &files).Keys
	for _, tt := range []struct {
		trust source.Trust
		ref   string
		says  string
	}{
		{source.Trust{Mode: "head", Keys: some}, "", `verify "head": want one of ["HEAD" "Tag" "TagAndHEAD"]`},
		{source.Trust{Keys: some}, "", "want one of"},
		{source.Trust{Mode: source.VerifyHEAD}, "", "public keys are missing"},
		{source.Trust{Mode: source.VerifyTag, Keys: some}, "", "the ref HEAD is not a tag"},
		{source.Trust{Mode: source.VerifyTag, Keys: some}, "refs/heads/main", "is not a tag"},
		{source.Trust{Mode: source.VerifyTagAndHEAD, Keys: some}, "HEAD", "is not a tag"},
	} {
		_, err := source.New(source.Options{Repo: "https://git.example.com/fleet.git", Ref: tt.ref, Trust: tt.trust})
		refuse(t, err, tt.says)
	}
	s := newSigner(t, newRepo(t))
	files["ann"] = s.public
	src := open(t, source.Options{Repo: s.bare, Ref: "main", Allow: source.Allow{File: true}, Trust: trusting(t, source.VerifyTag, &files)})
	_, err := src.Poll(t.Context())
	refuse(t, err, "refs/heads/main is not a tag", "semver:1.x")
}
