package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/linkwright/linkwright/api"
)

// maxLineage bounds, in bytes, the commits between two that are held in memory to tell whether one descends from the other:
// some hundred thousand of them. Each counts, beside its text, what it takes to find it again, and each parent, too.
const (
	maxLineage    = 128 << 20
	lineageEntry  = 512
	lineageParent = 64
)

var errLineage = errors.New("the history between the two commits is too large")

// descent returns an error if commit does not descend from last: what a commit names as its parents needs no server.
func (v *visit) descent(ctx context.Context, commit, last plumbing.Hash) error {
	if v.store.open() == nil && slices.Contains(v.store.commits(), commit) {
		o := v.store.objects()
		defer o.close()
		if c, err := o.commit(commit); err == nil && slices.Contains(c.ParentHashes, last) {
			return nil
		}
	}
	return v.follows(ctx, commit, last)
}

// follows asks the server whether commit descends from last. We say that we want the one and have the other, and of
// ancestors we say nothing: the server leaves out last and all that it reaches, so commit descends from last exactly if it
// reaches, over what is sent, a commit whose parent last is. Only commits are asked for, where the server can tell them apart;
// where it cannot, they mostly come first, and what comes after the answer is cut off.
func (v *visit) follows(ctx context.Context, commit, last plumbing.Hash) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	refs, err := v.refs(ctx)
	if err != nil {
		return err
	}
	at, ok := tipOf(refs, commit.String())
	if !ok {
		return ErrRefGone
	}
	at = v.reachable(at)
	found, err := v.descends(ctx, cancel, at, commit, last)
	if errors.Is(err, ErrRefGone) && len(at.tips) > 0 {
		at.want = at.tips
		found, err = v.descends(ctx, cancel, at, commit, last)
	}
	switch {
	case err != nil:
		return err
	case found:
		return nil
	}
	return nonFastForward(commit, last)
}

func nonFastForward(commit, last plumbing.Hash) error {
	return fmt.Errorf("%w: %s does not descend from %s", ErrNonFastForward, commit, last)
}

func unknownCommit(commit, last plumbing.Hash) error {
	return fmt.Errorf("%w: linkwright cannot check whether %s descends from %s",
		ErrUnknownCommit, commit, last)
}

func (v *visit) descends(ctx context.Context, cut func(), at target, commit, last plumbing.Hash) (bool, error) {
	answer, err := v.upload(ctx, func(refs *packp.AdvRefs) *packp.UploadPackRequest {
		r := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
		r.Wants, r.Haves = slices.Clone(at.want), []plumbing.Hash{last}
		if refs.Capabilities.Supports(capability.Filter) {
			_ = r.Capabilities.Set(capability.Filter) // it takes no arguments, so none can be wrong
			r.Filter = "tree:0"
		}
		return r
	})
	if err != nil {
		return false, err
	}
	defer answer.drop(cut)
	if !slices.Contains(answer.common, last) {
		return false, unknownCommit(commit, last)
	}
	l := newLineage(commit, last)
	if err := l.read(&io.LimitedReader{R: answer, N: MaxFetch}); err != nil {
		if ctx.Err() != nil {
			return false, errors.Join(context.Cause(ctx), err)
		}
		return false, fmt.Errorf("%w: %v", errCut, err) //nolint:errorlint // hidden on purpose, see errCut
	}
	return l.found || l.walk(), nil
}

// lineage looks for a way from one commit back to another, in a pack that is read once.
type lineage struct {
	from, to plumbing.Hash
	parents  map[plumbing.Hash][]plumbing.Hash
	reached  map[plumbing.Hash]bool // from from, as far as is known
	found    bool

	bodies map[int64][]byte // commits by offset: deltas refer to them
	at     map[plumbing.Hash]int64
	late   map[plumbing.Hash][]late // deltas whose base has not come yet
	size   int64
}

// body is a commit's text.
type body struct {
	offset int64
	text   []byte
}

// late is a delta that waits for its base.
type late struct {
	offset int64
	delta  []byte
}

func newLineage(from, to plumbing.Hash) *lineage {
	return &lineage{
		from: from, to: to, parents: map[plumbing.Hash][]plumbing.Hash{}, reached: map[plumbing.Hash]bool{from: true},
		bodies: map[int64][]byte{}, at: map[plumbing.Hash]int64{}, late: map[plumbing.Hash][]late{},
	}
}

