package memcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// openWatches are the open watches.
type openWatches struct {
	watches  []object.Watch // nil: Live was never asked
	open     bool           // all of them were complete once
	results  []watchResult
	outdated []bool // the look is not what is there any more
	merged   *object.Observation
	broken   error // why the last try of a feed failed; nil: it did not
}

// invalidate makes all watches be read again.
func (f *openWatches) invalidate() {
	f.merged = nil
	for i := range f.outdated {
		f.outdated[i] = true
	}
}

// Live implements object.Cluster: the same result as Observe's, from open watches.
func (c *Cluster) Live(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	c.mu.Lock()
	c.requests = append(c.requests, "live")
	c.open(watches)
	asleep := c.live.broken == nil && c.faults.Hanging && !c.live.open
	c.mu.Unlock()
	if asleep {
		if err := c.respond(ctx); err != nil {
			return object.Observation{}, fmt.Errorf("watch cluster %s: %w", c.name, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live.broken == nil && c.faults.Down {
		c.live.broken = errDown(c)
	}
	if c.live.broken != nil {
		return object.Observation{}, fmt.Errorf("watch cluster %s: %w", c.name, c.live.broken)
	}
	return c.refresh()
}

// open opens exactly these watches.
func (c *Cluster) open(watches []object.Watch) {
	f := &c.live
	if f.watches != nil && reflect.DeepEqual(f.watches, watches) {
		return
	}
	next := openWatches{watches: slices.Clone(watches), results: make([]watchResult, len(watches)), outdated: make([]bool, len(watches)), broken: f.broken}
	for i, w := range watches {
		next.outdated[i] = true
		for j, known := range f.watches {
			if reflect.DeepEqual(w, known) {
				next.results[i], next.outdated[i] = f.results[j], f.outdated[j]
			}
		}
	}
	next.open = f.open && !slices.Contains(next.outdated, true)
	*f = next
}

// refresh reads again what changed; everything else is the same value as before.
func (c *Cluster) refresh() (object.Observation, error) {
	f := &c.live
	if f.merged != nil {
		return *f.merged, nil
	}
	for i, w := range f.watches {
		if !f.outdated[i] {
			continue
		}
		look, err := c.readWatch(w)
		if err != nil {
			return object.Observation{}, fmt.Errorf("watch %s: %w", describe(w), err)
		}
		f.results[i], f.outdated[i] = look, false
	}
	o := c.merge(f.watches, f.results)
	o.Unwatched = c.unwatched()
	f.merged, f.open = &o, true
	return o, nil
}

// unwatched are objects that may be read and not watched.
func (c *Cluster) unwatched() (out []object.Key) {
	for _, w := range c.live.watches {
		if !slices.Contains(c.faults.Denied["watch"], schema.GroupKind{Group: w.Group, Kind: w.Kind}) {
			continue
		}
		names := w.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			k := object.Key{Group: w.Group, Kind: w.Kind, Namespace: w.Namespace, Name: name}
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}

// notify updates the watches after a change of one object; was or now is nil if it did or does not exist.
func (c *Cluster) notify(key object.Key, was, now *unstructured.Unstructured, own bool) {
	c.served.add(key, was, now)
	f, tell := &c.live, false
	for i, w := range f.watches {
		before, after := c.itemOf(w, key, was), c.itemOf(w, key, now)
		if before == nil && after == nil {
			continue
		}
		f.outdated[i], f.merged = true, nil
		tell = tell || !equalItems(before, after)
	}
	if tell && !own {
		c.set.addMoves(c.name, pendingMoves{keys: map[object.Key]bool{key: true}})
	}
}

func (c *Cluster) itemOf(w object.Watch, key object.Key, u *unstructured.Unstructured) *object.Item {
	if u == nil {
		return nil
	}
	if matches, err := matcher(w); err != nil || !matches(key, u) {
		return nil
	}
	it := c.item(key, u, w)
	return &it
}

// equalItems compares items without their versions.
func equalItems(a, b *object.Item) bool {
	if a == nil || b == nil {
		return false
	}
	r, s := a.Record, b.Record
	r.ResourceVersion, s.ResourceVersion = "", ""
	return r == s && bytes.Equal(versionless(a.Body), versionless(b.Body))
}

func versionless(b object.Body) []byte {
	var u unstructured.Unstructured
	if b.IsZero() || json.Unmarshal(b.Bytes(), &u.Object) != nil {
		return b.Bytes()
	}
	u.SetResourceVersion("")
	out, err := json.Marshal(u.Object)
	if err != nil {
		return b.Bytes()
	}
	return out
}

// pendingMoves are changes of one cluster that nobody has taken yet.
type pendingMoves struct {
	keys map[object.Key]bool
	all  bool
}

func (c *Cluster) moveAll() {
	if c.live.watches != nil {
		c.set.addMoves(c.name, pendingMoves{all: true})
	}
}

func (s *Clusters) addMoves(name api.ClusterName, m pendingMoves) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.moves[name]
	if known.keys == nil {
		known.keys = map[object.Key]bool{}
	}
	maps.Copy(known.keys, m.keys)
	known.all = known.all || m.all
	s.moves[name] = known
	select {
	case s.moved <- struct{}{}:
	default:
	}
}

// Moved is as in cluster.Registry: it has one token while there is something to take.
func (s *Clusters) Moved() <-chan struct{} { return s.moved }

// Take is as in cluster.Registry: it returns what changed since its last call.
func (s *Clusters) Take() map[api.ClusterName]object.ChangedKeys {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[api.ClusterName]object.ChangedKeys{}
	for name, m := range s.moves {
		if out[name] = (object.ChangedKeys{All: true}); !m.all {
			out[name] = object.ChangedKeys{Keys: slices.SortedFunc(maps.Keys(m.keys), object.Key.Compare)}
		}
	}
	clear(s.moves)
	return out
}
