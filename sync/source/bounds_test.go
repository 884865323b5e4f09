package source

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // the format's own checksum
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// packed is an object as it is in a pack.
type packed struct {
	kind  plumbing.ObjectType
	data  []byte
	claim int           // the size it says it has; 0: the right one
	base  plumbing.Hash // of a delta
}

// delta says that its result has so many bytes, and makes none of them.
func delta(size uint64) packed {
	return packed{kind: plumbing.REFDeltaObject, data: binary.AppendUvarint([]byte{1}, size)}
}

// small says that its base has so many bytes, and its result one.
func small(base uint64) packed {
	return packed{kind: plumbing.REFDeltaObject, data: append(binary.AppendUvarint(nil, base), 1)}
}

// packOf makes a pack; count is what its head says, 0: the right number.
func packOf(t *testing.T, count int, objects ...packed) []byte {
	t.Helper()
	if count == 0 {
		count = len(objects)
	}
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02")
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(count))) //nolint:gosec // a small number
	z, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)          // some packs are large
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		size := len(o.data)
		if o.claim > 0 {
			size = o.claim
		}
		head := byte(o.kind)<<4 | byte(size&0xf)
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(head | 0x80)
			head = byte(size & 0x7f)
		}
		b.WriteByte(head)
		if o.kind == plumbing.REFDeltaObject {
			b.Write(o.base[:])
		}
		z.Reset(&b)
		if _, err := z.Write(o.data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // see above
	return append(b.Bytes(), sum[:]...)
}

// unraced leaves a test that reads much on one goroutine out of short runs, which are those with the race detector: there it takes
// ten times as long.
func unraced(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine works long: make unraced runs it")
	}
	t.Parallel()
}

// zeros are so many bytes and then the end.
func zeros(n int64) io.Reader { return io.LimitReader(endless{}, n) }

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func times(n int, o packed) (out []packed) {
	for range n {
		out = append(out, o)
	}
	return out
}

// Each bound of one fetch, at it and beyond it.
func TestSurveyBounds(t *testing.T) {
	unraced(t)
	const (
		file  = "the commit holds a file of more than 64 MiB"
		whole = "the commit holds more than 512 MiB"
	)
	blob := func(claim int) packed { return packed{kind: plumbing.BlobObject, claim: claim} }
	for name, tt := range map[string]struct {
		pack  []byte
		tail  int64 // what comes after it
		words string
	}{
		"a small pack":            {pack: packOf(t, 0, packed{kind: plumbing.BlobObject, data: []byte("a")})},
		"the largest file":        {pack: packOf(t, 0, packed{kind: plumbing.BlobObject, data: make([]byte, MaxObject)})},
		"a file too large":        {pack: packOf(t, 0, blob(MaxObject+1)), words: file},
		"a delta that is large":   {pack: packOf(t, 0, packed{kind: plumbing.REFDeltaObject, claim: MaxObject + 1}), words: file},
		"the largest delta":       {pack: packOf(t, 0, delta(MaxObject))},
		"a delta's file":          {pack: packOf(t, 0, delta(MaxObject+1)), words: file},
		"a delta's endless file":  {pack: packOf(t, 0, delta(1<<63)), words: file},
		"too much to unpack":      {pack: packOf(t, 0, times(MaxFetch/MaxObject, delta(MaxObject))...), words: whole},
		"a delta's base":          {pack: packOf(t, 0, small(MaxObject+1)), words: file},
		"small ones of large":     {pack: packOf(t, 0, times(MaxWork/MaxObject-1, small(MaxObject))...)},
		"too many of large":       {pack: packOf(t, 0, times(MaxWork/MaxObject+1, small(MaxObject))...), words: "the pack takes too much work"},
		"too many objects":        {pack: packOf(t, MaxObjects+1), words: "the commit holds more than 500000 objects"},
		"a server that goes on":   {pack: packOf(t, 0, blob(0)), tail: MaxFetch, words: whole},
		"a server that ends late": {pack: packOf(t, 0, blob(0)), tail: MaxFetch - 100},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := survey(io.MultiReader(bytes.NewReader(tt.pack), zeros(tt.tail)))
			var bound *tooLarge
			switch {
			case tt.words == "" && err != nil:
				t.Errorf("survey: %v", err)
			case tt.words != "" && (!errors.As(err, &bound) || !strings.Contains(err.Error(), tt.words)):
				t.Errorf("survey: %v (%[1]T); want a bound that says %q", err, tt.words)
			}
		})
	}
	// As many objects as there may be are asked for: that they are not there is another error.
	var bound *tooLarge
	if _, err := survey(bytes.NewReader(packOf(t, MaxObjects))); err == nil || errors.As(err, &bound) {
		t.Errorf("survey of %d objects that are not there: %v", MaxObjects, err)
	}
}

// commits are so many, of nearly 1 MiB each, and none descends from another.
func commits(n int) (out []packed) {
	for i := range n {
		head := fmt.Sprintf("tree %s\nauthor a <a@example.com> 1 +0000\ncommitter a <a@example.com> %d +0000\n\n", strings.Repeat("1", 40), i)
		out = append(out, packed{kind: plumbing.CommitObject, data: append([]byte(head), bytes.Repeat([]byte("m"), 1<<20-len(head))...)})
	}
	return out
}

// What lies between two commits is held in memory, as long as it is not too much.
func TestLineageBounds(t *testing.T) {
	unraced(t)
	const words = "the history between the two commits is too large"
	base := commits(1)[0]
	large := packed{kind: plumbing.CommitObject, data: append(bytes.Clone(base.data), 'm')}
	grows := packed{kind: plumbing.REFDeltaObject, base: plumbing.ComputeHash(base.kind, base.data)}
	grows.data = binary.AppendUvarint(binary.AppendUvarint(nil, 1<<20), 1<<20+1)
	grows.data = append(grows.data, 0x80|0x40, 0x10, 1, 'm') // copy 1 MiB, and add a letter
	for name, tt := range map[string]struct {
		commits []packed
		words   string
	}{
		"the most":           {commits(maxLineage>>20 - 1), ""},
		"a commit too many":  {commits(maxLineage >> 20), words},
		"a commit too large": {[]packed{large}, words},
		"a delta too large":  {[]packed{base, grows}, "invalid delta"},
	} {
		t.Run(name, func(t *testing.T) {
			err := newLineage(plumbing.NewHash("1"), plumbing.NewHash("2")).read(bytes.NewReader(packOf(t, 0, tt.commits...)))
			if (err == nil) != (tt.words == "") || err != nil && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("read: %v; want %q", err, tt.words)
			}
		})
	}
}
