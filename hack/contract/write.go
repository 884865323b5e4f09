package contract

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/cluster"
)

const rbac = "rbac.authorization.k8s.io"

// several are wanted objects of different kinds.
func (s *testScene) several() []object.Object {
	labels := map[string]any{"app": "a"}
	return []object.Object{
		s.configMap("a", "v"),
		s.ours(s.key("Secret", "a"), map[string]any{"type": "Opaque", "data": map[string]any{"k": "aHVzaA=="}}),
		s.ours(s.key("ServiceAccount", "a"), nil),
		s.ours(s.key("Service", "a"), map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"name": "http", "port": 80}}}}),
		s.binding("view"),
		s.ours(object.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: s.Namespace, Name: "a"},
			map[string]any{"spec": map[string]any{"maxUnavailable": 1, "selector": map[string]any{"matchLabels": labels}}}),
		s.ours(object.Key{Group: "apps", Kind: "Deployment", Namespace: s.Namespace, Name: "a"}, map[string]any{"spec": map[string]any{
			"replicas": 0, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{
				map[string]any{"name": "a", "image": "example.com/a:1", "args": []any{"-v", "-x"}, "ports": []any{map[string]any{"containerPort": 9999}}},
			}}},
		}}),
	}
}

func (s *testScene) binding(role string) object.Object {
	return s.ours(object.Key{Group: rbac, Kind: "RoleBinding", Namespace: s.Namespace, Name: "a"}, map[string]any{
		"roleRef":  map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": role},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "a", "namespace": s.Namespace}},
	})
}

func created(s *testScene) {
	for _, o := range s.several() {
		now := s.write(object.Create, o, object.Record{})
		if now.Mark != object.Ours || now.Digest != o.Digest || now.UID == "" || now.ResourceVersion == "" || !o.Covered(now) {
			s.Errorf("create %s: got %+v, want ours, digest %x, covered", o.Key, now, o.Digest)
		}
		s.fails("what is there", reason.ObjectExists, change(object.Create, o, object.Record{}))
	}
	theirs := s.configMap("theirs", "v")
	s.must(s.Foreign.Put(of(theirs.Key, nil)))
	before := s.record(theirs)
	s.fails("what is somebody else's", reason.ObjectExists, change(object.Create, theirs, object.Record{}))
	if now := s.record(theirs); now != before {
		s.Errorf("somebody else's was touched: got %+v, want %+v", now, before)
	}
}

func updated(s *testScene) {
	o, next := s.configMap("a", "v"), s.configMap("a", "w")
	first := s.write(object.Create, o, object.Record{})
	if again := s.write(object.Update, o, first); again != first {
		s.Errorf("the same: got %+v, want %+v", again, first)
	}
	now := s.write(object.Update, next, first)
	if now.UID != first.UID || now.ResourceVersion == first.ResourceVersion || now.Digest != next.Digest || !next.Covered(now) || o.Covered(now) {
		s.Errorf("other fields: got %+v, want them and not the old ones", now)
	}
	body, _ := s.observe(s.watch("ConfigMap", object.Whole)).Body(o.Key)
	if data, _ := s.fields(body)["data"].(map[string]any); len(data) != 1 || data["w"] != "w" {
		s.Errorf("other fields: got %v", data)
	}
}

func updatedOnly(s *testScene) {
	for _, o := range s.several() {
		was := s.write(object.Create, o, object.Record{})
		s.write(object.Drain, o, was)
		s.must(s.Foreign.Remove(o.Key))
		for _, a := range []object.Action{object.Update, object.Drain} {
			s.fails("what is gone", reason.Conflict, change(a, o, was))
		}
		if now := s.record(o); !now.IsZero() {
			s.Errorf("%s: a refused write left %+v", o.Key, now)
		}
		other := s.write(object.Update, o, object.Record{})
		if other.IsZero() || other.UID == was.UID {
			s.Errorf("update of what was never seen: got %+v, want a new object", other)
		}
		for _, a := range []object.Action{object.Update, object.Drain} {
			s.fails("what is another one", reason.Conflict, change(a, o, was))
		}
	}
}

func forced(s *testScene) {
	o := s.configMap("a", "k")
	was := s.write(object.Create, o, object.Record{})
	s.must(s.Foreign.Patch(o.Key, map[string]any{"data": map[string]any{"k": "theirs", "l": "theirs"}}))
	now := s.write(object.Update, o, was)
	body, _ := s.observe(s.watch("ConfigMap", object.Whole)).Body(o.Key)
	data, _ := s.fields(body)["data"].(map[string]any)
	if !o.Covered(now) || data["k"] != "k" || data["l"] != "theirs" {
		s.Errorf("got %v of %s, want ours back, and theirs left", data, now.Fields.Value())
	}
}

