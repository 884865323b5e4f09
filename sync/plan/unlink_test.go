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

var access = object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}

// syncDoc returns a SyncPolicy, and policyDoc one of which only prune says something.
func syncDoc(spec string) string {
	return "---\napiVersion: " + api.GroupVersion + "\nkind: SyncPolicy\nmetadata: {name: all}\nspec: {" + spec + "}\n"
}

func policyDoc(prune string) string { return syncDoc("prune: {" + prune + "}") }

// The order of an unlink, as its writes: one line a step of west. Each waits for the one before to be seen.
func TestUnlinkInOrder(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, "")
	var west []string
	for range 20 {
		step := s.reconcile("west")
		if step.Writes() == 0 && s.reconcile("east").Writes() == 0 {
			break
		}
		var line []string
		for _, w := range describe(step) {
			if !strings.Contains(w, "ConfigMap") {
				line = append(line, w)
			}
		}
		west = append(west, strings.Join(line, "; "))
	}
	for len(west) > 0 && west[len(west)-1] == "" { // its inventory, and east's part
		west = west[:len(west)-1]
	}
	same(t, "west's steps", []string{
		"drain Link.multicluster.linkerd.io linkerd-multicluster/east",
		"delete Deployment.apps linkerd-multicluster/controller-east",
		"delete Link.multicluster.linkerd.io linkerd-multicluster/east",
		"delete Service linkerd-multicluster/probe-east; delete ServiceAccount linkerd-multicluster/controller-east; " +
			"delete ClusterRoleBinding.rbac.authorization.k8s.io linkerd-multicluster-controller-access-local-resources-east; " +
			"delete Role.rbac.authorization.k8s.io linkerd-multicluster/controller-read-remote-creds-east; " +
			"delete RoleBinding.rbac.authorization.k8s.io linkerd-multicluster/controller-read-remote-creds-east",
		"delete Endpoints linkerd-multicluster/probe-east",
		"delete Lease.coordination.k8s.io linkerd-multicluster/service-mirror-write-east",
		"delete Secret linkerd-multicluster/cluster-credentials-east",
		"delete Secret linkerd/cluster-credentials-east",
	}, west)
}

// While the source cannot be read, or is not through, its access in the target stays.
func TestAccessStaysForTheSource(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, "")
	s.down["west"] = true
	for range 3 {
		s.reconcile("east")
	}
	if s.live["east"].Live.Record(access).IsZero() {
		t.Fatal("the access of a source that is down is gone")
	}
	s.down["west"] = false
	for s.reconcile("west").Writes() > 0 {
		if _, left := inventories(t, s.live["west"].Live)[westEast]; left {
			s.reconcile("east")
			if s.live["east"].Live.Record(access).IsZero() {
				t.Fatal("the access is gone while the source still holds its end")
			}
		}
	}
	s.settle()
	if !s.live["east"].Live.Record(access).IsZero() {
		t.Error("the access is left")
	}
}

// An unreachable target does not stop its unlink in the source.
func TestUnlinkDeadTarget(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, "")
	s.down["east"] = true
	s.settle()
	same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
}

// A federated Service lives on for its other members, each time one leaves.
func TestFederatedLivesOn(t *testing.T) {
	three := []api.ClusterName{"east", "north", "west"}
	federate := "  federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}\n"
	links := linkDoc("west", "east", federate) + linkDoc("west", "north", federate)
	s := newSim(t, declare(t, three, links), three...)
	s.settle()
	web := object.Key{Kind: "Service", Namespace: "shop", Name: "web-federated"}
	members := func() string { return metaOf(bodyOf(s.live["west"].Live, web)).Annotations[linkerd.RemoteDiscovery] }
	if members() != "web@east,web@north" {
		t.Fatalf("members: %q", members())
	}
	s.snapshot.Fleet = declare(t, three, linkDoc("west", "north", federate))
	s.settle()
	if members() != "web@north" {
		t.Errorf("members after east left: %q", members())
	}
	s.snapshot.Fleet = declare(t, three, "")
	s.settle()
	if !s.live["west"].Live.Record(web).IsZero() {
		t.Error("a federated service without members is left")
	}
}

// A mere change of mode lets the control plane's secret go only when nothing is resolved through it.
func TestModeChangeKeepsSecretWhileResolved(t *testing.T) {
	secret := object.Key{Kind: "Secret", Namespace: cp, Name: "cluster-credentials-east"}
	db := object.Key{Kind: "Service", Namespace: "shop", Name: "db-east"}
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	step := s.settle()["west"]
	if got := row(t, step, westEast); got.Phase != Waiting || s.live["west"].Live.Record(secret).IsZero() {
		t.Errorf("while mirrors are resolved: %s %v, secret %+v", got.Phase, got.Why, s.live["west"].Live.Record(secret))
	}
	if step.PlanAgain.IsZero() {
		t.Error("it waits for mirrors, and is never asked again")
	}
	remove(s.live["west"], db)
	s.settle()
	if s.live["west"].Live.Record(secret).IsZero() {
		t.Error("the secret is gone while a federated service lists the target")
	}
	remove(s.live["west"], object.Key{Kind: "Service", Namespace: "shop", Name: "web-federated"})
	s.settle()
	if !s.live["west"].Live.Record(secret).IsZero() {
		t.Error("the secret is left")
	}
}

