package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

const external = "  controller: {mode: External}\n"

// halfway is a Deployment whose pods do not run yet.
func halfway() object.Health {
	return object.HealthOf("Deployment", []byte(`{"metadata":{"generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1}}`))
}

// settled is settle, and all that was taken meanwhile, in order: deletes, replacements and drains of what is no inventory.
func (s *sim) settled(policies ...Policy) (last map[api.ClusterName]Step, taken []string) {
	s.t.Helper()
	for range 60 {
		last = map[api.ClusterName]Step{}
		writes := 0
		for _, c := range slices.Concat(s.world.Fleet.Clusters, s.world.Departed) {
			step := s.turn(c.Name, policies...)
			last[c.Name] = step
			writes += step.Writes()
			for _, ch := range step.Changes {
				if ch.Takes() {
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

// controllerKeys are the parts of a link's controller.
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
		kept := s.live["west"].Seen.Record(deployment("east"))
		kept.Keep = true // a mark to keep is no reason to keep it from the chart
		record(&s.live["west"].Seen, deployment("east"), kept)
		before := s.names("west")
		s.world.Fleet = declare(t, two, linkDoc("west", "east", all+external)+strict)
		if got := row(t, s.turn("west", PrunePolicy), westEast); got.Standing != Changing || len(got.Going) > 0 {
			t.Errorf("Helm %t: the end is %s: %v, going %v", helm, got.Standing, got.Why, got.Going)
		}
		last, taken := s.settled(PrunePolicy)
		allInPlace(t, "west", last["west"])
		same(t, "taken", nil, taken)
		same(t, "west", before, s.names("west"))
		inv := inventories(t, s.live["west"].Seen)[westEast]
		for _, k := range controllerKeys("east") {
			meta := metaOf(bodyOf(s.live["west"].Seen, k))
			if s.live["west"].Seen.Record(k).Mark != object.Unmarked || inv.Has(k) {
				t.Errorf("Helm %t: %s is still ours, or recorded", helm, k)
			}
			if (meta.Labels[linkerd.HelmManagedBy] == linkerd.HelmManager) != helm || (meta.Annotations[linkerd.HelmName] == "multicluster") != helm {
				t.Errorf("Helm %t: %s has labels %v and annotations %v", helm, k, meta.Labels, meta.Annotations)
			}
		}
		if s.live["west"].Seen.Record(linkKey("east")).Mark != object.Ours || len(inv.Entries) != 3 {
			t.Errorf("the Link and its credentials should stay ours: %v", inv.Entries)
		}
	}
}

// The report says whose the controller is from then on.
func TestReleaseSaysWhose(t *testing.T) {
	for _, helm := range []bool{true, false} {
		s := linked(t, "")
		want := "nobody owns it"
		if helm {
			helmed(s, "west")
			want = "release multicluster of Helm in namespace ops"
		}
		s.world.Fleet = declare(t, two, linkDoc("west", "east", external))
		step := s.turn("west")
		i := slices.IndexFunc(step.Changes, func(c object.Change) bool { return c.Key == deployment("east") })
		if i < 0 || step.Changes[i].Action != object.Release || !strings.Contains(step.Changes[i].Why.Message, want) {
			t.Errorf("Helm %t: %v, want a release that says %q", helm, words(step), want)
		}
	}
	s := linked(t, "")
	s.world.Fleet = declare(t, two, linkDoc("west", "east", external)+policyDoc("policy: CreateOnly"))
	if step := s.turn("west", PrunePolicy); len(step.Changes) > 0 {
		t.Errorf("CreateOnly releases: %v", words(step))
	}
}

// What was given up stands in the way when its link is to run its own controller again: nothing is touched until it is
// adopted, and then it is so in place.
func TestTakenBackFromTheChart(t *testing.T) {
	s := linked(t, "")
	s.world.Fleet = declare(t, two, linkDoc("west", "east", external))
	s.settle()
	before := s.names("west")
	s.world.Fleet = declare(t, two, linkDoc("west", "east", ""))
	last, taken := s.settled()
	if got := row(t, last["west"], westEast); got.Standing != Held || got.Why.Code != "Occupied" {
		t.Errorf("the end is %s: %v", got.Standing, got.Why)
	}
	same(t, "taken while occupied", nil, taken)
	for _, k := range controllerKeys("east") { // adopted: marked, and nothing else
		if r := s.live["west"].Seen.Record(k); !r.IsZero() {
			r.Mark = object.Ours
			record(&s.live["west"].Seen, k, r)
		}
	}
	last, taken = s.settled()
	allInPlace(t, "west", last["west"])
	same(t, "taken when adopted", nil, taken)
	same(t, "west", before, s.names("west"))
}

const inMesh = ", linkerd: {multiclusterNamespace: mesh}"

// A changed multicluster namespace: what is in the old one stays, with its rights, until the new controller is ready.
func TestMulticlusterNamespaceChanged(t *testing.T) {
	s := linked(t, all)
	ready := unready(s, object.Key{Group: "apps", Kind: "Deployment", Namespace: "mesh", Name: "controller-east"})
	var old []string
	for _, k := range s.names("west") {
		if strings.Contains(k, mc+"/") && !strings.HasPrefix(k, "Pod") && !strings.HasPrefix(k, "Lease") && !strings.HasPrefix(k, "Endpoints") {
			old = append(old, k)
		}
	}
	if len(old) < 6 {
		t.Fatalf("in the old namespace: %v", old)
	}
	put(s.live["west"], object.Key{Kind: "Namespace", Name: "mesh"}, nil, metav1.ObjectMeta{})
	s.world.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": inMesh}, linkDoc("west", "east", all))
	last, taken := s.settled()
	if got := row(t, last["west"], westEast); got.Standing != Waiting || got.Why.Code != prune.WaitingForSuccessor || len(got.Going) != len(old) || last["west"].Next.IsZero() {
		t.Errorf("while the new controller is not ready: %s %v, going %v", got.Standing, got.Why, got.Going)
	}
	same(t, "taken before", nil, taken)
	for _, k := range old {
		if !slices.Contains(s.names("west"), k) {
			t.Errorf("%s is gone before its successor is ready", k)
		}
	}
	same(t, "subjects of the binding meanwhile", []string{"mesh", mc}, subjects(t, s))
	ready()
	last, taken = s.settled()
	allInPlace(t, "west", last["west"])
	for _, k := range s.names("west") {
		if slices.Contains(old, k) || strings.Contains(k, mc+"/service-mirror-write-") || strings.Contains(k, mc+"/probe-") {
			t.Errorf("%s is left", k)
		}
	}
	if len(taken) != len(old)+2 || taken[0] != "west: delete "+deployment("east").String() { // with lease and probe endpoints
		t.Errorf("taken: %v", taken)
	}
	same(t, "subjects of the binding", []string{"mesh"}, subjects(t, s))
}

// subjects are the namespaces of the accounts that may act as the link's controller in west.
func subjects(t *testing.T, s *sim) (out []string) {
	t.Helper()
	var binding struct{ Subjects []struct{ Namespace string } }
	k := object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: linkerd.LocalAccess("east")}
	if err := json.Unmarshal(bodyOf(s.live["west"].Seen, k).Bytes(), &binding); err != nil {
		t.Fatal(err)
	}
	for _, s := range binding.Subjects {
		out = append(out, s.Namespace)
	}
	return out
}

// rename gives a cluster of the sim another name, with all that lies in it.
func rename(t *testing.T, s *sim, from, to api.ClusterName, links string) {
	t.Helper()
	uid := s.now().Sides[from].Facts.UID
	var names []api.ClusterName
	for _, c := range s.world.Fleet.Clusters {
		s.world.UIDs[c.Name] = s.now().Sides[c.Name].Facts.UID
		if c.Name == from {
			c.Name = to
		}
		names = append(names, c.Name)
	}
	s.live[to] = s.live[from]
	s.world.Fleet = declare(t, names, links)
	s.world.Departed = append(s.world.Departed, fleet.Cluster{Name: from, Spec: api.Cluster{}.WithDefaults()})
	s.world.Accepted = map[api.ClusterName]string{to: uid}
}

// unready holds a Deployment of a cluster back, until it is told otherwise.
func unready(s *sim, k object.Key) (ready func()) {
	done := false
	s.play = append(s.play, func(side *pair.Side) {
		if r := side.Seen.Record(k); !r.IsZero() {
			r.Health = object.Health{}
			if !done {
				r.Health = halfway()
			}
			record(&side.Seen, k, r)
		}
	})
	return func() {
		done = true
		playReady(s)
	}
}

// A renamed source: keys are handed over between inventories, and its former account stays until the link goes by the new.
func TestRenamedSource(t *testing.T) {
	s := linked(t, all)
	ready := unready(s, deployment("east"))
	s.settle() // the link's own controller is not ready now
	before := s.live["west"].Seen
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", all))
	last, taken := s.settled()
	same(t, "taken before it is ready", nil, taken)
	if got := row(t, last["east"], object.End{Cluster: "east", Link: westEast.Link}); got.Standing != Waiting || got.Why.Code != prune.WaitingForSuccessor {
		t.Errorf("the former access is %s: %v", got.Standing, got.Why)
	}
	if s.live["east"].Seen.Record(access).IsZero() || last["west"].Left() {
		t.Error("the former access is gone, or the former name forgotten")
	}
	ready()
	last, taken = s.settled()
	for c, step := range last {
		if c != "west" {
			allInPlace(t, c, step)
		}
	}
	for _, k := range taken {
		if strings.HasPrefix(k, "west: ") || strings.HasPrefix(k, "newwest: ") {
			t.Errorf("%s, of a link that goes on", k)
		}
	}
	for k := range before.Records() {
		if s.live["west"].Seen.Record(k).IsZero() && k != inventory.Key(owner, westEast) {
			t.Errorf("%s is gone from the renamed cluster", k)
		}
	}
	if !s.live["east"].Seen.Record(access).IsZero() || !s.live["west"].Seen.Record(inventory.Key(owner, westEast)).IsZero() {
		t.Error("the former access or inventory is left")
	}
	if !last["west"].Left() {
		t.Errorf("the former name cannot be forgotten: %v", standings(last["west"]))
	}
	base := inventories(t, s.live["newwest"].Seen)[object.End{Cluster: "newwest"}]
	if base.Commit != s.world.Fleet.Commit {
		t.Errorf("the base is not of the new name: %+v", base)
	}
}

// A renamed target: the link by its former name stays in the source until the new one is ready, and then is unlinked,
// mirrors included; the account, which both use, is handed over.
func TestRenamedTarget(t *testing.T) {
	s := linked(t, all)
	rename(t, s, "east", "neweast", linkDoc("west", "neweast", all))
	ready := unready(s, deployment("neweast"))
	last, taken := s.settled()
	same(t, "taken before the new link is ready", nil, taken)
	if got := row(t, last["west"], westEast); got.Standing != Waiting || got.Why.Code != prune.WaitingForSuccessor || !got.Leaving {
		t.Errorf("the former link is %s: %v", got.Standing, got.Why)
	}
	s.world.Accepted = nil // it started anew, without the flag: the base has the new name
	ready()
	last, _ = s.settled()
	for _, c := range []api.ClusterName{"neweast", "west"} {
		allInPlace(t, c, last[c])
	}
	if s.live["east"].Seen.Record(access).Mark != object.Ours {
		t.Error("the account that the new link uses is gone")
	}
	for _, k := range s.names("west") {
		if strings.HasSuffix(k, "-east") || strings.HasSuffix(k, "/east") || strings.HasSuffix(k, "west.east") {
			t.Errorf("%s is left in the source", k)
		}
	}
	if !last["east"].Left() {
		t.Errorf("the former name cannot be forgotten: %v", standings(last["east"]))
	}
}

// A federated Service that has no member but that of a target's former name would be made anew: it is waited for until the
// link by the new name, which makes members of the same services, has joined it.
func TestRenamedTargetOfTheOnlyMember(t *testing.T) {
	federate := func(label string) string {
		return "  federatedServiceSelector: {matchLabels: {" + label + ": member}}\n"
	}
	const shared = "mirror.linkerd.io/federated"
	for _, tt := range []struct {
		name, declared, members string
		waits                   bool
	}{
		{"of the former alone", federate(shared), "web@east", true},
		{"joined by the new one", federate(shared), "web@east,web@neweast", false},
		{"shared with another", federate(shared), "web@east,web@north", false},
		{"which the new one does not select", federate("other"), "web@east", false},
		{"which the new one does not make", "", "web@east", false},
	} {
		s := linked(t, federate(shared))
		put(s.live["west"], object.Key{Kind: "Service", Namespace: "default", Name: "web-federated"}, nil, metav1.ObjectMeta{
			Labels:      map[string]string{linkerd.MirroredLabel: "true"},
			Annotations: map[string]string{linkerd.RemoteDiscovery: tt.members},
		})
		rename(t, s, "east", "neweast", linkDoc("west", "neweast", tt.declared))
		last, taken := s.settled()
		waits := slices.ContainsFunc(last["west"].Rows, func(r Row) bool {
			return r.End == westEast && r.Standing == Waiting && strings.Contains(r.Why.Message, "has no member of it yet")
		})
		if waits != tt.waits || waits && len(taken) > 0 {
			t.Errorf("%s: %v, and went %v", tt.name, standings(last["west"]), taken)
		}
	}
}

// Declarations without a commit, from a directory: the base has the new name nevertheless.
func TestRenamedWithoutCommit(t *testing.T) {
	s := linked(t, "")
	s.world.Fleet.Commit = ""
	s.settle()
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", ""))
	s.world.Fleet.Commit = ""
	s.settle()
	if _, named := inventories(t, s.live["newwest"].Seen)[object.End{Cluster: "newwest"}]; !named {
		t.Error("the base has the former name")
	}
}

// A renamed cluster whose link is not declared by its new name is unlinked in order.
func TestRenamedAndUnlinked(t *testing.T) {
	for _, from := range two {
		s := linked(t, all)
		rename(t, s, from, "new", "")
		last, _ := s.settled()
		for _, c := range two {
			same(t, string(c)+" when "+string(from)+" is renamed",
				[]string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names(c))
		}
		if !last[from].Left() {
			t.Errorf("the former name %s cannot be forgotten: %v", from, standings(last[from]))
		}
	}
}

// While the new end is held, nothing of the former one goes, even where nobody remembers the former name.
func TestRenamedAndHeld(t *testing.T) {
	for _, remembered := range []bool{true, false} {
		s := linked(t, all)
		rename(t, s, "west", "newwest", linkDoc("newwest", "east", all))
		if !remembered {
			s.world.Departed = nil
			delete(s.world.UIDs, "west")
		}
		s.down["east"] = true
		_, taken := s.settled()
		same(t, "taken while the new end is held", nil, taken)
		if s.live["west"].Seen.Record(deployment("east")).IsZero() {
			t.Error("the controller is gone")
		}
	}
}
