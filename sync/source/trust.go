package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/trust"
)

// ErrUntrusted says that a commit, or the tag that names it, is not signed as it should be. Its type is *Untrusted.
var ErrUntrusted = errors.New("not trusted")

// Untrusted says which commit is not trusted, and why.
type Untrusted struct {
	Commit api.Commit
	Cause  error
}

func (u *Untrusted) Error() string {
	return fmt.Sprintf("commit %s is not trusted: %s", u.Commit.Short(), u.Cause)
}

// Unwrap makes it an ErrUntrusted, too.
func (u *Untrusted) Unwrap() []error { return []error{ErrUntrusted, u.Cause} }

// Mode says what must be signed.
type Mode string

// The modes; the zero value wants no signature.
const (
	VerifyHEAD       Mode = "HEAD"       // the commit
	VerifyTag        Mode = "Tag"        // the tag that Ref names, or chooses with semver:; of a commit, any that names it
	VerifyTagAndHEAD Mode = "TagAndHEAD" // both
)

// Modes returns all that there are.
func Modes() []Mode { return []Mode{VerifyHEAD, VerifyTag, VerifyTagAndHEAD} }

func (m Mode) head() bool { return m == VerifyHEAD || m == VerifyTagAndHEAD }
func (m Mode) tag() bool  { return m == VerifyTag || m == VerifyTagAndHEAD }

// Trust says what must be signed, and by whom. Keys is called again for each visit that judges something, so that a key that was taken away counts
// no more at the next poll.
type Trust struct {
	Mode Mode
	Keys func(context.Context) (trust.Keys, error)
}

// check refuses what cannot work with any repository.
func (t Trust) check(ref string) error {
	switch {
	case t.Mode == "" && t.Keys == nil:
		return nil
	case !slices.Contains(Modes(), t.Mode):
		return fmt.Errorf("verify %q: want one of %q", t.Mode, Modes())
	case t.Keys == nil:
		return fmt.Errorf("verify %s: public keys are missing", t.Mode)
	case t.Mode.tag() && (ref == "" || ref == "HEAD" || strings.HasPrefix(ref, "refs/") && !strings.HasPrefix(ref, "refs/tags/")):
		return fmt.Errorf("verify %s: the ref %s is not a tag: name one, or a range of them such as semver:1.x", t.Mode, cmp.Or(ref, "HEAD"))
	}
	return nil
}

// verifier is what one visit knows about signatures. Proofs are those of all visits of this process, by commit.
type verifier struct {
	Trust
	keys     *trust.Keys // of this visit; nil: not read yet
	evidence map[plumbing.Hash]evidence
}

// maxEvidence bounds what is remembered: the head, and what was in force before.
const maxEvidence = 64

// next is for the next visit.
func (w verifier) next() *verifier {
	w.keys = nil
	return &w
}

// evidence is all that was believed about a commit, in the bytes that were signed, and the keys that it was believed with.
type evidence struct {
	commit, tag []byte // raw; nil: not wanted
	named       plumbing.Hash
	name        string // of the tag's ref
	keys        trust.Keys
}

// verify judges the bytes with the keys as they are now.
func (p evidence) verify(keys trust.Keys) error {
	if p.commit != nil {
		if _, err := keys.Commit(p.commit); err != nil {
			return err
		}
	}
	if p.tag != nil {
		if _, err := keys.Tag(p.tag, p.name); err != nil {
			return fmt.Errorf("tag %s: %w", strings.TrimPrefix(p.name, "refs/tags/"), err)
		}
	}
	return nil
}

// current returns the keys of this visit.
func (w *verifier) current(ctx context.Context) (trust.Keys, error) {
	if w.keys == nil {
		keys, err := w.Keys(ctx)
		if err != nil {
			return trust.Keys{}, &keysError{fmt.Errorf("read the keys to verify signatures with: %w", err)}
		}
		w.keys = &keys
	}
	return *w.keys, nil
}

// again returns the last snapshot once more if it is still believed: judged again where the keys have changed. It gives none where the ref names
// another tag by now, or the same one under another name, which is judged like a new commit.
func (v *visit) again(ctx context.Context, at target, last Snapshot) (Snapshot, error) {
	if v.verifier.Mode == "" {
		return last, nil
	}
	hash := plumbing.NewHash(string(last.Commit))
	p, known := v.verifier.evidence[hash]
	if !known || v.verifier.Mode.tag() && at.ref != "" && (len(at.want) != 1 || at.want[0] != p.named || at.ref != p.name) {
		return Snapshot{}, nil
	}
	if err := v.judge(ctx, hash, p); err != nil {
		return Snapshot{}, err
	}
	return last, nil
}

