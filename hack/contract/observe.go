package contract

import (
	"context"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/cluster"
)

func depths(s *testScene) {
	mine := s.configMap("mine", "v")
	rec := s.write(object.Create, mine, object.Record{})
	for _, d := range []object.Depth{object.Reduced, object.Metadata, object.Whole} {
		observed := s.observe(s.watch("ConfigMap", d))
		if got := observed.Record(mine.Key); got != rec {
			s.Errorf("depth %d: got record %+v, want %+v", d, got, rec)
		}
		body, kept := observed.Body(mine.Key)
		if kept != (d > object.Reduced) {
			s.Errorf("depth %d: body kept: %v", d, kept)
		}
		if !kept {
			continue
		}
		f := s.fields(body)
		_, data := f["data"]
		meta, _ := f["metadata"].(map[string]any)
		if f["apiVersion"] != "v1" || f["kind"] != "ConfigMap" || meta["name"] != "mine" || meta["managedFields"] != nil || data != (d == object.Whole) {
			s.Errorf("depth %d: got body %v", d, f)
		}
	}
}

// names returns those of a kind that an observation shows, in order, without what Kubernetes puts into every namespace.
func names(observed object.Observation) (out []string) {
	for k := range observed.Records() {
		if k.Name != "kube-root-ca.crt" {
			out = append(out, k.Name)
		}
	}
	return out
}

func selectedObjects(s *testScene) {
	for _, name := range []string{"a", "b", "c"} {
		key := s.key("ConfigMap", name)
		s.must(s.Foreign.Put(of(key, nil)))
		s.must(s.Foreign.Patch(key, map[string]any{"metadata": map[string]any{"labels": map[string]any{"is": name, "all": "yes"}}}))
	}
	w := s.watch("ConfigMap", object.Reduced)
	for selector, want := range map[string]string{"is=a": "a", "all": "a b c", "is notin (a),all": "b c", "is=d": ""} {
		w.Selector = selector
		if got := strings.Join(names(s.observe(w)), " "); got != want {
			s.Errorf("selector %s: got %q, want %q", selector, got, want)
		}
	}
	if got := strings.Join(names(s.observe(s.watch("ConfigMap", object.Reduced, "c", "absent", "a"))), " "); got != "a c" {
		s.Errorf("names: got %q", got)
	}
	elsewhere := object.Watch{Version: "v1", Kind: "ConfigMap", Namespace: "no-such-namespace"}
	byName := elsewhere
	byName.Names = []string{"a"}
	if got := s.observe(elsewhere, byName); got.Len() != 0 || len(got.Unserved) != 0 {
		s.Errorf("no such namespace: got %v", names(got))
	}
}

func mergedWatches(s *testScene) {
	for _, name := range []string{"a", "b"} {
		s.must(s.Foreign.Put(of(s.key("ConfigMap", name), nil)))
	}
	all, one := s.watch("ConfigMap", object.Reduced), s.watch("ConfigMap", object.Whole, "a", "absent")
	for _, w := range [][]object.Watch{{all, one}, {one, all}, {all, one, one}} {
		observed := s.observe(w...)
		_, a := observed.Body(s.key("ConfigMap", "a"))
		_, b := observed.Body(s.key("ConfigMap", "b"))
		if got := strings.Join(names(observed), " "); got != "a b" || !a || b {
			s.Errorf("got %q, body of a: %v, of b: %v", got, a, b)
		}
	}
}

func unserved(s *testScene) {
	observed := s.observe(
		object.Watch{Group: "example.com", Version: "v1", Kind: "Widget"},
		object.Watch{Group: "apps", Version: "v1beta1", Kind: "Deployment"},
		object.Watch{Group: "apps", Version: "v1", Kind: "Widget", Namespace: "default"},
		object.Watch{Version: "v1", Kind: "Widget"},
		object.Watch{Group: "example.com", Kind: "Widget", Namespace: "default"},
		object.Watch{Group: "apps", Kind: "Deployment", Namespace: "no-such-namespace"})
	want := []string{"Deployment.v1beta1.apps", "Widget.example.com", "Widget.v1.", "Widget.v1.apps", "Widget.v1.example.com"}
	if !slices.Equal(observed.Unserved, want) || observed.Len() != 0 {
		s.Errorf("got %q, want %q", observed.Unserved, want)
	}
}

