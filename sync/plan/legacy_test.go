package plan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

// legacyAdopted has objects of the older set beside a link, ours and recorded, whose own controller is not ready yet.
func legacyAdopted(t *testing.T) (s *sim, legacy []object.Key, ready func()) {
	t.Helper()
	s = linked(t, "")
	ready = unready(s, deployment("east"))
	rbac := "rbac.authorization.k8s.io"
	legacy = []object.Key{
		{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "linkerd-service-mirror-east"},
		{Kind: "ServiceAccount", Namespace: mc, Name: "linkerd-service-mirror-east"},
		{Kind: "Service", Namespace: mc, Name: "probe-gateway-east"},
		{Group: rbac, Kind: "Role", Namespace: mc, Name: "linkerd-service-mirror-read-remote-creds-east"},
		{Group: rbac, Kind: "ClusterRoleBinding", Name: "linkerd-service-mirror-access-local-resources-east"},
	}
	for _, k := range legacy {
		put(s.live["west"], k, nil, metav1.ObjectMeta{})
		r := s.live["west"].Live.Record(k)
		r.Mark = object.Ours
		record(&s.live["west"].Live, k, r)
	}
	inv := inventories(t, s.live["west"].Live)[westEast]
	adopted, err := more(inv, legacy...).Object(owner)
	if err != nil {
		t.Fatal(err)
	}
	edit(&s.live["west"].Live, adopted.Key, object.Written(adopted), adopted.Body)
	playReady(s)
	return s, legacy, ready
}

// Objects that were adopted by other names go only when the controller that replaces theirs is ready, also where their
// inventory was lost meanwhile: their names tell whose they are.
func TestLegacyGoesAfterItsReplacement(t *testing.T) {
	for _, lost := range []bool{false, true} {
		s, legacy, ready := legacyAdopted(t)
		if lost {
			wipe(s, "west")
		}
		_, taken := s.settled()
		same(t, "taken before", nil, taken)
		ready()
		last, taken := s.settled()
		allInPlace(t, "west", last["west"])
		if len(taken) != len(legacy) || taken[0] != "west: delete "+legacy[0].String() {
			t.Errorf("lost %t: taken: %v", lost, taken)
		}
	}
}

// playReady lets what plays in the clusters act once.
func playReady(s *sim) {
	for _, current := range s.live {
		for _, play := range s.controllers {
			play(current)
		}
	}
}

// What merely falls away waits for nobody.
func TestSurplusWithoutReplacement(t *testing.T) {
	s := linked(t, "  controller: {podAntiAffinity: true}\n")
	unready(s, deployment("east"))
	playReady(s)
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	_, taken := s.settled()
	same(t, "taken", []string{"west: delete PodDisruptionBudget.policy " + mc + "/controller-east"}, taken)
}
