// Package contract is one suite of tests of what a client of a cluster promises to those who plan and write: it is run on
// sync/cluster's over a real API server, and on those of package memcluster that tests of the loop use. Where they differ,
// the real one is right.
package contract

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/cluster"
)

// Client is what is tested, of the installation object.DefaultOwner.
type Client interface {
	Observe(ctx context.Context, w []object.Watch) (object.Observation, error)
	Live(ctx context.Context, w []object.Watch) (object.Observation, error)
	Write(ctx context.Context, c object.Change) (object.Record, error)
}

// Changes tells what moves in clusters whose clients were asked for Live.
type Changes interface {
	Moved() <-chan struct{}
	Take() map[api.ClusterName]object.Moves
}

// Foreign is somebody else in the cluster, whose field manager is not ours.
type Foreign interface {
	// Put creates an object.
	Put(content map[string]any) error
	// Patch is a JSON merge patch.
	Patch(key object.Key, patch map[string]any) error
	Remove(key object.Key) error
}

// World is what one test has to itself: a namespace, of a cluster that others use as well. What Kubernetes puts into every
// namespace is there already.
type World struct {
	Client    Client
	Changes   Changes
	Foreign   Foreign
	Namespace string
	// Serve has a namespaced kind Widget served in group, version v1, or no longer.
	Serve func(group string, served bool)
}

// Test holds whatever open opens to the contract.
func Test(t *testing.T, open func(t *testing.T) World) {
	for name, promise := range map[string]func(*scene){
		"observe keeps as much as is asked":               depths,
		"observe narrows by selector and name":            narrowed,
		"observe unites watches":                          united,
		"observe tells what is not served":                unserved,
		"observe refuses a watch that cannot be":          impossible,
		"observe ends with its context":                   ended,
		"a record says whose an object is":                marks,
		"a foreign edit uncovers what it changes":         uncovered,
		"a create takes nothing over":                     created,
		"an update of the same writes nothing":            updated,
		"an update happens to what was read":              updatedOnly,
		"an update takes back what is ours":               forced,
		"a fenced write happens on exactly what was seen": fenced,
		"a delete happens on exactly what was seen":       deleted,
		"what a finalizer holds is going":                 going,
		"a replace makes another object":                  replaced,
		"a release gives up":                              released,
		"an adoption marks":                               adopted,
		"a write tells why it is refused":                 refused,
		"live shows what observe does":                    liveSame,
		"live shows own writes at once":                   liveOwn,
		"live shows what others do and tells":             liveForeign,
		"what is own is not told":                         toldOwn,
		"a version alone is not told":                     toldVersion,
		"what is not asked any more is not told":          toldAsked,
		"kinds come and go":                               kinds,
		"single objects show what others do":              single,
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{T: t, World: open(t), keys: map[object.Key]bool{}}
			promise(s)
		})
	}
}

// scene is one test.
type scene struct {
	*testing.T
	World
	all  bool
	keys map[object.Key]bool // told since it was asked last
}

// key is that of an object of the core group in the scene's namespace.
func (s *scene) key(kind, name string) object.Key {
	return object.Key{Kind: kind, Namespace: s.Namespace, Name: name}
}

// of is the content of an object with more fields.
func of(key object.Key, more map[string]any) map[string]any {
	meta := map[string]any{"name": key.Name}
	if key.Namespace != "" {
		meta["namespace"] = key.Namespace
	}
	at := "v1"
	if key.Group != "" {
		at = key.Group + "/v1"
	}
	out := map[string]any{"apiVersion": at, "kind": key.Kind, "metadata": meta}
	maps.Copy(out, more)
	return out
}

// ours is a wanted object.
func (s *scene) ours(key object.Key, more map[string]any) object.Object {
	s.Helper()
	o, err := object.Seal(object.Spec{Key: key, Version: "v1", Owner: object.DefaultOwner}, of(key, more))
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// configMap is a wanted one with one value.
func (s *scene) configMap(name, value string) object.Object {
	s.Helper()
	return s.ours(s.key("ConfigMap", name), map[string]any{"data": map[string]any{value: value}})
}

func (s *scene) watch(kind string, d object.Depth, names ...string) object.Watch {
	return object.Watch{Version: "v1", Kind: kind, Namespace: s.Namespace, Depth: d, Names: names}
}

func (s *scene) observe(w ...object.Watch) object.Observation {
	s.Helper()
	seen, err := s.Client.Observe(s.Context(), w)
	if err != nil {
		s.Fatal(err)
	}
	return seen
}

func (s *scene) live(w ...object.Watch) object.Observation {
	s.Helper()
	seen, err := s.Client.Live(s.Context(), w)
	if err != nil {
		s.Fatal(err)
	}
	return seen
}

// record is that of a fresh look at one object.
func (s *scene) record(o object.Object) object.Record {
	s.Helper()
	k := o.Key
	return s.observe(object.Watch{Group: k.Group, Version: o.Version, Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}}).Record(k)
}

// write must succeed.
func (s *scene) write(a object.Action, o object.Object, was object.Record) object.Record {
	s.Helper()
	now, err := s.Client.Write(s.Context(), change(a, o, was))
	if err != nil {
		s.Fatal(err)
	}
	return now
}

func change(a object.Action, o object.Object, was object.Record) object.Change {
	ch := object.Change{Action: a, Key: o.Key, Object: o, Was: was}
	if a == object.Delete {
		ch.Object = object.Object{}
	}
	return ch
}

// fails holds a write to the code of its refusal.
func (s *scene) fails(what string, code reason.Code, ch object.Change) {
	s.Helper()
	if _, err := s.Client.Write(s.Context(), ch); cluster.Explain(err).Code != code {
		s.Errorf("%s of %s: got %v, want code %s", ch.Action, what, err, code)
	}
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// label is what others do to an object that touches nothing of ours.
func (s *scene) annotate(key object.Key, value string) {
	s.Helper()
	s.must(s.Foreign.Patch(key, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/seen": value}}}))
}

// take gathers what was told so far.
func (s *scene) take() {
	for _, m := range s.Changes.Take() {
		s.all = s.all || m.All
		for _, k := range m.Keys {
			s.keys[k] = true
		}
	}
}

// told waits until it is told that an object moved, or all, and gives what else was; then begins anew.
func (s *scene) told(key object.Key) (others map[object.Key]bool) {
	s.Helper()
	for s.take(); !s.keys[key] && !s.all; s.take() {
		select {
		case <-s.Changes.Moved():
		case <-time.After(2 * time.Minute):
			s.Fatalf("%s moved, and that is not told; told were %v", key, s.keys)
		}
	}
	others = s.keys
	delete(others, key)
	s.keys, s.all = map[object.Key]bool{}, false
	return others
}

// fields decodes a body.
func (s *scene) fields(b object.Body) map[string]any {
	s.Helper()
	var out map[string]any
	s.must(json.Unmarshal(b.Bytes(), &out))
	return out
}
