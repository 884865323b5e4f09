package plan

import (
	"maps"
	"slices"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/sync/pair"
)

// What Linkerd's controllers write asks for the whole only where an end may go on by it.
func TestAsksOfMirrors(t *testing.T) {
	s := linked(t, all)
	keys := []object.Key{
		{Kind: "Service", Namespace: "shop", Name: "web-east"},
		{Kind: "Service", Namespace: mc, Name: "web-east"},
		{Kind: "Endpoints", Namespace: "shop", Name: "web-east"},
		{Kind: "Pod", Namespace: mc, Name: "controller-east"},
		{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-east"},
	}
	asks := func(what string, want bool) {
		t.Helper()
		last := Cluster(s.now(), "west", s.renderer())
		for _, k := range keys {
			if ends, whole := Asks(s.now(), last, []object.Key{k}); whole != want || len(ends) > 0 {
				t.Errorf("%s: %s asks for %v, whole %t", what, k, ends, whole)
			}
		}
	}
	asks("in place", false)
	policy := object.Key{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy", Name: "linkwright.secrets"}
	if _, whole := Asks(s.now(), Cluster(s.now(), "west", s.renderer()), []object.Key{policy}); !whole {
		t.Error("an admission policy was changed, and nobody looks")
	}
	unmark(s, "west", deployment("east"), object.Theirs)
	asks("held", false)
	unmark(s, "west", deployment("east"), object.Ours)
	rested, was := Cluster(s.now(), "west", s.renderer()), s.live["west"].Seen
	for _, k := range keys {
		record(&s.live["west"].Seen, k, object.Record{UID: "x", Mark: object.Ours})
		if _, whole := Asks(s.now(), rested, []object.Key{k}); !whole {
			t.Errorf("%s has our mark, and nobody looks at it", k)
		}
	}
	s.live["west"].Seen = was
	s.world.Fleet = declare(t, two, "")
	s.play = s.play[:1] // pods stay
	s.settle()
	asks("its pods are waited for", true)
}

// A credential that is a copy of what its target shows is compared with its end, and so are the account and the token that it is
// made of; one that tells of itself asks for the whole.
func TestAsksOfCredentials(t *testing.T) {
	bound, target := "  credentials: {mode: Bound}", object.End{Cluster: "east", Link: westEast.Link}
	for _, tt := range []struct {
		spec  string
		end   object.End
		key   object.Key
		whole bool
	}{
		{"", westEast, mirrorKey, false},
		{"", target, render.Account(owner, "west"), false},
		{"", target, render.TokenSecret(owner, "west"), false},
		{"", target, render.TokenSecret(owner, "north"), true}, // of no link that is declared
		{bound, westEast, mirrorKey, true},
		{bound, target, render.Account(owner, "west"), true},
		{bound, target, render.TokenSecret(owner, "west"), true},
	} {
		s := linked(t, tt.spec)
		last := Cluster(s.now(), tt.end.Cluster, s.renderer())
		ends, whole := Asks(s.now(), last, []object.Key{tt.key})
		if whole != tt.whole || !whole && !slices.Equal(ends, []object.End{tt.end}) {
			t.Errorf("with %q, %s asks for %v, whole %t", tt.spec, tt.key, ends, whole)
		}
	}
}

// The inventory of an end in place that can be read is compared with its end; any other, and the base's, asks for the whole.
func TestAsksOfInventories(t *testing.T) {
	none := func(*pair.Side, object.Key) {}
	for name, tt := range map[string]struct {
		of       object.End
		standing Standing
		do       func(*pair.Side, object.Key)
		whole    bool
	}{
		"of an end in place":   {westEast, InPlace, none, false},
		"of an end that waits": {westEast, Waiting, none, true},
		"of the base":          {object.End{Cluster: "west"}, InPlace, none, true},
		"of no end here":       {object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}, InPlace, none, true},
		"gone":                 {westEast, InPlace, func(side *pair.Side, k object.Key) { remove(side, k) }, true},
		"unreadable":           {westEast, InPlace, func(side *pair.Side, k object.Key) { show(&side.Seen, k, object.NewBody([]byte("{}"))) }, true},
	} {
		s, k := linked(t, ""), inventory.Key(owner, tt.of)
		w := s.now()
		last := Cluster(w, "west", s.renderer())
		for i := range last.Rows {
			last.Rows[i].Standing = tt.standing
		}
		side := w.Sides["west"]
		tt.do(&side, k)
		w.Sides = maps.Clone(w.Sides)
		w.Sides["west"] = side
		ends, whole := Asks(w, last, []object.Key{k})
		if whole != tt.whole || !whole && !slices.Equal(ends, []object.End{tt.of}) {
			t.Errorf("%s: it asks for %v, whole %t", name, ends, whole)
		}
	}
}