func fenced(s *testScene) {
	o, next := s.configMap("a", "1"), s.configMap("a", "2")
	on := func(o object.Object, was object.Record) object.Change {
		ch := change(object.Update, o, was)
		ch.Conditional = true
		return ch
	}
	first, err := s.Client.Write(s.Context(), on(o, object.Record{}))
	s.must(err)
	if _, err := s.Client.Write(s.Context(), on(o, object.Record{})); !errors.Is(err, cluster.ErrExists) {
		s.Errorf("on nothing, where something is: got %v", err)
	}
	second, err := s.Client.Write(s.Context(), on(next, first))
	s.must(err)
	s.fails("an older version", reason.Conflict, on(next, first))
	s.annotate(o.Key, "yes")
	s.fails("what somebody annotated", reason.Conflict, on(next, second))
	s.must(s.Foreign.Remove(o.Key))
	s.fails("what is gone", reason.Conflict, on(next, second))
	if now := s.record(o); !now.IsZero() {
		s.Errorf("a refused write left %+v", now)
	}
}

func deleted(s *testScene) {
	o := s.configMap("a", "v")
	first := s.write(object.Create, o, object.Record{})
	if _, err := s.Client.Write(s.Context(), change(object.Delete, o, object.Record{})); err == nil {
		s.Error("delete of what was never seen: got no error")
	}
	s.annotate(o.Key, "yes")
	s.fails("what changed", reason.Conflict, change(object.Delete, o, first))
	second := s.record(o)
	other := second
	other.UID = "00000000-0000-0000-0000-000000000000"
	s.fails("another object of that name", reason.Conflict, change(object.Delete, o, other))
	for range 2 {
		if now := s.write(object.Delete, o, second); !now.IsZero() {
			s.Errorf("got %+v, want a zero record", now)
		}
	}
	nobody := o
	nobody.Key = object.Key{Group: "example.com", Kind: "Widget", Namespace: s.Namespace, Name: "a"}
	s.write(object.Delete, nobody, second)
}

func deletedWithFinalizer(s *testScene) {
	o := s.configMap("a", "v")
	s.write(object.Create, o, object.Record{})
	hold := func(finalizers ...any) {
		s.must(s.Foreign.Patch(o.Key, map[string]any{"metadata": map[string]any{"finalizers": finalizers}}))
	}
	hold("example.com/hold")
	s.write(object.Delete, o, s.record(o))
	if now := s.record(o); !now.Terminating {
		s.Errorf("held: got %+v", now)
	}
	hold()
	if now := s.record(o); !now.IsZero() {
		s.Errorf("let go: got %+v", now)
	}
}

func replaced(s *testScene) {
	old, next := s.binding("view"), s.binding("edit")
	was := s.write(object.Create, old, object.Record{})
	s.fails("a role", reason.ImmutableField, change(object.Update, next, was))
	now := s.write(object.Replace, next, was)
	if now.UID == was.UID || now.Digest != next.Digest || !next.Covered(now) {
		s.Errorf("got %+v, want a new object with digest %x", now, next.Digest)
	}
	if now.HelmKeeps {
		s.Error("Helm is told to keep what replaced an object of which it was not told so")
	}
	s.fails("what was replaced", reason.Conflict, change(object.Replace, next, was))
	s.must(s.Foreign.Patch(next.Key, map[string]any{"metadata": map[string]any{"annotations": map[string]any{object.HelmPolicy: object.HelmKeep}}}))
	kept := s.write(object.Replace, old, s.record(next))
	if now = s.write(object.Update, old, kept); !kept.HelmKeeps || !now.HelmKeeps { // no apply takes it away
		s.Errorf("got %+v, then %+v, want Helm told to keep what replaced an object of which it was told so", kept, now)
	}
	if _, err := s.Client.Write(s.Context(), change(object.Replace, next, object.Record{})); err == nil {
		s.Error("replace of what was never seen: got no error")
	}
}

func patched(s *testScene) {
	k := s.key("ConfigMap", "theirs")
	s.must(s.Foreign.Put(of(k, map[string]any{"data": map[string]any{"k": "v", "l": "v"}})))
	was := s.record(object.Object{Key: k})
	text, err := json.Marshal(of(k, map[string]any{"data": map[string]any{"k": "edited"}}))
	s.must(err)
	o := object.Object{Key: k, Version: "v1", Body: object.NewBody(text), Part: true}
	now := s.write(object.Patch, o, was)
	body, _ := s.observe(s.watch("ConfigMap", object.Whole)).Body(k)
	data, _ := s.fields(body)["data"].(map[string]any)
	if data["k"] != "edited" || data["l"] != "v" || now.UID != was.UID || now.ResourceVersion == was.ResourceVersion {
		s.Errorf("got %v, %+v, want k changed alone", data, now)
	}
	if now != s.record(object.Object{Key: k}) || now.Sets("k") || now.Mark != object.Unmarked || !slices.Equal(now.Managers(), was.Managers()) {
		s.Errorf("got %+v, want no entry of ours", now)
	}
	s.fails("what changed", reason.Conflict, change(object.Patch, o, was))
	if again := s.write(object.Patch, o, now); again.Sets("k") {
		s.Errorf("the same again: got %+v, want no entry of ours", again)
	}
	s.must(s.Foreign.Remove(k))
	s.fails("what is gone", reason.Conflict, change(object.Patch, o, now))
	if _, err := s.Client.Write(s.Context(), change(object.Patch, o, object.Record{})); err == nil {
		s.Error("patch of what was never read: got no error")
	}
}

