package contract

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
)

// itemsOf is all that an observation says.
func itemsOf(observed object.Observation) []string {
	out := slices.Concat([]string{observed.Server}, observed.Unserved)
	for k, r := range observed.Records() {
		body, _ := observed.Body(k)
		out = append(out, strings.Join([]string{k.String(), r.UID, r.ResourceVersion, r.Fields.Value(), r.Mark.String(), r.ForeignManagers.Value(), string(body.Bytes())}, " "))
	}
	return out
}

// same holds Live to Observe.
func (s *testScene) same(when string, w ...object.Watch) {
	s.Helper()
	if diff := cmp.Diff(itemsOf(s.observe(w...)), itemsOf(s.live(w...))); diff != "" {
		s.Errorf("%s: -observed +live\n%s", when, diff)
	}
}

func liveSame(s *testScene) {
	s.write(object.Create, s.configMap("mine", "v"), object.Record{})
	s.must(s.Foreign.Put(of(s.key("ConfigMap", "theirs"), nil)))
	s.must(s.Foreign.Put(of(s.key("Secret", "theirs"), map[string]any{"type": "Opaque"})))
	selected := s.watch("ConfigMap", object.Metadata)
	selected.Selector = object.OwnerLabel
	w := []object.Watch{
		s.watch("ConfigMap", object.Reduced), s.watch("ConfigMap", object.Whole, "mine", "absent"), selected, s.watch("Secret", object.Reduced, "theirs", "absent"),
		{Version: "v1", Kind: "Namespace", Names: []string{s.Namespace, "absent"}},
		{Group: "example.com", Version: "v1", Kind: "Widget"},
	}
	s.same("all", w...)
	s.same("less", w[1:3]...)
	s.same("more", w...)
}

func liveOwnWrite(s *testScene) {
	w := s.watch("ConfigMap", object.Whole)
	s.live(w)
	var rec object.Record
	for _, value := range []string{"1", "2", "3"} {
		o := s.configMap("a", value)
		rec = s.write(object.Update, o, rec)
		if got := s.live(w).Record(o.Key); got != rec {
			s.Errorf("value %s: got %+v, want %+v", value, got, rec)
		}
	}
	o := s.configMap("a", "3")
	s.write(object.Delete, o, rec)
	if got := s.live(w).Record(o.Key); !got.IsZero() {
		s.Errorf("deleted: got %+v", got)
	}
}

func liveForeignWrite(s *testScene) {
	w := s.watch("ConfigMap", object.Whole)
	key := s.key("ConfigMap", "a")
	s.same("first", w)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"created", func() error { return s.Foreign.Put(of(key, map[string]any{"data": map[string]any{"k": "v"}})) }},
		{"edited", func() error { return s.Foreign.Patch(key, map[string]any{"data": map[string]any{"k": "w"}}) }},
		{"deleted", func() error { return s.Foreign.Remove(key) }},
		{"made anew", func() error { return s.Foreign.Put(of(key, nil)) }},
	} {
		s.must(step.do())
		if others := s.moved(key); len(others) > 0 {
			s.Errorf("%s: told of %v, too", step.what, others)
		}
		s.same(step.what, w)
	}
}

func movedByOwnWrite(s *testScene) {
	w, last := s.watch("ConfigMap", object.Whole), s.key("ConfigMap", "last")
	s.live(w)
	o := s.configMap("mine", "1")
	rec := s.write(object.Create, o, object.Record{})
	rec = s.write(object.Update, s.configMap("mine", "2"), rec)
	s.live(w)
	s.write(object.Delete, o, rec)
	s.live(w)
	s.must(s.Foreign.Put(of(last, nil)))
	if others := s.moved(last); len(others) > 0 {
		s.Errorf("told of %v", others)
	}
	// What others did after us is, though we wrote the same object.
	rec = s.write(object.Create, o, object.Record{})
	s.must(s.Foreign.Patch(o.Key, map[string]any{"data": map[string]any{"1": "theirs"}}))
	s.moved(o.Key)
	if got := s.live(w).Record(o.Key); got == rec || o.Covered(got) {
		s.Errorf("got %+v", got)
	}
}

