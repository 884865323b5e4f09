package controller

import (
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// writtenFor is how long a write counts for more than the cache, if the watch never delivers it.
const writtenFor = 10 * time.Second

// written is a cache to which this process's own writes are known at once, before the watch delivers them. So no write is made twice.
type written[T metav1.Object] struct {
	cache cache.SharedIndexInformer

	mu     sync.Mutex
	recent map[string]write[T] // by namespace/name
}

type write[T metav1.Object] struct {
	object  T
	deleted bool
	at      time.Time
}

func newWritten[T metav1.Object](i cache.SharedIndexInformer) *written[T] {
	return &written[T]{cache: i, recent: map[string]write[T]{}}
}

// delivered forgets a write that the watch has delivered, or something later than it. It is to be called with what the watch delivers, before
// anybody looks at the consequences.
func (w *written[T]) delivered(o metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := o.GetNamespace() + "/" + o.GetName()
	recent, ok := w.recent[key]
	if !ok {
		return
	}
	_, held, _ := w.cache.GetStore().GetByKey(key)
	if later := version(o) >= version(recent.object); later && !recent.deleted || recent.deleted && !held {
		delete(w.recent, key)
	}
}

// version is a resourceVersion, which grows with each write of an object (KEP-5504).
func version(o metav1.Object) uint64 {
	n, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	return n
}

// put notes that an object was written.
func (w *written[T]) put(o T, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := o.GetNamespace() + "/" + o.GetName()
	live, held, _ := w.cache.GetStore().GetByKey(key)
	switch {
	case deleted && !held, held && !deleted && version(live.(metav1.Object)) >= version(o): // the watch was faster
		delete(w.recent, key)
	default:
		w.recent[key] = write[T]{o, deleted, time.Now()}
	}
}

// get returns an object by namespace/name.
func (w *written[T]) get(key string) (out T, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if recent, ok := w.recent[key]; ok && time.Since(recent.at) < writtenFor {
		return recent.object, !recent.deleted
	}
	delete(w.recent, key)
	live, ok, _ := w.cache.GetStore().GetByKey(key) // fails never: the key is a text
	if ok {
		out = live.(T)
	}
	return out, ok
}

// of returns the mirrors of an exported Service.
func (w *written[T]) of(service string) (out []T) {
	keys, _ := w.cache.GetIndexer().IndexKeys(byService, service) // fails for an index that does not exist
	w.mu.Lock()
	for key, recent := range w.recent {
		if _, held, _ := w.cache.GetStore().GetByKey(key); !held && !recent.deleted && slices.Contains(servicesOf(recent.object), service) {
			keys = append(keys, key)
		}
	}
	w.mu.Unlock()
	for _, key := range keys {
		if o, ok := w.get(key); ok {
			out = append(out, o)
		}
	}
	return out
}
