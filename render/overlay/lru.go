package overlay

import (
	"container/list"
	"sync"
)

// inputHash is the hash of all that a result depends on.
type inputHash [32]byte

// lruCache keeps the most recently used results within a bound in bytes. It is safe for concurrent use.
type lruCache[V any] struct {
	limit int64

	mu    sync.Mutex
	size  int64
	order *list.List // of *remembered[V]; the front was used last
	byKey map[inputHash]*list.Element
}

type cacheEntry[V any] struct {
	key   inputHash
	value V
	size  int64
}

// entryOverhead is about the size of an entry without its value, in bytes.
const entryOverhead = 512

func newLRUCache[V any](limit int64) *lruCache[V] {
	return &lruCache[V]{limit: limit, order: list.New(), byKey: map[inputHash]*list.Element{}}
}

func (m *lruCache[V]) get(key inputHash) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	m.order.MoveToFront(e)
	return e.Value.(*cacheEntry[V]).value, true
}

// put adds a value of the given size; one that is larger than the bound is not kept.
func (m *lruCache[V]) put(key inputHash, value V, size int64) {
	size += entryOverhead
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.byKey[key]; ok || size > m.limit {
		return
	}
	m.byKey[key] = m.order.PushFront(&cacheEntry[V]{key, value, size})
	for m.size += size; m.size > m.limit; {
		last := m.order.Back()
		r := m.order.Remove(last).(*cacheEntry[V])
		delete(m.byKey, r.key)
		m.size -= r.size
	}
}
