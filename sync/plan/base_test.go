package plan

import (
	"slices"
	"strings"
	"testing"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

var (
	westBase  = object.End{Cluster: "west"}
	baseKey   = inventory.Key(owner, westBase)
	policyKey = object.Key{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: mc, Name: "gateway"}
	budgetKey = object.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: mc, Name: "gateway"}
)

// extra returns what an overlay brings in.
func extra(t testing.TB, k object.Key, spec string) object.Object {
	t.Helper()
	o, err := object.Seal(object.Spec{Key: k, Version: "v1", Phase: object.PhaseExtras, Owner: owner}, map[string]any{
		"apiVersion": k.Group + "/v1", "kind": k.Kind, "spec": spec,
		"metadata": map[string]any{"name": k.Name, "namespace": k.Namespace},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// overlaid is west→east with a network policy in west's base, all in place.
func overlaid(t *testing.T, links string) *sim {
	t.Helper()
	s := newSim(t, declare(t, two, links), two...)
	s.extras = map[api.ClusterName][]object.Object{"west": {extra(t, policyKey, "a")}}
	s.settle()
	return s
}

// The base is an end: written ahead, once for all that changes of it, compared, repaired, and trimmed.
func TestBaseHoldsExtras(t *testing.T) {
	s := linked(t, "")
	s.extras = map[api.ClusterName][]object.Object{"west": {extra(t, policyKey, "a"), extra(t, budgetKey, "a")}}
	s.snapshot.Leadership, s.snapshot.Fleet = 3, declare(t, two, "# an overlay\n"+linkDoc("west", "east", ""))
	step := s.reconcile("west")
	same(t, "the first step", []string{
		"update " + baseKey.String(), "create " + policyKey.String(), "create " + budgetKey.String(),
	}, describe(step))
	if got := row(t, step, westBase); got.Phase != Changing {
		t.Errorf("while its objects are made: %s %v", got.Phase, got.Why)
	}
	base := inventories(t, s.live["west"].Live)[westBase]
	same(t, "recorded", []string{policyKey.String(), budgetKey.String()}, namesOf(base.Entries))
	if base.Term != 3 || base.Commit != s.snapshot.Fleet.Commit {
		t.Errorf("term %d, commit %s", base.Term, base.Commit)
	}
	s.snapshot.Leadership = 4
	same(t, "the second step", nil, describe(s.reconcile("west")))

	r := s.live["west"].Live.Record(policyKey)
	r.Fields, r.ForeignManagers = unique.Make(`{}`), unique.Make("kubectl")
	record(&s.live["west"].Live, policyKey, r)
	same(t, "after drift", []string{"update " + policyKey.String()}, describe(s.reconcile("west")))
	remove(s.live["west"], budgetKey)
	same(t, "after a loss", []string{"create " + budgetKey.String()}, describe(s.reconcile("west")))

	s.extras["west"] = s.extras["west"][1:]
	same(t, "one less", []string{"delete " + policyKey.String()}, describe(s.reconcile("west")))
	same(t, "once it is gone", []string{"update " + baseKey.String()}, describe(s.reconcile("west")))
	same(t, "and then", nil, describe(s.reconcile("west")))
	same(t, "recorded", []string{budgetKey.String()}, namesOf(inventories(t, s.live["west"].Live)[westBase].Entries))
	s.extras = nil
	s.settle()
	if slices.Contains(s.names("west"), budgetKey.String()) {
		t.Error("what no overlay brings in any more is left")
	}
}

// A cluster without any link holds what its overlay brings in.
func TestBaseWithoutLinks(t *testing.T) {
	s := overlaid(t, "")
	same(t, "west", []string{baseKey.String(), "Namespace linkwright-access", policyKey.String()}, s.names("west"))
	same(t, "east", nil, s.names("east"))
	s.extras = nil
	s.settle()
	same(t, "west", []string{baseKey.String(), "Namespace linkwright-access"}, s.names("west"))
}

// What stands in the way of the base holds the base, as it is, and nothing else.
func TestBaseIsBlockedAlone(t *testing.T) {
	unserved := func(s *sim) {
		s.live["west"].Live.Unserved = []string{"NetworkPolicy.v1.networking.k8s.io"}
	}
	tests := []struct {
		name string
		do   func(*sim)
		code string
	}{
		{"not served", unserved, "KindNotServed"},
		{"occupied", func(s *sim) {
			record(&s.live["west"].Live, policyKey, object.Record{UID: "1", ForeignManagers: unique.Make("kubectl")})
		}, "ObjectExists"},
		{"being deleted", func(s *sim) {
			r := s.live["west"].Live.Record(policyKey)
			r.Terminating = true
			record(&s.live["west"].Live, policyKey, r)
		}, "Terminating"},
	}
	for _, tt := range tests {
		s := overlaid(t, linkDoc("west", "east", ""))
		s.extras["west"] = append(s.extras["west"], extra(t, budgetKey, "a"))
		tt.do(s)
		before := s.names("west")
		step := s.settle()["west"]
		if got := row(t, step, westBase); got.Phase != Blocked || string(got.Why.Code) != tt.code {
			t.Errorf("%s: the base is %s, %v", tt.name, got.Phase, got.Why)
		}
		if got := row(t, step, westEast); got.Phase != Ready {
			t.Errorf("%s: the link's end is %s, %v", tt.name, got.Phase, got.Why)
		}
		same(t, tt.name, before, s.names("west"))
		s.snapshot.Fleet = declare(t, two, "# held\n"+linkDoc("west", "east", ""))
		same(t, tt.name+": a new commit", []string{"update " + baseKey.String()}, describe(s.reconcile("west")))
	}
	s := newSim(t, declare(t, two, ""), two...)
	s.extras = map[api.ClusterName][]object.Object{"west": {extra(t, policyKey, "a")}}
	remove(s.live["west"], object.Key{Kind: "Namespace", Name: mc})
	if got := row(t, s.settle()["west"], westBase); got.Phase != Blocked || got.Why.Code != reason.LinkerdNotInstalled {
		t.Errorf("without the namespace: %s, %v", got.Phase, got.Why)
	}
}

// What the base loses is judged like any other delete.
func TestBaseIsGuarded(t *testing.T) {
	s := overlaid(t, linkDoc("west", "east", ""))
	s.extras = nil
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+policyDoc("policy: UpsertOnly"))
	step := s.settle(PrunePolicy)["west"]
	if got := row(t, step, westBase); got.Phase != Denied || got.Why.Code != reason.PrunePolicy || len(got.Deleting) != 1 {
		t.Errorf("UpsertOnly: %s %v, %v", got.Phase, got.Why, got.Deleting)
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	r := s.live["west"].Live.Record(policyKey)
	r.PruneDisabled = true
	record(&s.live["west"].Live, policyKey, r)
	if got := row(t, s.settle()["west"], westBase); got.Phase != Denied || got.Why.Code != reason.PruneDisabled {
		t.Errorf("kept: %s %v", got.Phase, got.Why)
	}
	r.PruneDisabled = false
	record(&s.live["west"].Live, policyKey, r)
	s.settle()
	if slices.Contains(s.names("west"), policyKey.String()) {
		t.Error("it stays although nothing is against it")
	}
}

// A cluster whose declaration is removed loses its links first, then what its base holds, then the base.
func TestBaseDeparts(t *testing.T) {
	s := overlaid(t, linkDoc("west", "east", ""))
	s.snapshot.Departed = slices.Clone(s.snapshot.Fleet.Clusters[1:])
	s.snapshot.Fleet = declare(t, two[:1], "")
	s.extras = nil
	var last []string
	for range 20 {
		if step := s.reconcile("west"); step.Writes() > 0 {
			last = append(last, describe(step)...)
		}
		s.reconcile("east")
	}
	same(t, "west's last writes", []string{
		"delete " + inventory.Key(owner, westEast).String(), "delete " + policyKey.String(), "delete " + baseKey.String(),
	}, last[len(last)-3:])
	same(t, "west", []string{"Namespace linkwright-access"}, s.names("west"))
}

// The names of what an overlay brought in tell nothing. So after the base's inventory was lost, what is wanted is recorded
// again, and what is no longer wanted is reported as an orphan and stays.
func TestLostBase(t *testing.T) {
	s := overlaid(t, linkDoc("west", "east", ""))
	s.extras["west"] = append(s.extras["west"], extra(t, budgetKey, "a"))
	s.settle()
	remove(s.live["west"], baseKey)
	s.extras["west"] = s.extras["west"][:1]
	step := s.reconcile("west")
	same(t, "the step", []string{"create " + baseKey.String()}, describe(step))
	if got := step.Listed; len(got) != 1 || got[0].Key != budgetKey {
		t.Errorf("orphans: %v, want %s", got, budgetKey)
	}
	s.settle()
	same(t, "recorded", []string{policyKey.String()}, namesOf(inventories(t, s.live["west"].Live)[westBase].Entries))
}

// Everything that the base wants or has recorded is read: wanted kinds in their version, others in any.
func TestBaseIsWatched(t *testing.T) {
	s := overlaid(t, "")
	watches := func() (out []string) {
		ws, err := Watches(s.snapshot, s.snapshot.Fleet.Clusters[1], s.renderer(), observe(s.live["west"].Live, InventoryWatches()))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ws {
			if w.Kind == policyKey.Kind || w.Kind == budgetKey.Kind {
				out = append(out, strings.Join(append([]string{w.KindName(), w.Namespace}, w.Names...), " "))
			}
		}
		return out
	}
	budgets, policies := "PodDisruptionBudget.v1.policy "+mc, "NetworkPolicy.v1.networking.k8s.io "+mc
	same(t, "wanted", []string{budgets, policies}, watches())
	s.extras["west"] = append(s.extras["west"], extra(t, budgetKey, "a"))
	same(t, "a kind that links have", []string{budgets, policies}, watches())
	s.extras = nil
	same(t, "recorded", []string{budgets, "NetworkPolicy.networking.k8s.io " + mc}, watches())
}
