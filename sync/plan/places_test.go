package plan

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// late lays back what a cluster held before, as a process that hung would write it now.
func late(s *sim, was pair.Side, keys ...object.Key) {
	for _, k := range keys {
		body, _ := was.Seen.Body(k)
		edit(&s.live["west"].Seen, k, was.Seen.Record(k), body)
	}
}

// remembered are the base's places in west, with a star on those where nothing is declared.
func remembered(t *testing.T, s *sim) (out []string) {
	t.Helper()
	for _, p := range inventories(t, s.live["west"].Seen)[object.End{Cluster: "west"}].Places {
		if name := p.String(); p.Former() {
			out = append(out, name+"*")
		} else {
			out = append(out, name)
		}
	}
	return out
}

// movedAway is a link of west's that is in another multicluster namespace since, with what was live before.
func movedAway(t *testing.T) (*sim, pair.Side) {
	t.Helper()
	s := linked(t, all)
	inNamespace(s.live["west"], "mesh")
	was := *s.live["west"]
	s.world.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": inMesh}, linkDoc("west", "east", all))
	s.settle()
	return s, was
}

// inNamespace makes a multicluster namespace with what Linkerd's extension has there.
func inNamespace(s *pair.Side, ns string) {
	for k, r := range maps.Collect(s.Seen.Records()) {
		if k.Namespace == mc && (k.Kind == "Service" && k.Name == "linkerd-gateway") {
			body, _ := s.Seen.Body(k)
			edit(&s.Seen, inside(ns, k), r, body)
		}
	}
	k := object.Key{Kind: "Namespace", Name: ns}
	edit(&s.Seen, k, object.Record{UID: ns, ResourceVersion: "1"}, encoded(map[string]any{"metadata": map[string]string{"name": ns}}))
}

// inMC are all keys of ours in the first multicluster namespace.
func inMC(was pair.Side) (out []object.Key) {
	for k, r := range was.Seen.Records() {
		if k.Namespace == mc && r.Mark == object.Ours {
			out = append(out, k)
		}
	}
	return out
}

// nothingIn holds that nothing of ours is left in the first multicluster namespace.
func nothingIn(t *testing.T, s *sim) {
	t.Helper()
	if left := inMC(*s.live["west"]); len(left) > 0 {
		t.Errorf("left in %s: %v", mc, left)
	}
}

// What comes late into a former multicluster namespace goes as any leftover, one object or all, for an hour at least; then nobody
// looks there any more.
func TestLateInFormerNamespace(t *testing.T) {
	s, was := movedAway(t)
	nothingIn(t, s)
	same(t, "remembered", []string{"Namespace " + mc + "*", "Namespace mesh"}, remembered(t, s))
	before := s.names("west")
	for _, k := range append(inMC(was), object.Key{}) {
		keys := []object.Key{k}
		if k == (object.Key{}) {
			keys = inMC(was)
		}
		s.world.Now = s.world.Now.Add(2 * time.Minute)
		late(s, was, keys...)
		last := s.settle()
		nothingIn(t, s)
		allInPlace(t, "west", last["west"])
		same(t, "west", before, s.names("west"))
	}
	s.world.Now = s.world.Now.Add(lasts)
	late(s, was, deployment("east")) // it came within the hour, and nobody looked
	s.settle()
	nothingIn(t, s)
	same(t, "remembered later", []string{"Namespace mesh"}, remembered(t, s))
	looked := s.now().Sides["west"].Looked
	if slices.ContainsFunc(looked, func(w object.Watch) bool { return w.Namespace == mc }) {
		t.Errorf("%s is still looked at: %v", mc, looked)
	}
}

// The step is asked again when the hour is over, and until then the base is not written for that.
func TestPlaceIsForgottenOnce(t *testing.T) {
	s, _ := movedAway(t)
	since := inventories(t, s.live["west"].Seen)[object.End{Cluster: "west"}].Places[0].Since
	step := s.turn("west")
	if want := since.Add(lasts); step.Writes() > 0 || !step.Next.Equal(want) {
		t.Errorf("%v, next %s, want nothing until %s", words(step), step.Next, want)
	}
	s.world.Now = since.Add(lasts)
	same(t, "then", []string{"update ConfigMap " + object.AccessNamespace + "/linkwright.base"}, words(s.turn("west")))
	if step = s.turn("west"); step.Writes() > 0 || !step.Next.IsZero() {
		t.Errorf("later: %v, next %s", words(step), step.Next)
	}
}

