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
	order *list.List // of *cacheEntry[V]; the front was used last
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

func (c *lruCache[V]) get(key inputHash) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheEntry[V]).value, true
}

// put adds a value of the given size; one that is larger than the bound is not kept.
func (c *lruCache[V]) put(key inputHash, value V, size int64) {
	size += entryOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[key]; ok || size > c.limit {
		return
	}
	c.byKey[key] = c.order.PushFront(&cacheEntry[V]{key, value, size})
	for c.size += size; c.size > c.limit; {
		last := c.order.Back()
		r := c.order.Remove(last).(*cacheEntry[V])
		delete(c.byKey, r.key)
		c.size -= r.size
	}
}