func impossibleWatch(s *testScene) {
	for what, w := range map[string]object.Watch{
		"a namespace of what has none":  {Version: "v1", Kind: "Namespace", Namespace: s.Namespace},
		"names in no namespace":         {Version: "v1", Kind: "ConfigMap", Names: []string{"a"}},
		"a selector that does not read": {Version: "v1", Kind: "ConfigMap", Namespace: s.Namespace, Selector: "a in"},
	} {
		if observed, err := s.Client.Observe(s.Context(), []object.Watch{s.watch("ServiceAccount", object.Reduced), w}); err == nil || observed.Len() != 0 {
			s.Errorf("%s: got %d objects, %v", what, observed.Len(), err)
		}
	}
}

func canceled(s *testScene) {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	_, err := s.Client.Observe(ctx, []object.Watch{s.watch("ConfigMap", object.Reduced)})
	_, other := s.Client.Write(ctx, change(object.Create, s.configMap("a", "v"), object.Record{}))
	for _, err := range []error{err, other} {
		if cluster.Explain(err).Code != reason.Canceled {
			s.Errorf("got %v, want code %s", err, reason.Canceled)
		}
	}
}

func marks(s *testScene) {
	mine := s.configMap("mine", "v")
	s.write(object.Create, mine, object.Record{})
	labelled := func(owner string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{object.OwnerLabel: owner}}}
	}
	for name, owner := range map[string]string{"copied": object.DefaultOwner, "theirs": "blue"} {
		s.must(s.Foreign.Put(of(s.key("ConfigMap", name), nil)))
		s.must(s.Foreign.Patch(s.key("ConfigMap", name), labelled(owner)))
	}
	s.must(s.Foreign.Put(of(s.key("ConfigMap", "unmarked"), nil)))
	observed := s.observe(s.watch("ConfigMap", object.Reduced))
	for name, want := range map[string]object.Mark{"mine": object.Ours, "copied": object.Copied, "theirs": object.Theirs, "unmarked": object.Unmarked} {
		if got := observed.Record(s.key("ConfigMap", name)); got.Mark != want {
			s.Errorf("%s: got %s, want %s", name, got.Mark, want)
		}
	}
	s.must(s.Foreign.Patch(mine.Key, map[string]any{"metadata": map[string]any{"annotations": map[string]any{object.PruneAnnotation: object.PruneDisabled}}}))
	if got := s.record(mine); !got.PruneDisabled || got.Mark != object.Ours || got.ForeignManagers.Value() == "" {
		s.Errorf("kept: got %+v", got)
	}
}

func uncoveredFields(s *testScene) {
	for what, tt := range map[string]struct {
		patch map[string]any
		want  bool
	}{
		"another value":          {map[string]any{"data": map[string]any{"k": "theirs"}}, false},
		"a value of their own":   {map[string]any{"data": map[string]any{"l": "theirs"}}, true},
		"a value removed":        {map[string]any{"data": map[string]any{"k": nil}}, false},
		"another label":          {map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}, true},
		"no managed fields":      {map[string]any{"metadata": map[string]any{"managedFields": []any{map[string]any{}}}}, false},
		"the value that it is":   {map[string]any{"data": map[string]any{"k": "k"}}, true},
		"our digest overwritten": {map[string]any{"metadata": map[string]any{"annotations": map[string]any{object.DigestAnnotation: "0000000000000001"}}}, false},
	} {
		o := s.configMap(strings.ReplaceAll(what, " ", "-"), "k")
		if now := s.write(object.Create, o, object.Record{}); !o.Covered(now) {
			s.Errorf("%s: a create is not covered: %+v", what, now)
		}
		s.must(s.Foreign.Patch(o.Key, tt.patch))
		if now := s.record(o); o.Covered(now) != tt.want {
			s.Errorf("%s: covered: got %v, of %s", what, !tt.want, now.Fields.Value())
		}
	}
}