// read reads until the answer is found, else to the end, whose checksum then says that nothing was left out.
func (l *lineage) read(r io.Reader) error {
	scan := packfile.NewScanner(r)
	_, count, err := scan.Header()
	if err != nil {
		return err
	}
	for i := uint32(0); i < count && !l.found; i++ {
		h, err := scan.NextObjectHeader()
		if err != nil {
			return err
		}
		if err := l.object(scan, h); err != nil {
			return err
		}
	}
	if l.found {
		return nil
	}
	_, err = scan.Checksum()
	return err
}

// object takes a commit, or a delta that may be one; the scanner passes over all else by itself.
func (l *lineage) object(scan *packfile.Scanner, h *packfile.ObjectHeader) error {
	base, known := l.bodies[h.OffsetReference]
	switch h.Type {
	case plumbing.CommitObject, plumbing.REFDeltaObject:
	case plumbing.OFSDeltaObject:
		if !known {
			return nil // of a tree or a file
		}
	default:
		return nil
	}
	if h.Length < 0 || h.Length > 1<<20 {
		return errLineage
	}
	if err := l.charge(lineageEntry + h.Length); err != nil {
		return err
	}
	offset, reference := h.Offset, h.Reference
	var b bytes.Buffer
	if _, _, err := scan.NextObject(&b); err != nil {
		return err
	}
	switch h.Type {
	case plumbing.CommitObject:
		return l.commits(body{offset, b.Bytes()})
	case plumbing.OFSDeltaObject:
		return l.patched(base, late{offset, b.Bytes()})
	}
	if where, ok := l.at[reference]; ok {
		return l.patched(l.bodies[where], late{offset, b.Bytes()})
	}
	l.late[reference] = append(l.late[reference], late{offset, b.Bytes()})
	return nil
}

// charge counts what is held.
func (l *lineage) charge(bytes int64) error {
	if l.size += bytes; l.size > maxLineage {
		return errLineage
	}
	return nil
}

// patched takes a commit that is a delta of another one.
func (l *lineage) patched(base []byte, d late) error {
	b, err := l.patch(base, d)
	if err != nil {
		return err
	}
	return l.commits(b)
}

func (l *lineage) patch(base []byte, d late) (body, error) {
	_, size, err := deltaSizes(d.delta)
	if err != nil || size > 1<<20 {
		return body{}, errors.Join(err, packfile.ErrInvalidDelta)
	}
	if err := l.charge(int64(size)); err != nil {
		return body{}, err
	}
	text, err := packfile.PatchDelta(base, d.delta)
	return body{d.offset, text}, err
}

// commits takes a commit, and what waited for it: a list, and no recursion, since those may be a chain of any length.
func (l *lineage) commits(first body) error {
	next := []body{first}
	for len(next) > 0 && !l.found {
		b := next[len(next)-1]
		next = next[:len(next)-1]
		waiting, err := l.commit(b)
		if err != nil {
			return err
		}
		for _, d := range waiting {
			patched, err := l.patch(b.text, d)
			if err != nil {
				return err
			}
			next = append(next, patched)
		}
	}
	return nil
}

// commit notes a commit's parents, and gives what waited for it.
func (l *lineage) commit(b body) ([]late, error) {
	obj := &plumbing.MemoryObject{}
	obj.SetType(plumbing.CommitObject)
	_, _ = obj.Write(b.text) // to memory
	c := &object.Commit{}
	if err := c.Decode(obj); err != nil {
		return nil, err
	}
	if err := l.charge(int64(len(c.ParentHashes)) * lineageParent); err != nil {
		return nil, err
	}
	hash := obj.Hash()
	l.bodies[b.offset], l.at[hash], l.parents[hash] = b.text, b.offset, c.ParentHashes
	if l.reached[hash] {
		for _, p := range c.ParentHashes {
			l.reached[p] = true
			l.found = l.found || p == l.to
		}
	}
	waiting := l.late[hash]
	delete(l.late, hash)
	return waiting, nil
}

// walk looks for the way again, in whatever order commits came.
func (l *lineage) walk() bool {
	seen, next := map[plumbing.Hash]bool{}, []plumbing.Hash{l.from}
	for len(next) > 0 {
		h := next[len(next)-1]
		next = next[:len(next)-1]
		if h == l.to {
			return true
		}
		if !seen[h] {
			seen[h] = true
			next = append(next, l.parents[h]...)
		}
	}
	return false
}

// lineages are answers that cannot change any more: a commit's ancestors are part of its hash.
type lineages map[[2]api.Commit]error

// keep remembers an answer, unless the server may give another one some day.
func (l lineages) keep(commit, last api.Commit, err error) {
	const most = 1000
	if err != nil && !errors.Is(err, ErrNonFastForward) {
		return
	}
	if len(l) >= most {
		clear(l)
	}
	l[[2]api.Commit{commit, last}] = err
}