// A link's lost inventory in a former namespace is rebuilt: the base knows the namespace, before the first step after the move, too.
func TestInventoryLostInFormerNamespace(t *testing.T) {
	s := linked(t, all)
	inNamespace(s.live["west"], "mesh")
	s.world.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": inMesh}, linkDoc("west", "east", all))
	remove(s.live["west"], inventory.Key(owner, westEast))
	last := s.settle()
	nothingIn(t, s)
	allInPlace(t, "west", last["west"])
}

// In a look that missed a kind a place is not forgotten, however late it is; where nobody lets us look, it is.
func TestPlaceIsNotForgottenBlindly(t *testing.T) {
	for name, missed := range map[string]func(object.Watch) bool{
		"a kind": func(w object.Watch) bool { return w.Kind == "Deployment" && w.Namespace == mc },
		"all":    func(w object.Watch) bool { return w.Namespace == mc },
	} {
		s, _ := movedAway(t)
		s.world.Now = s.world.Now.Add(2 * lasts)
		w := s.now()
		side := w.Sides["west"]
		side.Looked = slices.DeleteFunc(slices.Clone(side.Looked), missed)
		w.Sides["west"] = side
		if step := Cluster(w, "west", s.renderer()); (step.Writes() > 0) != (name == "all") {
			t.Errorf("%s was missed: %v", name, words(step))
		}
	}
}

// The control plane's secret that is written late is found by name, and goes once nothing is resolved through it.
func TestLateControlPlaneSecret(t *testing.T) {
	secret := linkerd.ControlPlaneSecret(api.Linkerd{Namespace: cp}, "east")
	for name, after := range map[string]string{
		"the link stays":   linkDoc("west", "east", "  remoteDiscoverySelector: {}\n"),
		"the link is gone": "",
	} {
		s := linked(t, all)
		was := *s.live["west"]
		s.world.Fleet = declare(t, two, after)
		s.settle()
		for k := range maps.Collect(s.live["west"].Seen.Records()) { // the link's controller takes its mirrors away
			if k.Kind == "Service" && k.Namespace != mc {
				remove(s.live["west"], k)
			}
		}
		s.settle()
		if !s.live["west"].Seen.Record(secret).IsZero() {
			t.Fatalf("%s: the secret is there still", name)
		}
		same(t, name+": remembered", []string{"Namespace " + mc, secret.String() + "*"}, remembered(t, s))
		before := s.names("west")
		late(s, was, secret)
		s.settle()
		same(t, name+": west", before, s.names("west"))
		s.world.Now = s.world.Now.Add(lasts)
		s.settle()
		same(t, name+": remembered later", []string{"Namespace " + mc}, remembered(t, s))
	}
}

// What is done beside the declarations puts no commit in force, also where a place is to be forgotten.
func TestAdoptionForgetsNothing(t *testing.T) {
	s, _ := movedAway(t)
	s.world.Now = s.world.Now.Add(2 * lasts)
	w := s.now()
	f := *w.Fleet
	f.Commit = "fffffffffffffffffffffffffffffffffffffff1"
	w.Fleet, w.Adopt = &f, map[api.Pair]bool{{Source: "west", Target: "east"}: true}
	if step := Cluster(w, "west", s.renderer()); step.Writes() > 0 {
		t.Errorf("an adoption of nothing writes %v", words(step))
	}
}

// What is declared again is looked for anyway, and not remembered as former.
func TestPlaceIsDeclaredAgain(t *testing.T) {
	s, _ := movedAway(t)
	s.world.Fleet = declare(t, two, linkDoc("west", "east", all))
	last := s.settle()
	allInPlace(t, "west", last["west"])
	same(t, "remembered", []string{"Namespace " + mc, "Namespace mesh*"}, remembered(t, s))
}
