// Package contract is a test suite for clients of clusters. It runs with the Client of sync/cluster on a real API server, and with
// the clusters in memory of package memcluster. If they differ, the real one is right.
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

// Client is the tested client, of installation object.DefaultOwner.
type Client interface {
	Observe(ctx context.Context, w []object.Watch) (object.Observation, error)
	Live(ctx context.Context, w []object.Watch) (object.Observation, error)
	Write(ctx context.Context, c object.Change) (object.Record, error)
}

// Changes reports what changes in clusters whose clients have open watches.
type Changes interface {
	Moved() <-chan struct{}
	Take() map[api.ClusterName]object.ChangedKeys
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
	for name, promise := range map[string]func(*testScene){
		"observe keeps as much as is asked":               depths,
		"observe narrows by selector and name":            selectedObjects,
		"observe unites watches":                          mergedWatches,
		"observe tells what is not served":                unserved,
		"observe refuses a watch that cannot be":          impossibleWatch,
		"observe ends with its context":                   canceled,
		"a record says whose an object is":                marks,
		"a foreign edit uncovers what it changes":         uncoveredFields,
		"a create takes nothing over":                     created,
		"an update of the same writes nothing":            updated,
		"an update happens to what was read":              updatedOnly,
		"an update takes back what is ours":               forced,
		"a fenced write happens on exactly what was seen": fenced,
		"a delete happens on exactly what was seen":       deleted,
		"what a finalizer holds is going":                 deletedWithFinalizer,
		"a replace makes another object":                  replaced,
		"a patch owns nothing":                            patched,
		"a release gives up":                              released,
		"an adoption marks":                               adopted,
		"a write tells why it is refused":                 deniedWrites,
		"live shows what observe does":                    liveSame,
		"live shows own writes at once":                   liveOwnWrite,
		"live shows what others do and tells":             liveForeignWrite,
		"what is own is not told":                         movedByOwnWrite,
		"a version alone is not told":                     movedByVersion,
		"what is not asked any more is not told":          movedOnlyIfWatched,
		"kinds come and go":                               kinds,
		"single objects show what others do":              single,
	} {
		t.Run(name, func(t *testing.T) {
			s := &testScene{T: t, World: open(t), keys: map[object.Key]bool{}}
			promise(s)
		})
	}
}

// testScene is one test.
type testScene struct {
	*testing.T
	World
	all  bool
	keys map[object.Key]bool // told since it was asked last
}

// key is that of an object of the core group in the scene's namespace.
func (s *testScene) key(kind, name string) object.Key {
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
func (s *testScene) ours(key object.Key, more map[string]any) object.Object {
	s.Helper()
	o, err := object.Seal(object.Spec{Key: key, Version: "v1", Owner: object.DefaultOwner}, of(key, more))
	if err != nil {
		s.Fatal(err)
	}
	return o
}

// configMap is a wanted one with one value.
func (s *testScene) configMap(name, value string) object.Object {
	s.Helper()
	return s.ours(s.key("ConfigMap", name), map[string]any{"data": map[string]any{value: value}})
}

func (s *testScene) watch(kind string, d object.Depth, names ...string) object.Watch {
	return object.Watch{Version: "v1", Kind: kind, Namespace: s.Namespace, Depth: d, Names: names}
}

func (s *testScene) observe(w ...object.Watch) object.Observation {
	s.Helper()
	observed, err := s.Client.Observe(s.Context(), w)
	if err != nil {
		s.Fatal(err)
	}
	return observed
}

func (s *testScene) live(w ...object.Watch) object.Observation {
	s.Helper()
	observed, err := s.Client.Live(s.Context(), w)
	if err != nil {
		s.Fatal(err)
	}
	return observed
}

// record is that of a fresh look at one object.
func (s *testScene) record(o object.Object) object.Record {
	s.Helper()
	k := o.Key
	return s.observe(object.Watch{Group: k.Group, Version: o.Version, Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}}).Record(k)
}

// write must succeed.
func (s *testScene) write(a object.Action, o object.Object, was object.Record) object.Record {
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
func (s *testScene) fails(what string, code reason.Code, ch object.Change) {
	s.Helper()
	if _, err := s.Client.Write(s.Context(), ch); cluster.Explain(err).Code != code {
		s.Errorf("%s of %s: got %v, want code %s", ch.Action, what, err, code)
	}
}

func (s *testScene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// label is what others do to an object that touches nothing of ours.
func (s *testScene) annotate(key object.Key, value string) {
	s.Helper()
	s.must(s.Foreign.Patch(key, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"example.com/seen": value}}}))
}

// take collects the reported changes so far.
func (s *testScene) take() {
	for _, m := range s.Changes.Take() {
		s.all = s.all || m.All
		for _, k := range m.Keys {
			s.keys[k] = true
		}
	}
}

// moved waits until a change of an object, or of all, is reported. It returns the other reported keys, and resets them.
func (s *testScene) moved(key object.Key) (others map[object.Key]bool) {
	s.Helper()
	for s.take(); !s.keys[key] && !s.all; s.take() {
		select {
		case <-s.Changes.Moved():
		case <-time.After(2 * time.Minute):
			s.Fatalf("the change of %s is not reported; reported are %v", key, s.keys)
		}
	}
	others = s.keys
	delete(others, key)
	s.keys, s.all = map[object.Key]bool{}, false
	return others
}

// fields decodes a body.
func (s *testScene) fields(b object.Body) map[string]any {
	s.Helper()
	var out map[string]any
	s.must(json.Unmarshal(b.Bytes(), &out))
	return out
}
