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

const external = "  controller: {mode: External}\n"

// halfway returns a Deployment whose pods do not run yet.
func halfway() object.Health {
	return object.HealthOf("Deployment", []byte(`{"metadata":{"generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1}}`))
}

// settled is settle, and all that was taken meanwhile, in order: deletes, replacements and drains of what is no inventory.
func (s *sim) settled(policies ...Policy) (last map[api.ClusterName]Step, taken []string) {
	s.t.Helper()
	for range 60 {
		last = map[api.ClusterName]Step{}
		writes := 0
		for _, c := range slices.Concat(s.snapshot.Fleet.Clusters, s.snapshot.Departed) {
			step := s.reconcile(c.Name, policies...)
			last[c.Name] = step
			writes += step.Writes()
			for _, ch := range step.Changes {
				if ch.Removes() {
					taken = append(taken, string(c.Name)+": "+ch.Action.String()+" "+ch.Key.String())
				}
			}
		}
		if writes == 0 {
			return last, taken
		}
	}
	s.t.Fatal("the clusters come to no rest")
	return nil, nil
}

// helmed says that Helm installed the multicluster extension in a cluster.
func helmed(s *sim, c api.ClusterName) {
	put(s.live[c], object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: linkerd.LocalAccessRole}, nil, metav1.ObjectMeta{
		Labels:      map[string]string{linkerd.HelmManagedBy: linkerd.HelmManager},
		Annotations: map[string]string{linkerd.HelmName: "multicluster", linkerd.HelmNamespace: "ops"},
	})
}

// controllerKeys returns the parts of a link's controller.
func controllerKeys(target string) []object.Key {
	rbac := "rbac.authorization.k8s.io"
	return []object.Key{
		deployment(target),
		{Group: "policy", Kind: "PodDisruptionBudget", Namespace: mc, Name: "controller-" + target},
		{Kind: "ServiceAccount", Namespace: mc, Name: "controller-" + target},
		{Kind: "Service", Namespace: mc, Name: "probe-" + target},
		{Group: rbac, Kind: "Role", Namespace: mc, Name: linkerd.ReadCredentials(api.ClusterName(target))},
		{Group: rbac, Kind: "RoleBinding", Namespace: mc, Name: linkerd.ReadCredentials(api.ClusterName(target))},
		{Group: rbac, Kind: "ClusterRoleBinding", Name: linkerd.LocalAccess(api.ClusterName(target))},
	}
}

// A link whose controller is declared External is given up to the chart, with Helm's marks where Helm is: nothing is
// deleted, nothing of it changes, and no guard counts it.
func TestReleasedToTheChart(t *testing.T) {
	strict := policyDoc("policy: UpsertOnly")
	for _, helm := range []bool{true, false} {
		s := linked(t, all+"  controller: {podAntiAffinity: true}\n")
		if helm {
			helmed(s, "west")
		}
		kept := s.live["west"].Live.Record(deployment("east"))
		kept.PruneDisabled = true // a mark to keep is no reason to keep it from the chart
		record(&s.live["west"].Live, deployment("east"), kept)
		before := s.names("west")
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all+external)+strict)
		if got := row(t, s.reconcile("west", PrunePolicy), westEast); got.Phase != Changing || len(got.Deleting) > 0 {
			t.Errorf("Helm %t: the end is %s: %v, going %v", helm, got.Phase, got.Why, got.Deleting)
		}
		last, taken := s.settled(PrunePolicy)
		allInPlace(t, "west", last["west"])
		same(t, "taken", nil, taken)
		same(t, "west", before, s.names("west"))
		inv := inventories(t, s.live["west"].Live)[westEast]
		for _, k := range controllerKeys("east") {
			meta := metaOf(bodyOf(s.live["west"].Live, k))
			if s.live["west"].Live.Record(k).Mark != object.Unmarked || inv.Has(k) {
				t.Errorf("Helm %t: %s is still ours, or recorded", helm, k)
			}
			if (meta.Labels[linkerd.HelmManagedBy] == linkerd.HelmManager) != helm || (meta.Annotations[linkerd.HelmName] == "multicluster") != helm {
				t.Errorf("Helm %t: %s has labels %v and annotations %v", helm, k, meta.Labels, meta.Annotations)
			}
		}
		if s.live["west"].Live.Record(linkKey("east")).Mark != object.Ours || len(inv.Entries) != 3 {
			t.Errorf("the Link and its credentials should stay ours: %v", inv.Entries)
		}
	}
}

// The report says whose the controller is from then on.
func TestReleaseSaysWhose(t *testing.T) {
	for _, helm := range []bool{true, false} {
		s := linked(t, "")
		want := "nothing owns it"
		if helm {
			helmed(s, "west")
			want = "released to Helm release multicluster in namespace ops"
		}
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", external))
		step := s.reconcile("west")
		i := slices.IndexFunc(step.Changes, func(c object.Change) bool { return c.Key == deployment("east") })
		if i < 0 || step.Changes[i].Action != object.Release || !strings.Contains(step.Changes[i].Why.Message, want) {
			t.Errorf("Helm %t: %v, want a release that says %q", helm, describe(step), want)
		}
	}
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", external)+policyDoc("policy: CreateOnly"))
	if step := s.reconcile("west", PrunePolicy); len(step.Changes) > 0 {
		t.Errorf("CreateOnly releases: %v", describe(step))
	}
}

// What was given up stands in the way when its link is to run its own controller again: nothing is touched until it is
// adopted, and then it is so in place.
func TestTakenBackFromTheChart(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", external))
	s.settle()
	before := s.names("west")
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	last, taken := s.settled()
	if got := row(t, last["west"], westEast); got.Phase != Blocked || got.Why.Code != reason.ObjectExists {
		t.Errorf("the end is %s: %v", got.Phase, got.Why)
	}
	same(t, "taken while occupied", nil, taken)
	for _, k := range controllerKeys("east") { // adopted: marked, and nothing else
		if r := s.live["west"].Live.Record(k); !r.IsZero() {
			r.Mark = object.Ours
			record(&s.live["west"].Live, k, r)
		}
	}
	last, taken = s.settled()
	allInPlace(t, "west", last["west"])
	same(t, "taken when adopted", nil, taken)
	same(t, "west", before, s.names("west"))
}
