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

// feeds are the watches that are kept open.
type feeds struct {
	watches []object.Watch // nil: Live was never asked
	open    bool           // all of them were complete once
	looks   []shown
	old     []bool // the look is not what is there any more
	merged  *object.Observation
	broken  error // why the last try of a feed failed; nil: it did not
}

// stale has all feeds looked at anew.
func (f *feeds) stale() {
	f.merged = nil
	for i := range f.old {
		f.old[i] = true
	}
}

// Live is a Client's: the same answer as Observe's, from watches that are kept open.
func (c *Cluster) Live(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	c.mu.Lock()
	c.asked = append(c.asked, "live")
	c.follow(watches)
	asleep := c.feeds.broken == nil && c.faults.Hanging && !c.feeds.open
	c.mu.Unlock()
	if asleep {
		if err := c.answer(ctx); err != nil {
			return object.Observation{}, fmt.Errorf("watch cluster %s: %w", c.name, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.feeds.broken == nil && c.faults.Down {
		c.feeds.broken = errDown(c)
	}
	if c.feeds.broken != nil {
		return object.Observation{}, fmt.Errorf("watch cluster %s: %w", c.name, c.feeds.broken)
	}
	return c.catchUp()
}

// follow makes the feeds exactly what is asked.
func (c *Cluster) follow(watches []object.Watch) {
	f := &c.feeds
	if f.watches != nil && reflect.DeepEqual(f.watches, watches) {
		return
	}
	next := feeds{watches: slices.Clone(watches), looks: make([]shown, len(watches)), old: make([]bool, len(watches)), broken: f.broken}
	for i, w := range watches {
		next.old[i] = true
		for j, known := range f.watches {
			if reflect.DeepEqual(w, known) {
				next.looks[i], next.old[i] = f.looks[j], f.old[j]
			}
		}
	}
	next.open = f.open && !slices.Contains(next.old, true)
	*f = next
}

// catchUp looks again at what moved; all else is the same value as before.
func (c *Cluster) catchUp() (object.Observation, error) {
	f := &c.feeds
	if f.merged != nil {
		return *f.merged, nil
	}
	for i, w := range f.watches {
		if !f.old[i] {
			continue
		}
		look, err := c.see(w)
		if err != nil {
			return object.Observation{}, fmt.Errorf("watch %s: %w", describe(w), err)
		}
		f.looks[i], f.old[i] = look, false
	}
	o := c.merge(f.watches, f.looks)
	o.Unwatched = c.unwatched()
	f.merged, f.open = &o, true
	return o, nil
}

// unwatched is what may only be read. Here, too, it shows at once what others do.
func (c *Cluster) unwatched() (out []object.Key) {
	for _, w := range c.feeds.watches {
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

// changed tells feeds of one object; nil: it was not there, or is not any more.
func (c *Cluster) changed(key object.Key, was, now *unstructured.Unstructured, own bool) {
	f, tell := &c.feeds, false
	for i, w := range f.watches {
		before, after := c.shows(w, key, was), c.shows(w, key, now)
		if before == nil && after == nil {
			continue
		}
		f.old[i], f.merged = true, nil
		tell = tell || !alike(before, after)
	}
	if tell && !own {
		c.set.tell(c.name, moves{keys: map[object.Key]bool{key: true}})
	}
}

func (c *Cluster) shows(w object.Watch, key object.Key, u *unstructured.Unstructured) *object.Item {
	if u == nil {
		return nil
	}
	if matches, err := matcher(w); err != nil || !matches(key, u) {
		return nil
	}
	it := c.item(key, u, w)
	return &it
}

// alike reports whether nothing that a step depends on differs: not all but the version.
func alike(a, b *object.Item) bool {
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

// moves of one cluster, not taken yet.
type moves struct {
	keys map[object.Key]bool
	all  bool
}

func (c *Cluster) movedAll() {
	if c.feeds.watches != nil {
		c.set.tell(c.name, moves{all: true})
	}
}

func (s *Clusters) tell(name api.ClusterName, m moves) {
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

// Moved is a Registry's: it holds one token while there is something to take.
func (s *Clusters) Moved() <-chan struct{} { return s.moved }

// Take is a Registry's: what moved since it was asked last.
func (s *Clusters) Take() map[api.ClusterName]object.Moves {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[api.ClusterName]object.Moves{}
	for name, m := range s.moves {
		if out[name] = (object.Moves{All: true}); !m.all {
			out[name] = object.Moves{Keys: slices.SortedFunc(maps.Keys(m.keys), object.Key.Compare)}
		}
	}
	clear(s.moves)
	return out
}
