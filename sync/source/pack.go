package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Bounds of what one fetch may bring. They count the whole commit, not only Path: Git cannot fetch a directory.
const (
	// MaxFetch bounds, in bytes, both the pack that a server sends and the objects in it.
	MaxFetch = 512 << 20
	// MaxObject bounds one object, in bytes: it is held in memory while the pack is indexed.
	MaxObject = 64 << 20
	// MaxWork bounds, in bytes, what deltas make an indexer read and write: of each its base, itself and what comes of it. A
	// pack that Git makes stays near what it unpacks to: it never makes a small file out of a very large one.
	MaxWork = 4 * MaxFetch
	// MaxObjects bounds their number: the index of a pack is made in memory.
	MaxObjects = 500_000
)

// errCut says that what a server sent is no whole pack. It hides what go-git says of it: that reads as if the server spoke
// no Git at all.
var errCut = errors.New("the answer was cut off or is damaged (the next poll tries again)")

func errTooLarge() error {
	return fmt.Errorf("the commit holds more than %d MiB: keep declarations in a repository of their own", MaxFetch>>20)
}

// add takes a pack in, aside, and then all at once.
func (s *store) add(ctx context.Context, pack io.Reader) error {
	in, err := os.MkdirTemp(s.dir(), "in-")
	if err != nil {
		return s.explain("write", err)
	}
	defer os.RemoveAll(in) //nolint:errcheck // what stays is swept another time
	f, err := os.Create(filepath.Join(in, "pack"))
	if err != nil {
		return s.explain("write", err)
	}
	defer f.Close() //nolint:errcheck // it was flushed, or a better error is on its way
	w := &diskWriter{to: bufio.NewWriterSize(f, 1<<16)}
	bases, err := survey(io.TeeReader(pack, w))
	if err != nil || w.err != nil {
		return s.explainAdd(ctx, w.err, err)
	}
	if err := w.to.Flush(); err != nil {
		return s.explain("write", err)
	}
	o := s.objects()
	defer o.close()
	if err := complete(f, bases, o); err != nil {
		return s.explain("write", err)
	}
	return s.index(ctx, in, f)
}

// diskWriter remembers that it was the disk that failed, and not the server.
type diskWriter struct {
	to  *bufio.Writer
	err error
}

func (w *diskWriter) Write(p []byte) (n int, err error) {
	n, err = w.to.Write(p)
	w.err = errors.Join(w.err, err)
	return n, err
}

// explainAdd distinguishes a full disk, a bound, an end of linkwright's patience and a broken pack from one another.
func (s *store) explainAdd(ctx context.Context, disk, err error) error {
	var bound *tooLarge
	switch {
	case disk != nil:
		return s.explain("write", disk)
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), err)
	case errors.As(err, &bound):
		return err
	}
	return fmt.Errorf("%w: %v", errCut, err) //nolint:errorlint // hidden on purpose, see errCut
}

// tooLarge is an error of a pack beyond its bounds.
type tooLarge struct{ error }

// survey reads a pack to its end, keeps the bounds and compares the checksum, before anything is made of it: what an object
// says of its size is what an indexer would reserve. It gives what deltas refer to by name: of a thin pack, what we have.
func survey(pack io.Reader) ([]plumbing.Hash, error) {
	bounded := &io.LimitedReader{R: pack, N: MaxFetch}
	scan := packfile.NewScanner(bounded)
	_, count, err := scan.Header()
	if err == nil && count > MaxObjects {
		return nil, &tooLarge{fmt.Errorf("the commit holds more than %d objects: keep declarations in a repository of their own", MaxObjects)}
	}
	bases := map[plumbing.Hash]bool{}
	left, work := int64(MaxFetch), int64(MaxWork)
	for i := uint32(0); err == nil && i < count; i++ {
		var size, base int64
		if size, base, err = surveyObject(scan, bases); err == nil {
			left -= size
			work -= base
		}
		switch {
		case left < 0:
			return nil, &tooLarge{errTooLarge()}
		case base > 0 && work < 0:
			return nil, &tooLarge{errors.New("the pack takes too much work to unpack: many small files in it are made of large ones")}
		}
	}
	if err == nil {
		_, err = scan.Checksum()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, bounded) // the server may have an error to tell after the pack
	}
	if bounded.N <= 0 {
		return nil, &tooLarge{errTooLarge()}
	}
	return slices.SortedFunc(maps.Keys(bases), func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) }), err
}