func movedByVersion(s *testScene) {
	w, key, last := s.watch("ConfigMap", object.Reduced), s.key("ConfigMap", "a"), s.key("ConfigMap", "last")
	s.must(s.Foreign.Put(of(key, nil)))
	s.annotate(key, "once")
	was := s.live(w).Record(key)
	s.annotate(key, "twice")
	s.must(s.Foreign.Put(of(last, nil)))
	if others := s.moved(last); len(others) > 0 {
		s.Errorf("told of %v", others)
	}
	if now := s.live(w).Record(key); now.ResourceVersion == was.ResourceVersion {
		s.Error("the new version is not shown")
	}
}

func movedOnlyIfWatched(s *testScene) {
	secrets, maps := s.watch("Secret", object.Reduced), s.watch("ConfigMap", object.Reduced)
	s.live(secrets, maps)
	s.live(maps)
	s.must(s.Foreign.Put(of(s.key("Secret", "a"), nil)))
	last := s.key("ConfigMap", "last")
	s.must(s.Foreign.Put(of(last, nil)))
	if others := s.moved(last); len(others) > 0 {
		s.Errorf("told of %v", others)
	}
	if got := s.live(secrets, maps).Record(s.key("Secret", "a")); got.IsZero() {
		s.Error("what is asked for again is not shown")
	}
}

// kinds that come are found by the next read; of those that a cluster serves no more nothing is shown.
func kinds(s *testScene) {
	group := s.Namespace + ".example.com"
	w := object.Watch{Group: group, Version: "v1", Kind: "Widget", Namespace: s.Namespace, Depth: object.Whole}
	loose := w
	loose.Version = ""
	if observed := s.observe(w, loose); !slices.Equal(observed.Unserved, []string{loose.KindName(), w.KindName()}) {
		s.Errorf("before: %v", observed.Unserved)
	}
	s.Serve(group, true)
	o := s.ours(object.Key{Group: group, Kind: "Widget", Namespace: s.Namespace, Name: "a"}, map[string]any{"spec": map[string]any{"n": 1, "list": []any{"a"}}})
	rec := s.write(object.Create, o, object.Record{})
	if !o.Covered(rec) || rec.Mark != object.Ours {
		s.Errorf("create: got %+v", rec)
	}
	s.same("served", w, loose)
	s.must(s.Foreign.Patch(o.Key, map[string]any{"spec": map[string]any{"list": []any{"a", "b"}}}))
	if now := s.record(o); o.Covered(now) {
		s.Errorf("a list of another's is covered: %s", now.Fields.Value())
	}
	s.Serve(group, false)
	s.write(object.Delete, o, rec)
	if observed := s.observe(w, loose); observed.Len() != 0 || len(observed.Unserved) != 2 {
		s.Errorf("after: %v, unserved %v", names(observed), observed.Unserved)
	}
}

func single(s *testScene) {
	w := s.watch("Secret", object.Reduced, "mine", "theirs")
	secret := func(value string) object.Object {
		return s.ours(s.key("Secret", "mine"), map[string]any{"type": "Opaque", "data": map[string]any{"k": value}})
	}
	rec := s.write(object.Create, secret("YQ=="), object.Record{})
	if got := s.live(w).Record(s.key("Secret", "mine")); got != rec {
		s.Errorf("at first: got %+v, want %+v", got, rec)
	}
	rec = s.write(object.Update, secret("Yg=="), rec)
	if got := s.live(w).Record(s.key("Secret", "mine")); got != rec {
		s.Errorf("after an own write: got %+v, want %+v", got, rec)
	}
	s.must(s.Foreign.Put(of(s.key("Secret", "theirs"), nil)))
	s.moved(s.key("Secret", "theirs"))
	if got := maps.Collect(s.live(w).Records()); len(got) != 2 {
		s.Errorf("what others made is not shown: %v", got)
	}
}
