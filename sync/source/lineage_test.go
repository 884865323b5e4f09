package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// grown returns a delta that copies what its base begins with, and appends.
func grown(base, begin []byte, tail string) packed {
	d := binary.AppendUvarint(nil, uint64(len(base)))
	d = binary.AppendUvarint(d, uint64(len(begin)+len(tail)))
	d = append(d, 0x80|0x10|0x20|0x40, byte(len(begin)), byte(len(begin)>>8), byte(len(begin)>>16), byte(len(tail)))
	return packed{
		kind: plumbing.REFDeltaObject, data: append(d, tail...), base: plumbing.ComputeHash(plumbing.CommitObject, base),
	}
}

// chained are deltas each of which waits for the next one, and at last a commit. It gives the first of them.
func chained(n int) ([]packed, plumbing.Hash) {
	begin := fmt.Appendf(nil, "tree %s\nparent %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n",
		strings.Repeat("1", 40), strings.Repeat("2", 40))
	text := slices.Concat(begin, []byte("00000000"))
	all := []packed{{kind: plumbing.CommitObject, data: text}}
	for i := range n {
		tail := fmt.Sprintf("%08d", i+1)
		all = append(all, grown(text, begin, tail))
		text = slices.Concat(begin, []byte(tail))
	}
	slices.Reverse(all)
	return all, plumbing.ComputeHash(plumbing.CommitObject, text)
}

// A server chooses how long a chain is; it must not choose how deep we go, nor how much we hold.
func TestLineageOfAChain(t *testing.T) {
	unraced(t)
	const n = 100_000
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20))
	chain, first := chained(n)
	l := newLineage(first, plumbing.NewHash(strings.Repeat("2", 40)))
	if err := l.read(bytes.NewReader(packOf(t, 0, chain...))); err != nil || !l.found {
		t.Errorf("read: %v, found %v", err, l.found)
	}
	if l.size < n*lineageEntry {
		t.Errorf("it counts %d bytes for %d commits", l.size, n)
	}
}

// A small delta may ask for much: what comes of it counts.
func TestLineageCountsWhatDeltasComeTo(t *testing.T) {
	unraced(t)
	base := commits(1)[0]
	base.data = base.data[:1<<19]
	pack := []packed{base}
	for i := range 300 {
		pack = append(pack, grown(base.data, base.data, fmt.Sprintf("%08d", i)))
	}
	slices.Reverse(pack)
	l := newLineage(plumbing.NewHash("1"), plumbing.NewHash("2"))
	if err := l.read(bytes.NewReader(packOf(t, 0, pack...))); !errors.Is(err, errLineage) {
		t.Errorf("read: %v is not %v", err, errLineage)
	}
}
