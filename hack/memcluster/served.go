package memcluster

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/object"
)

// served are the changes that watches over HTTP show. Without a handler nothing is kept.
type served struct {
	by    map[schema.GroupKind][]servedChange
	moved chan struct{} // closed by the next change; nil: there is no handler
}

// servedChange is a change of an object, which is looked up when it is sent: a later change of it is another one.
type servedChange struct {
	key     object.Key
	version int
	gone    *unstructured.Unstructured // the last of an object that was deleted
}

// add keeps a change.
func (s *served) add(key object.Key, was, now *unstructured.Unstructured) {
	if s.moved == nil {
		return
	}
	change := servedChange{key: key}
	if now == nil {
		change.gone = was
	} else {
		change.version = versionOf(now)
	}
	of := schema.GroupKind{Group: key.Group, Kind: key.Kind}
	s.by[of] = append(s.by[of], change)
	close(s.moved)
	s.moved = make(chan struct{})
}

func versionOf(u *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(u.GetResourceVersion()) // always one: see setVersion
	return n
}

// shown is an event of a watch.
type shown struct {
	kind   string
	object *unstructured.Unstructured
}

// since returns what a watch shows after the changes that it has shown, how many these are then, and what closes at the next change.
func (c *Cluster) since(of schema.GroupKind, after int, matches match) (out []shown, next int, moved <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.served.by[of]
	for _, change := range all[min(after, len(all)):] {
		switch now := c.objects[change.key]; {
		case change.gone != nil && matches(change.key, change.gone):
			out = append(out, shown{"DELETED", change.gone})
		case now != nil && versionOf(now) == change.version && matches(change.key, now):
			out = append(out, shown{"MODIFIED", now})
		}
	}
	return out, len(all), c.served.moved
}

// list returns the objects of a kind in order, and the version of the list.
func (c *Cluster) list(of schema.GroupKind, matches match) (out []*unstructured.Unstructured, version int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []object.Key
	for key, u := range c.objects {
		if key.Group == of.Group && key.Kind == of.Kind && matches(key, u) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, object.Key.Compare)
	for _, key := range keys {
		out = append(out, c.objects[key])
	}
	return out, c.version
}

// match selects objects.
type match func(object.Key, *unstructured.Unstructured) bool
