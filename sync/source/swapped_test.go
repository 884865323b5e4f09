package source_test

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the format's own checksum
	"encoding/hex"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// swap lets the index of the pack that holds two objects give each for the other, under a checksum that is right.
func swap(t *testing.T, store string, one, other string) {
	t.Helper()
	const head, name, check, offset = 8 + 256*4, sha1.Size, 4, 4
	swapped := false
	each(t, store, "idx", func(b []byte) []byte {
		count := (len(b) - head - 2*sha1.Size) / (name + check + offset)
		at := func(digits string) []byte {
			hash, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			for i := range count {
				if bytes.Equal(b[head+i*name:][:name], hash) {
					return b[head+count*(name+check)+i*offset:][:offset]
				}
			}
			return nil
		}
		if x, y := at(one), at(other); x != nil && y != nil {
			was := slices.Clone(x)
			copy(x, y)
			copy(y, was)
			swapped = true
		}
		sum := sha1.Sum(b[:len(b)-sha1.Size]) //nolint:gosec // see above
		copy(b[len(b)-sha1.Size:], sum[:])
		return b
	})
	if !swapped {
		t.Fatalf("no pack holds %s and %s", one, other)
	}
}

// whole wants a store that Git finds nothing wrong with.
func whole(t *testing.T, store string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", "-C", store, "fsck", "--strict").CombinedOutput(); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// together makes a store again that holds HEAD and HEAD~1 whole, in one pack.
func together(t *testing.T, r repo, o source.Options) {
	t.Helper()
	o.Trust = source.Trust{}
	remove(t, o.Cache)
	head, last := r.git("rev-parse", "HEAD"), r.git("rev-parse", "HEAD~1")
	s := open(t, o)
	if _, err := s.At(t.Context(), head[:8]); err != nil { // by its digits, so with its history
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	keep(t, stored(t, o.Cache)+"/shallow", last+"\n"+head+"\n")
}

// An index that is whole and points to the wrong objects: what is read has another hash, so the store is renewed.
func TestStoreWithSwappedObjects(t *testing.T) {
	for name, pair := range map[string][2]string{
		"files":       {"HEAD:fleet/east.yaml", "HEAD:fleet/west.yaml"},
		"directories": {"HEAD:fleet", "HEAD:other"},
		"commits":     {"HEAD", "HEAD~1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			r.write("fleet/west.yaml", "kind: Another\n") // as long as its neighbour
			r.write("other/east.yaml", "kind: Another\n")
			r.push("west")
			o := source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: filepath.Join(t.TempDir(), "cache")}
			one, other := r.git("rev-parse", pair[0]), r.git("rev-parse", pair[1])
			together(t, r, o)
			swap(t, stored(t, o.Cache), one, other)
			s := open(t, o)
			same(t, r, s)
			whole(t, stored(t, o.Cache))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			together(t, r, o)
			swap(t, stored(t, o.Cache), one, other)
			r.write("fleet/west.yaml", "kind: Another # grown\n") // maybe sent as a delta of what was swapped
			r.push("grown")
			same(t, r, open(t, o))
		})
	}
}

// What nobody signed does not become trusted by an index that gives a signed commit for it.
func TestTrustWithSwappedCommits(t *testing.T) {
	r := newRepo(t)
	ann := newSigner(t, r)
	signed := ann.commit("signed")
	r.write("fleet/east.yaml", "kind: Mallory\n")
	unsigned := r.push("not signed")
	files := map[string][]byte{"ann": ann.public}
	o := source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: filepath.Join(t.TempDir(), "cache")}
	o.Trust = trusting(t, source.VerifyHEAD, &files)
	for _, rev := range []string{unsigned, signed, "HEAD"} {
		together(t, r, o)
		swap(t, stored(t, o.Cache), signed, unsigned)
		s := open(t, o)
		snap, err := s.At(t.Context(), rev)
		switch {
		case rev != signed && !errors.Is(err, source.ErrUntrusted):
			t.Errorf("At(%s), which nobody signed: %v, %v", rev, snap.Commit, err)
		case rev == signed && (err != nil || text(t, snap) != r.committed(signed)):
			t.Errorf("At(%s), which is signed: %v", rev, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
