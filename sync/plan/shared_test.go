package plan

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

const shared = "  controller: {mode: Shared, image: registry.example.com/linkwright, podAntiAffinity: true}\n"

var sharedKey = object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "linkwright-mirror"}

func sharedBinding(target api.ClusterName) object.Key {
	return linkerd.SharedBinding(api.Cluster{}.WithDefaults().Linkerd, target)
}

// mirroredBy returns which controllers of west are to mirror the link to east.
func (s *sim) mirroredBy() string {
	var out []string
	live := s.live["west"].Live
	if !live.Record(deployment("east")).IsZero() {
		out = append(out, "own")
	}
	if linkerd.MirrorOf(bodyOf(live, linkKey("east"))) == owner && live.Record(sharedBinding("east")).Mark == object.Ours && !live.Record(sharedKey).IsZero() {
		out = append(out, "shared")
	}
	return strings.Join(out, " ")
}

func (s *sim) is(mirroredBy string) {
	s.t.Helper()
	if got := s.mirroredBy(); got != mirroredBy {
		s.t.Errorf("the link is mirrored by %q, want %q", got, mirroredBy)
	}
}

// A link of several that leaves takes its own objects along, the last one the controller, too: after the link, which it drains.
func TestSharedLinksLeave(t *testing.T) {
	three := []api.ClusterName{"east", "north", "west"}
	both := linkDoc("west", "east", shared) + linkDoc("west", "north", shared)
	s := newSim(t, declare(t, three, both), three...)
	allInPlace(t, "west", s.settle()["west"])
	if s.live["west"].Live.Record(sharedKey).IsZero() || !s.live["west"].Live.Record(deployment("east")).IsZero() {
		t.Fatalf("controllers: %v", s.names("west"))
	}
	s.snapshot.Fleet = declare(t, three, linkDoc("west", "east", shared))
	last, taken := s.settled()
	allInPlace(t, "west", last["west"])
	s.is("shared")
	if slices.Contains(taken, "west: delete "+sharedKey.String()) || slices.Contains(s.names("west"), sharedBinding("north").String()) {
		t.Errorf("with a link left: %v", taken)
	}
	s.snapshot.Fleet = declare(t, three, "")
	_, taken = s.settled()
	order := []string{
		"west: drain " + linkKey("east").String(), "west: delete " + linkKey("east").String(), "west: delete " + sharedBinding("east").String(), "west: delete " + sharedKey.String(),
	}
	found := slices.DeleteFunc(taken, func(k string) bool { return !slices.Contains(order, k) })
	same(t, "the last link", order, found)
	for _, k := range taken {
		if strings.Contains(k, "shop/") {
			t.Errorf("%s: the controller drains it", k)
		}
	}
}

// A link that a guard keeps is mirrored on, whatever is declared.
func TestSharedLinkIsKept(t *testing.T) {
	s := linked(t, shared)
	s.snapshot.Fleet = declare(t, two, policyDoc("policy: UpsertOnly"))
	_, taken := s.settled(PrunePolicy)
	same(t, "taken", nil, taken)
	s.is("shared")
}

// At any moment a controller that runs mirrors the link, from one mode to another and back.
func TestSharedAndBack(t *testing.T) {
	s := linked(t, all)
	ready := unready(s, sharedKey)
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all+shared))
	s.settle()
	s.is("own shared")
	if got := row(t, s.reconcile("west"), westEast); got.Why == nil || got.Why.Code != reason.WaitingForReplacement || !strings.Contains(got.Why.Message, sharedKey.String()) {
		t.Errorf("the row: %s %v", got.Phase, got.Why)
	}
	ready()
	allInPlace(t, "west", s.settle()["west"])
	s.is("shared")

	ready = unready(s, deployment("east"))
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all))
	s.settle()
	s.is("own shared")
	ready()
	allInPlace(t, "west", s.settle()["west"])
	s.is("own")
	for _, k := range s.names("west") {
		if strings.Contains(k, "mirror") && !strings.Contains(k, "shop/") && !strings.Contains(k, "Lease") {
			t.Errorf("left: %s", k)
		}
	}
}

// A link goes to the user's chart once that runs its controller.
func TestSharedToTheChart(t *testing.T) {
	s := linked(t, shared)
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", external))
	s.settle()
	s.is("shared")
	put(s.live["west"], deployment("east"), nil, metav1.ObjectMeta{Labels: map[string]string{
		linkerd.ExtensionLabel: linkerd.Extension, linkerd.ComponentLabel: linkerd.Component, linkerd.ClusterNameLabel: "east",
	}})
	allInPlace(t, "west", s.settle()["west"])
	s.is("own")
	if !s.live["west"].Live.Record(sharedKey).IsZero() {
		t.Error("the shared controller stays without a link")
	}
}

// A source that is renamed in the commit that has its links share a controller keeps their own until that runs.
func TestRenamedAndShared(t *testing.T) {
	s := linked(t, all)
	ready := unready(s, sharedKey)
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", all+shared))
	s.settle()
	s.is("own shared")
	ready()
	s.settle()
	s.is("shared")
}

// A released link is mirrored on: its controller stays, though no other link needs it.
func TestReleasedSharedLink(t *testing.T) {
	s := linked(t, shared)
	for k := range s.oursIn("west") {
		if _, ok := linkerd.TargetOf(api.Cluster{}.WithDefaults().Linkerd, k); ok {
			r := s.live["west"].Live.Record(k)
			r.Mark = object.Unmarked
			record(&s.live["west"].Live, k, r)
		}
	}
	s.snapshot.Fleet = declare(t, two, "")
	s.settle()
	s.depart(t, "west")
	s.settle()
	if s.live["west"].Live.Record(sharedKey).IsZero() {
		t.Error("the controller is gone")
	}
	remove(s.live["west"], sharedBinding("east"))
	s.settle()
	if !s.live["west"].Live.Record(sharedKey).IsZero() {
		t.Error("the controller stays, though nothing is left that it mirrors")
	}
}
