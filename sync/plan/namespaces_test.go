package plan

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

const inMesh = ", linkerd: {multiclusterNamespace: mesh}"

// westIn declares west with more of its spec.
func westIn(t *testing.T, s *sim, more string) {
	t.Helper()
	put(s.live["west"], object.Key{Kind: "Namespace", Name: "mesh"}, nil, metav1.ObjectMeta{})
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": more}, linkDoc("west", "east", all))
}

// Namespaces do not move while a cluster holds anything of linkwright: nothing is written there or deleted, and its links stay.
func TestNamespacesDoNotMove(t *testing.T) {
	for name, spoil := range map[string]func(*sim){
		"as it was":                         func(*sim) {},
		"the base is lost":                  func(s *sim) { remove(s.live["west"], inventory.Key(owner, object.End{})) },
		"an older base":                     func(s *sim) { rebase(t, s, func(i *inventory.Inventory) { i.Linkerd = api.Linkerd{} }) },
		"the inventory of the link is lost": func(s *sim) { remove(s.live["west"], inventory.Key(owner, westEast)) },
		"the control plane":                 func(s *sim) { westIn(t, s, ", linkerd: {namespace: elsewhere}") },
	} {
		s := linked(t, all)
		before := map[api.ClusterName][]string{"west": s.names("west"), "east": s.names("east")}
		westIn(t, s, inMesh)
		spoil(s)
		last, taken := s.settled()
		if why := last["west"].Denied; why == nil || why.Code != reason.NamespaceChanged || !strings.Contains(why.Message, "state: Leaving") {
			t.Errorf("%s: west is refused for %v", name, why)
		}
		same(t, name+": taken", nil, taken)
		westIn(t, s, "")
		last, taken = s.settled()
		same(t, name+", and put back: taken", nil, taken)
		if last["west"].Denied != nil {
			t.Errorf("%s, and put back: %v", name, last["west"].Denied)
		}
		for c, was := range before {
			now := slices.DeleteFunc(s.names(c), func(k string) bool { return k == "Namespace mesh" })
			same(t, name+": "+string(c), was, now)
		}
	}
}

// The way to other namespaces: the cluster leaves with the former ones, and is declared again.
func TestNamespacesOfAClusterThatLeft(t *testing.T) {
	s := linked(t, all)
	westIn(t, s, ", state: Leaving")
	s.settle()
	if step := s.reconcile("west"); !step.Left() {
		t.Fatalf("west did not leave: %v", statuses(step))
	}
	westIn(t, s, inMesh)
	last := s.settle()
	allInPlace(t, "west", last["west"])
}

// A cluster whose declaration is taken out while it is refused for its namespaces is unlinked where it was written to.
func TestNamespacesOfADepartedCluster(t *testing.T) {
	s := linked(t, all)
	westIn(t, s, inMesh)
	s.settle()
	s.snapshot.Departed = slices.Clone(s.snapshot.Fleet.Clusters[1:])
	s.snapshot.Fleet = declare(t, []api.ClusterName{"east"}, "")
	last := s.settle()
	if why := last["west"].Denied; why != nil {
		t.Errorf("west is refused: %v", why)
	}
	for k, r := range s.live["west"].Live.Records() {
		if r.Mark == object.Ours && k.Kind != "Namespace" {
			t.Errorf("%s is left", k)
		}
	}
}