// surveyObject returns the size of what an object unfolds to, and of a delta also the work that this is, and notes what it refers to by name. A
// delta that lies about its base is found out by whoever applies it, at the price of that base.
func surveyObject(scan *packfile.Scanner, bases map[plumbing.Hash]bool) (size, work int64, err error) {
	h, err := scan.NextObjectHeader()
	if err != nil {
		return 0, 0, err
	}
	if h.Length > MaxObject {
		return 0, 0, errLargeObject()
	}
	if h.Type == plumbing.REFDeltaObject {
		bases[h.Reference] = true
	}
	head := &prefix{left: 2 * binary.MaxVarintLen64}
	n, _, err := scan.NextObject(head)
	if err != nil || n != h.Length {
		return 0, 0, errors.Join(err, packfile.ErrMalformedPackFile)
	}
	if !h.Type.IsDelta() {
		return n, 0, nil
	}
	base, result, err := deltaSizes(head.Bytes())
	if err == nil && max(base, result) > MaxObject {
		return 0, 0, errLargeObject()
	}
	return n + int64(result), int64(base) + n + int64(result), err
}

func errLargeObject() error {
	return &tooLarge{fmt.Errorf("the commit holds a file of more than %d MiB: keep declarations in a repository of their own", MaxObject>>20)}
}

// deltaSizes reads what a delta begins with: the size of its base and the result's.
func deltaSizes(head []byte) (base, result uint64, err error) {
	base, n := binary.Uvarint(head)
	if n <= 0 {
		return 0, 0, packfile.ErrMalformedPackFile
	}
	result, n = binary.Uvarint(head[n:])
	if n <= 0 {
		return 0, 0, packfile.ErrMalformedPackFile
	}
	return base, result, nil
}

// prefix keeps the first bytes and takes the others for written.
type prefix struct {
	bytes.Buffer
	left int
}

func (p *prefix) Write(b []byte) (int, error) {
	n := min(len(b), p.left)
	p.left -= n
	p.Buffer.Write(b[:n])
	return len(b), nil
}

// index makes the index of a pack, and moves both to their place: the pack last, since it is what makes the two count. The
// parser knows of no context; once ctx is done, it finds the file closed.
func (s *store) index(ctx context.Context, in string, f *os.File) error {
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	w := new(idxfile.Writer)
	_, err := f.Seek(0, io.SeekStart)
	var parser *packfile.Parser
	if err == nil {
		parser, err = packfile.NewParser(packfile.NewScanner(f), w)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), err) // before the first object, too: the file is closed then
	case err != nil:
		return s.explain("read", err)
	}
	sum, err := parser.Parse()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), err)
	case err != nil:
		return fmt.Errorf("%w: %v", errCut, err) //nolint:errorlint // hidden on purpose, see errCut
	}
	if err := writeIndex(filepath.Join(in, "idx"), w); err != nil {
		return s.explain("write", err)
	}
	name := filepath.Join(s.packs(), "pack-"+sum.String())
	if err := os.Rename(filepath.Join(in, "idx"), name+".idx"); err != nil {
		return s.explain("write", err)
	}
	return s.explain("write", os.Rename(filepath.Join(in, "pack"), name+".pack"))
}

func writeIndex(name string, w *idxfile.Writer) error {
	idx, err := w.Index()
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<16)
	_, err = idxfile.NewEncoder(buffered).Encode(idx)
	return errors.Join(err, buffered.Flush(), f.Close())
}

// commitIn finds the one commit among all that the packs hold whose hash begins with some digits.
func (o *objects) commitIn(digits string) (plumbing.Hash, error) {
	var found []plumbing.Hash
	all, err := o.storage.IterEncodedObjects(plumbing.CommitObject)
	if err != nil {
		return plumbing.ZeroHash, &damaged{err}
	}
	err = all.ForEach(func(obj plumbing.EncodedObject) error {
		if h := obj.Hash(); strings.HasPrefix(h.String(), digits) && !slices.Contains(found, h) {
			found = append(found, h)
		}
		return nil
	})
	switch {
	case err != nil:
		return plumbing.ZeroHash, &damaged{err}
	case len(found) == 0:
		return plumbing.ZeroHash, ErrRefGone
	case len(found) > 1:
		return plumbing.ZeroHash, errors.New("several commits begin with these digits: give more")
	}
	return found[0], nil
}