func released(s *testScene) {
	o := s.configMap("a", "k")
	was := s.write(object.Create, o, object.Record{})
	patch := prune.Release(object.Change{Key: o.Key}, linkerd.Helm{Name: "mc", Namespace: "ns"}).Object
	s.annotate(o.Key, "yes")
	s.fails("what changed", reason.Conflict, change(object.Release, patch, was))
	was = s.record(o)
	if now := s.write(object.Release, patch, was); now.Mark != object.Unmarked || now.Digest != 0 || now.UID != was.UID {
		s.Errorf("got %+v, want no mark of ours", now)
	}
	body, _ := s.observe(s.watch("ConfigMap", object.Whole)).Body(o.Key)
	if data, _ := s.fields(body)["data"].(map[string]any); data["k"] != "k" {
		s.Errorf("the object should stay as it was: got %v", data)
	}
	// An apply of ours that names less takes nothing away afterwards: it does not know what it once wrote.
	marks := s.ours(o.Key, nil)
	if now := s.write(object.Update, marks, s.record(o)); now.Mark != object.Ours {
		s.Errorf("taken again: got %+v, want it ours", now)
	}
	body, _ = s.observe(s.watch("ConfigMap", object.Whole)).Body(o.Key)
	if data, _ := s.fields(body)["data"].(map[string]any); data["k"] != "k" {
		s.Errorf("an apply of marks alone took the object's own fields: got %v", data)
	}
	s.must(s.Foreign.Remove(o.Key))
	if now := s.write(object.Release, patch, was); !now.IsZero() {
		s.Errorf("of the absent: got %+v, want a zero record", now)
	}
}

func adopted(s *testScene) {
	k := s.key("ConfigMap", "made")
	s.must(s.Foreign.Put(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": k.Name, "namespace": k.Namespace}, "data": map[string]any{"k": "v"},
	}))
	o := object.Object{Key: k, Body: object.AdoptPatch(object.DefaultOwner, map[string]string{"example.com/kept": "yes"})}
	was := s.record(o)
	if was.Mark != object.Unmarked {
		s.Errorf("before: got %+v, want no mark", was)
	}
	s.annotate(k, "yes")
	s.fails("what changed", reason.Conflict, change(object.Adopt, o, was))
	was = s.record(o)
	now := s.write(object.Adopt, o, was)
	if now.Mark != object.Ours || now.Digest != object.AdoptedDigest || now.UID != was.UID {
		s.Errorf("got %+v, want it ours, not applied yet, and the same object", now)
	}
	if seen := s.record(o); seen != now {
		s.Errorf("seen %+v, want %+v", seen, now)
	}
	body, _ := s.observe(s.watch("ConfigMap", object.Whole)).Body(k)
	if data, _ := s.fields(body)["data"].(map[string]any); data["k"] != "v" {
		s.Errorf("the object should stay as it was: got %v", data)
	}
	s.must(s.Foreign.Remove(k))
	s.fails("what is gone", reason.NotFound, change(object.Adopt, o, now))
}

func deniedWrites(s *testScene) {
	o := s.ours(object.Key{Kind: "ConfigMap", Namespace: "no-such-namespace", Name: "a"}, nil)
	s.fails("no such namespace", reason.NotFound, change(object.Create, o, object.Record{}))
	o = s.ours(object.Key{Group: "example.com", Kind: "Widget", Namespace: s.Namespace, Name: "a"}, nil)
	s.fails("no such kind", reason.NotFound, change(object.Create, o, object.Record{}))
	typed := func(of string) object.Object {
		return s.ours(s.key("Secret", "a"), map[string]any{"type": of, "data": map[string]any{"k": "aHVzaA=="}})
	}
	was := s.write(object.Create, typed("Opaque"), object.Record{})
	s.fails("its type", reason.ImmutableField, change(object.Update, typed("example.com/other"), was))
	if now := s.record(typed("Opaque")); now != was {
		s.Errorf("a refused write left %+v, want %+v", now, was)
	}
}
