package overlay

import (
	"slices"
	"sync"
)

// memo keeps what was built last, by the hash of all that it was built from.
type memo struct {
	mu      sync.Mutex
	entries []memoEntry // the one that was asked for last stands last
	bytes   int
}

type memoEntry struct {
	hash   string
	stream []byte
}

// A few revisions: the one that is kept, and those that a diff compares.
const (
	memoEntries = 8
	memoBytes   = 64 << 20
)

func newMemo() *memo { return &memo{} }

func (m *memo) get(hash string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, e := range m.entries {
		if e.hash == hash {
			m.entries = append(append(m.entries[:i:i], m.entries[i+1:]...), e)
			return e.stream, true
		}
	}
	return nil, false
}

func (m *memo) put(hash string, stream []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.entries, func(e memoEntry) bool { return e.hash == hash }) {
		return
	}
	m.entries, m.bytes = append(m.entries, memoEntry{hash, stream}), m.bytes+len(stream)
	for len(m.entries) > memoEntries || m.bytes > memoBytes {
		m.bytes -= len(m.entries[0].stream)
		m.entries = m.entries[1:]
	}
}
