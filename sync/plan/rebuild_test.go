package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
)

// An inventory that was lost with the declaration is rebuilt from live marks, and then the unlink goes its way.
func TestLostInventory(t *testing.T) {
	for _, lost := range []api.ClusterName{"east", "west"} {
		s := linked(t, all)
		s.snapshot.Fleet = declare(t, two, "")
		remove(s.live[lost], inventory.Key(owner, westEast))
		step := s.reconcile(lost)
		if len(step.Ahead) == 0 {
			t.Errorf("%s: nothing is written down again: %v", lost, describe(step))
		}
		if lost == "west" && s.reconcile("east").Writes() > 0 && s.live["east"].Live.Record(access).IsZero() {
			t.Error("the access goes while the source is still linked")
		}
		s.settle()
		for _, c := range two {
			same(t, string(c), []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names(c))
		}
	}
}

// What was recorded in an inventory that is lost, and is no longer wanted, is found as well.
func TestLostInventoryOfDeclared(t *testing.T) {
	budget := object.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: mc, Name: "controller-east"}
	s := linked(t, "  controller: {podAntiAffinity: true}\n")
	if s.live["west"].Live.Record(budget).IsZero() {
		t.Fatal("there is no disruption budget")
	}
	remove(s.live["west"], inventory.Key(owner, westEast))
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	s.settle()
	if !s.live["west"].Live.Record(budget).IsZero() {
		t.Error("the disruption budget is left")
	}
}

// Objects that only look like ours are nobody's end.
func TestRebuiltLeavesTheirs(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, "")
	s.settle()
	before := s.steps
	for _, mark := range []object.Mark{object.Unmarked, object.Theirs, object.Copied} {
		record(&s.live["west"].Live, deployment("east"), object.Record{UID: "x", Mark: mark})
		show(&s.live["west"].Live, deployment("east"), object.NewBody([]byte("{}")))
		s.settle()
	}
	if s.steps != before || s.live["west"].Live.Record(deployment("east")).IsZero() {
		t.Error("somebody else's controller was touched")
	}
}

// Copies with just the names of a link that nobody ever declared, between two known clusters, are orphans, managed fields and all.
func TestCopiesOfNoLink(t *testing.T) {
	s := linked(t, all)
	s.settle()
	copies := []object.Key{
		deployment("west"), linkKey("west"), {Kind: "Secret", Namespace: mc, Name: "cluster-credentials-west"}, {Kind: "Service", Namespace: mc, Name: "probe-west"},
	}
	for _, k := range copies {
		edit(&s.live["east"].Live, k, object.Record{UID: "copy of " + k.String(), ResourceVersion: "1", Mark: object.Ours}, object.NewBody([]byte("{}")))
	}
	for _, more := range []string{linkDoc("west", "east", all), ""} { // also while the link that they are copies of is removed
		s.snapshot.Fleet = declare(t, two, more)
		s.settle()
		step := s.reconcile("east")
		for _, k := range copies {
			if s.live["east"].Live.Record(k).IsZero() {
				t.Errorf("%s is gone", k)
			}
			i := slices.IndexFunc(step.Listed, func(o Orphan) bool { return o.Key == k })
			if i < 0 {
				t.Fatalf("%s is not reported as an orphan", k)
			}
			if o := step.Listed[i]; k == linkKey("west") && !strings.Contains(o.Remedy, "delete Secret linkerd/cluster-credentials-west") {
				t.Errorf("%s: do %q, want the control plane's secret named", k, o.Remedy)
			}
		}
	}
}

// Copies with the names of tokens of an account that is there go with it, since a token of it may work by them; of an account that never
// was they are orphans.
func TestCopiesOfTokens(t *testing.T) {
	secret := func(name string) object.Key {
		return object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: owner + "." + name}
	}
	s := linked(t, all)
	stays := []object.Key{secret("north-token"), secret("north-7"), secret("west-old"), secret("west-token-old")}
	goes := []object.Key{secret("west-token.3"), secret("west-7")}
	for _, k := range slices.Concat(stays, goes) {
		edit(&s.live["east"].Live, k, object.Record{UID: "copy of " + k.String(), ResourceVersion: "1", Mark: object.Ours}, object.NewBody([]byte("{}")))
	}
	s.snapshot.Fleet = declare(t, two, "")
	s.settle()
	for _, k := range stays {
		if s.live["east"].Live.Record(k).IsZero() {
			t.Errorf("%s is gone", k)
		}
	}
	for _, k := range goes {
		if !s.live["east"].Live.Record(k).IsZero() {
			t.Errorf("%s is left", k)
		}
	}
}

// Every object that is rendered is found again by its name.
func TestEndOf(t *testing.T) {
	s := linked(t, all+"  controller: {podAntiAffinity: true}\n")
	w := s.now()
	for _, c := range two {
		for _, want := range DesiredEnds(w, c, s.renderer()) {
			for _, o := range want.Objects {
				if end, ok := w.EndOf(c, o.Key); !ok || end != want.End {
					t.Errorf("%s is of %s, not %s", o.Key, want.End, end)
				}
			}
		}
	}
	for _, k := range []object.Key{
		{Kind: "Secret", Namespace: cp, Name: "linkerd-identity-issuer"},
		{Kind: "Secret", Namespace: "shop", Name: "cluster-credentials-east"},
		{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "blue.west"},
		{Kind: "ConfigMap", Namespace: object.AccessNamespace, Name: "linkwright.west.east"},
		{Kind: "Namespace", Name: object.AccessNamespace},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: linkerd.LocalAccessRole},
	} {
		if end, ok := w.EndOf("west", k); ok {
			t.Errorf("%s is of %s", k, end)
		}
	}
	for _, k := range []object.Key{ // only an overlay brings in what no link has, and only into this namespace
		{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: mc, Name: "gateway"},
		{Group: "policy", Kind: "PodDisruptionBudget", Namespace: mc, Name: "controller-"},
	} {
		if end, ok := w.EndOf("west", k); !ok || !end.IsBase() {
			t.Errorf("%s is of %s, not of the base", k, end)
		}
	}
	if _, ok := render.SourceOf("blue", object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "blue.west"}); !ok {
		t.Error("another owner does not find its own account")
	}
	if _, ok := render.SourceOf("blue", object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: "blue.west"}); ok {
		t.Error("somebody's own ClusterRoleBinding blue.west is of a link")
	}
}

// A target's end does not begin to leave while the inventory of its source's end is lost: what people keep there is found by that
// inventory only, and then neither end begins.
func TestLostInventoryOfThePeer(t *testing.T) {
	s := linked(t, all)
	s.settle()
	secret := linkerd.ControlPlaneSecret(s.now().Spec("west").Linkerd, "east")
	kept := s.live["west"].Live.Record(secret)
	kept.PruneDisabled = true
	record(&s.live["west"].Live, secret, kept)
	remove(s.live["west"], inventory.Key(owner, westEast))
	s.snapshot.Fleet = declare(t, two, "")
	s.reconcile("east")
	s.settle()
	if inv, there := inventory.Of(owner, object.End{Cluster: "east", Link: westEast.Link}, s.live["east"].Live); !there || inv.Leaving {
		t.Errorf("the target's end is there: %t, and leaves: %t", there, inv.Leaving)
	}
	if s.live["west"].Live.Record(secret).IsZero() {
		t.Error("what people keep is gone")
	}
}