// judge verifies a proof, and remembers it.
func (v *visit) judge(ctx context.Context, commit plumbing.Hash, p evidence) error {
	keys, err := v.verifier.current(ctx)
	if err != nil {
		return err
	}
	if known, ok := v.verifier.evidence[commit]; ok && known.keys.Same(keys) && known.named == p.named && known.name == p.name {
		return nil
	}
	if err := p.verify(keys); err != nil {
		return untrusted(commit, err)
	}
	if len(v.verifier.evidence) >= maxEvidence {
		clear(v.verifier.evidence)
	}
	p.keys = keys
	v.verifier.evidence[commit] = p
	return nil
}

func untrusted(commit plumbing.Hash, cause error) error {
	return &Untrusted{Commit: api.Commit(commit.String()), Cause: cause}
}

// verify says whether a commit that the store holds is signed as it should be.
func (v *visit) verify(ctx context.Context, o *objects, at target, commit plumbing.Hash) error {
	mode := v.verifier.Mode
	switch {
	case mode == "":
		return nil
	case mode.tag() && at.ref == "":
		return v.byAnyTag(ctx, commit)
	}
	p, err := v.gatherEvidence(o, at, commit)
	if err != nil {
		return err
	}
	return v.judge(ctx, commit, p)
}

// gatherEvidence reads what has to be judged.
func (v *visit) gatherEvidence(o *objects, at target, commit plumbing.Hash) (evidence, error) {
	var p evidence
	var err error
	if v.verifier.Mode.head() {
		if p.commit, err = o.raw(plumbing.CommitObject, commit); err != nil {
			return p, err
		}
	}
	if !v.verifier.Mode.tag() {
		return p, nil
	}
	name, isTag := strings.CutPrefix(at.ref, "refs/tags/")
	switch {
	case !isTag:
		return p, untrusted(commit, fmt.Errorf("%s is not a tag (follow a tag, or a range of them such as semver:1.x)", at.ref))
	case at.want[0] == commit:
		return p, untrusted(commit, fmt.Errorf("tag %s: %w, it is a lightweight tag (sign it: git tag -s)", name, trust.ErrUnsigned))
	}
	if p.tag, err = o.raw(plumbing.TagObject, at.want[0]); err != nil {
		return p, err
	}
	p.name, p.named = at.ref, at.want[0]
	if of, err := tagged(p.tag); err != nil || of != commit {
		return p, untrusted(commit, fmt.Errorf("tag %s: it names another object than the server reports (check the server)", name))
	}
	return p, nil
}

// tagged returns what a tag is of: what the server said is compared with it.
func tagged(raw []byte) (plumbing.Hash, error) {
	obj := &plumbing.MemoryObject{}
	obj.SetType(plumbing.TagObject)
	_, _ = obj.Write(raw) // to memory
	t := &object.Tag{}
	err := t.Decode(obj)
	return t.Target, err
}

// byAnyTag is for a commit that was asked for by its hash: it is believed if it was before in this process, else if any tag
// that names it is.
func (v *visit) byAnyTag(ctx context.Context, commit plumbing.Hash) error {
	if p, known := v.verifier.evidence[commit]; known {
		return v.judge(ctx, commit, p)
	}
	refs, err := v.refs(ctx)
	if err != nil {
		return err
	}
	var last error
	for _, at := range tagsOf(refs, commit) {
		if last = v.byTag(ctx, at, commit); last == nil || !errors.Is(last, ErrUntrusted) {
			return last
		}
	}
	if last == nil {
		last = untrusted(commit, errors.New("no annotated tag names it (tag it: git tag -s, or verify HEAD alone)"))
	}
	return last
}

// byTag judges one tag, fetched if need be.
func (v *visit) byTag(ctx context.Context, at target, commit plumbing.Hash) error {
	if !v.holds(at.want[0]) {
		if _, err := v.fetch(ctx, at); err != nil {
			return err
		}
	}
	o := v.store.objects()
	defer o.close()
	p, err := v.gatherEvidence(o, at, commit)
	if err != nil {
		return err
	}
	return v.judge(ctx, commit, p)
}

func (v *visit) holds(hash plumbing.Hash) bool {
	o := v.store.objects()
	defer o.close()
	return o.storage.HasEncodedObject(hash) == nil
}

// tagsOf returns the annotated tags that name a commit, the last ones by name first, and only so many: each may cost a fetch.
func tagsOf(refs *packp.AdvRefs, commit plumbing.Hash) []target {
	const most = 8
	var out []target
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(refs.Peeled))) {
		if strings.HasPrefix(name, "refs/tags/") && refs.Peeled[name] == commit && len(out) < most {
			t, _ := tip(refs, name)
			out = append(out, t)
		}
	}
	return out
}