// Neither end of an unlink begins while a guard refuses one of them.
func TestUnlinkBeginsTogether(t *testing.T) {
	keep := map[api.ClusterName]object.Key{"west": deployment("east"), "east": access}
	for cluster, k := range keep {
		s := linked(t, "")
		r := s.live[cluster].Live.Record(k)
		r.PruneDisabled = true
		record(&s.live[cluster].Live, k, r)
		s.snapshot.Fleet = declare(t, two, "")
		for c, step := range s.settle() {
			got := row(t, step, object.End{Cluster: c, Link: westEast.Link})
			if got.Phase != Denied || got.Why.Code != reason.PruneDisabled || !got.Leaving || len(got.Deleting) == 0 {
				t.Errorf("kept in %s: %s is %s, %v", cluster, got.End, got.Phase, got.Why)
			}
		}
		r.PruneDisabled = false
		record(&s.live[cluster].Live, k, r)
		s.settle()
		same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
	}
}

// A declaration that comes back in the middle of an unlink restores the link.
func TestDeclaredAgain(t *testing.T) {
	unraced(t)
	for steps := range 9 {
		s := linked(t, all)
		before := s.names("west")
		s.snapshot.Fleet = declare(t, two, "")
		for range steps {
			s.reconcile("west")
			s.reconcile("east")
		}
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all))
		for c, step := range s.settle() {
			allInPlace(t, c, step)
		}
		same(t, "west", before, s.names("west"))
		if inventories(t, s.live["west"].Live)[westEast].Leaving {
			t.Error("the inventory still says that the end is leaving")
		}
	}
}

// A Link that no longer selects anything loses all its mirrors: that is a drain, and judged as a delete.
func TestDrain(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "  selector: {}\n"))
	same(t, "writes", []string{
		"update ConfigMap linkwright-access/linkwright.base",
		"drain Link.multicluster.linkerd.io linkerd-multicluster/east",
	}, describe(s.reconcile("west")))
	again := s.reconcile("west")
	same(t, "writes after it", nil, describe(again))
}

// Policies filter whole ends.
func TestPrunePolicy(t *testing.T) {
	relabel := linkDoc("west", "east", "  controller: {logLevel: debug}\n")
	drain := linkDoc("west", "east", "  selector: {}\n")
	tests := []struct {
		policy, links string
		writes        bool
	}{
		{"policy: Sync", "", true},
		{"policy: Sync", relabel, true},
		{"policy: Sync", drain, true},
		{"policy: UpsertOnly", "", false},
		{"policy: UpsertOnly", relabel, true},
		{"policy: UpsertOnly", drain, false},
		{"policy: CreateOnly", "", false},
		{"policy: CreateOnly", relabel, false},
		{"policy: CreateOnly", drain, false},
	}
	for _, tt := range tests {
		s := linked(t, "")
		s.snapshot.Fleet = declare(t, two, tt.links+policyDoc(tt.policy))
		step := s.reconcile("west", PrunePolicy)
		if got := row(t, step, westEast); len(step.Changes) > 0 != tt.writes || got.Phase == Denied == tt.writes {
			t.Errorf("%s, %q: %s %v, %v", tt.policy, tt.links, got.Phase, got.Why, describe(step))
		}
	}
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)+policyDoc("policy: CreateOnly")), two...)
	last := s.settle(PrunePolicy)
	if link := bodyOf(s.live["west"].Live, linkKey("east")); !linkerd.UsesDiscovery(link) {
		t.Errorf("CreateOnly created a Link that lacks selectors: %s", link.Bytes())
	}
	allInPlace(t, "west", last["west"])
}

// What an unlink meets that is not ours stays: a Link of somebody else's with that name, and its mirrors.
func TestUnlinkSparesTheirs(t *testing.T) {
	s := linked(t, "")
	r := s.live["west"].Live.Record(linkKey("east"))
	r.Mark = object.Unmarked
	record(&s.live["west"].Live, linkKey("east"), r)
	user := object.Key{Kind: "Service", Namespace: "shop", Name: "mine-east"}
	put(s.live["west"], user, nil, metav1.ObjectMeta{})
	s.snapshot.Fleet = declare(t, two, "")
	s.settle()
	for _, k := range []object.Key{linkKey("east"), user, {Kind: "Service", Namespace: "shop", Name: "web-east"}} {
		if !slices.Contains(s.names("west"), k.String()) {
			t.Errorf("%s is gone", k)
		}
	}
}

// An unlink that began is not judged again: what else the cluster at its other end holds is not even rendered.
func TestPeerOfBegunUnlink(t *testing.T) {
	s := stuck(t)
	s.settle()
	w := s.now()
	var asked []api.ClusterName
	s.change = func(want object.Desired) object.Desired {
		asked = append(asked, want.End.Cluster)
		return want
	}
	step := Next(w, "west", s.renderer())
	if got := row(t, step, westEast); got.Why == nil || got.Why.Code != reason.Draining {
		t.Fatalf("it is %s %v", got.Phase, got.Why)
	}
	if slices.Contains(asked, "east") {
		t.Errorf("for %v", statuses(step))
	}
}
