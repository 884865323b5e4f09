package plan

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// meshOf declares a link for each ordered pair.
func meshOf(names ...api.ClusterName) (docs string) {
	for _, a := range names {
		for _, b := range names {
			if a != b {
				docs += linkDoc(string(a), string(b), "")
			}
		}
	}
	return docs
}

// meshed returns a mesh that is in place, and that the record knows.
func meshed(t *testing.T, names ...api.ClusterName) *sim {
	t.Helper()
	s := newSim(t, declare(t, names, meshOf(names...)), names...)
	s.settle()
	for _, n := range names {
		s.snapshot.UIDs[n] = s.now().Clusters[n].Facts.UID
	}
	return s
}

// keep records what a step found out about removals, as the record does.
func (s *sim) keep(step Step) {
	if !step.Judged.Changed {
		return
	}
	s.snapshot.Guard.Denied = step.Judged.Denied
	s.snapshot.Guard.Approvals = step.Judged.Left(s.snapshot.Guard.Approvals)
	for _, n := range step.Judged.Retire {
		if s.snapshot.Guard.Retiring == nil {
			s.snapshot.Guard.Retiring = map[api.ClusterName]bool{}
		}
		s.snapshot.Guard.Retiring[n] = true
	}
}

// A cluster whose removal is denied stays, though its links to another end begin to leave: since that one was approved, or leaves.
func TestDeniedClustersStay(t *testing.T) {
	unraced(t)
	names := []api.ClusterName{"a", "b", "c", "d", "e"}
	leaving := map[api.ClusterName]string{"d": ", state: Leaving"}
	a := []inventory.Unit{{Kind: inventory.UnitCluster, Cluster: "a"}}
	for name, tt := range map[string]struct {
		approved []inventory.Unit
		as       map[api.ClusterName]string
	}{"another is approved": {a, nil}, "another leaves": {nil, leaving}} {
		s := meshed(t, names...)
		if tt.approved != nil {
			s.snapshot.Guard.Approvals = []inventory.Approval{{Hash: inventory.HashOf(tt.approved), Units: tt.approved, At: s.snapshot.Now}}
		}
		s.snapshot.Fleet = declareAs(t, []api.ClusterName{"d", "e"}, tt.as, meshOf("d", "e"))
		for _, n := range names[:3] {
			s.snapshot.Departed = append(s.snapshot.Departed, fleet.Cluster{Name: n, Spec: api.Cluster{}.WithDefaults()})
		}
		for range 4 {
			for _, n := range []api.ClusterName{"d", "e", "a", "b", "c"} {
				s.keep(s.reconcile(n))
			}
		}
		if g := s.snapshot.Guard; g.Retiring["b"] || g.Retiring["c"] || g.Denied == nil {
			t.Errorf("%s: let through are %v, denied %v", name, g.Retiring, g.Denied)
		}
		if inv, found := inventory.Of(object.DefaultOwner, object.End{Cluster: "e", Link: api.Pair{Source: "e", Target: "b"}}, s.live["e"].Live); !found || inv.Leaving {
			t.Errorf("%s: e's end of its link to b: found %t, leaving %t", name, found, inv.Leaving)
		}
	}
}

// What is declared to leave is denied no more, also while it cannot be read.
func TestLeavingLiftsADenial(t *testing.T) {
	names := []api.ClusterName{"a", "b", "c", "d", "x"}
	s := meshed(t, names...)
	s.snapshot.Fleet = declare(t, names, meshOf(names[:4]...))
	s.down = map[api.ClusterName]bool{"x": true}
	for _, n := range names[:4] {
		s.keep(s.reconcile(n))
	}
	if s.snapshot.Guard.Denied == nil {
		t.Fatal("nothing is denied")
	}
	s.snapshot.Fleet = declareAs(t, names, map[api.ClusterName]string{"x": ", state: Leaving"}, meshOf(names[:4]...))
	for _, n := range names[:4] {
		s.keep(s.reconcile(n))
	}
	if d := s.snapshot.Guard.Denied; d != nil {
		t.Errorf("x leaves, and %v is denied", d.Units)
	}
}

// Without a gateway nothing is mirrored through it: all such mirrors count.
func TestGatewayGoneIsGuarded(t *testing.T) {
	const selectors = "  selector: {matchLabels: {mirror.linkerd.io/exported: \"true\"}}\n  remoteDiscoverySelector: {matchLabels: {x: \"y\"}}\n"
	s := linked(t, selectors)
	for i := range 60 {
		put(s.live["west"], object.Key{Kind: "Service", Namespace: "shop", Name: fmt.Sprintf("api%d-east", i)}, nil,
			metav1.ObjectMeta{Labels: map[string]string{linkerd.ClusterNameLabel: "east", linkerd.MirroredLabel: "true"}})
	}
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", gateway: {enabled: false}"}, linkDoc("west", "east", selectors))
	if got := row(t, s.reconcile("west"), westEast); got.Phase != Denied {
		t.Errorf("%s %v", got.Phase, got.Why)
	}
}

// A cluster that was removed, and is declared again, is judged when it is removed once more: also if it is down all the time.
func TestDeclaredAgainIsJudgedAgain(t *testing.T) {
	s := meshed(t, "a", "b", "c")
	s.snapshot.Guard.Retiring = map[api.ClusterName]bool{"a": true}
	s.down = map[api.ClusterName]bool{"a": true}
	if step := s.reconcile("b"); !step.Judged.Changed || fmt.Sprint(step.Judged.Stay) != "[a]" {
		t.Errorf("%+v", step.Judged)
	}
	s.snapshot.Fleet = declareAs(t, []api.ClusterName{"a", "b", "c"}, map[api.ClusterName]string{"a": ", state: Leaving"}, meshOf("a", "b", "c"))
	if step := s.reconcile("b"); len(step.Judged.Stay) > 0 {
		t.Errorf("it leaves: %+v", step.Judged)
	}
}
