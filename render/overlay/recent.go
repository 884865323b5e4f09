package overlay

import (
	"container/list"
	"sync"
)

// inputHash is the hash of all that a result depends on.
type inputHash [32]byte

// recent keeps results, those used last, within a bound of bytes. It is safe for concurrent use.
type recent[V any] struct {
	limit int64

	mu    sync.Mutex
	held  int64
	order *list.List // of *remembered[V]; the front was used last
	byKey map[inputHash]*list.Element
}

type remembered[V any] struct {
	key   inputHash
	value V
	size  int64
}

// entryOverhead is what an entry costs beside its value, in bytes; roughly.
const entryOverhead = 512

func newRecent[V any](limit int64) *recent[V] {
	return &recent[V]{limit: limit, order: list.New(), byKey: map[inputHash]*list.Element{}}
}

func (m *recent[V]) find(key inputHash) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*remembered[V]).value, true
}

// keep takes a value of so many bytes; what is larger than the bound is not kept.
func (m *recent[V]) keep(key inputHash, value V, size int64) {
	size += entryOverhead
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.byKey[key]; ok || size > m.limit {
		return
	}
	m.byKey[key] = m.order.PushFront(&remembered[V]{key, value, size})
	for m.held += size; m.held > m.limit; {
		last := m.order.Back()
		r := m.order.Remove(last).(*remembered[V])
		delete(m.byKey, r.key)
		m.held -= r.size
	}
}
