package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// ends calls end where it ends.
type ends struct {
	io.Reader
	end func()
}

func (e ends) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		e.end()
	}
	return n, err
}

// Where nobody is patient any more before the indexer begins, that is the error, and not what became of its file.
func TestIndexBeginsTooLate(t *testing.T) {
	s := newStore(t.TempDir(), "any")
	f, err := os.CreateTemp(t.TempDir(), "pack")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.index(ctx, t.TempDir(), f); !errors.Is(err, context.Canceled) {
		t.Errorf("index: %v is not %v", err, context.Canceled)
	}
}

// A pack that would keep an indexer busy for long does so no longer than we are patient.
func TestIndexEndsWithItsContext(t *testing.T) {
	unraced(t)
	var large [2][]byte
	for i := range large {
		large[i] = append(make([]byte, 60<<20), byte(i))
	}
	var pack []packed
	for i := range 16 {
		d := grown(large[i%2], make([]byte, 1), fmt.Sprint(i))
		d.base = plumbing.ComputeHash(plumbing.BlobObject, large[i%2])
		pack = append(pack, d)
	}
	for _, l := range large {
		pack = append(pack, packed{kind: plumbing.BlobObject, data: l})
	}
	slices.Reverse(pack)
	s := newStore(t.TempDir(), "any")
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	defer s.release()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := s.add(ctx, ends{bytes.NewReader(packOf(t, 0, pack...)), cancel})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("add: %v is not %v", err, context.Canceled)
	}
}
