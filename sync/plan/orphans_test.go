package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

func ghost(kind, name string) object.Key {
	k := object.Key{Kind: kind, Namespace: object.AccessNamespace, Name: name}
	if kind == "ClusterRoleBinding" {
		k.Group, k.Namespace = "rbac.authorization.k8s.io", ""
	}
	return k
}

func laid(s *sim, c api.ClusterName, mark object.Mark, keys ...object.Key) {
	for _, k := range keys {
		record(&s.live[c].Live, k, object.Record{UID: "uid of " + k.String(), ResourceVersion: "1", Mark: mark})
		show(&s.live[c].Live, k, object.NewBody([]byte(`{"metadata":{}}`)))
	}
}

// Copies of objects of linkwright under other names, restored with their managed fields, were never in an inventory: they are reported as orphans,
// and none of them is recorded or deleted.
func TestCopiesStay(t *testing.T) {
	s := linked(t, all)
	copies := map[api.ClusterName][]object.Key{
		"east": {
			ghost("ServiceAccount", "linkwright.west-copy"), ghost("Secret", "linkwright.west-copy-token"),
			ghost("Secret", "linkwright.ghost-3"), ghost("ClusterRoleBinding", "linkwright-access.linkwright.ghost"),
		},
		"west": {
			{Kind: "Secret", Namespace: mc, Name: "cluster-credentials-east-copy"},
			{Kind: "Role", Group: "rbac.authorization.k8s.io", Namespace: mc, Name: "controller-read-remote-creds-east-copy"},
			{Kind: "ServiceAccount", Namespace: mc, Name: "restored"},
		},
	}
	want := map[api.ClusterName][]string{}
	for _, c := range two {
		laid(s, c, object.Ours, copies[c]...)
		want[c] = s.names(c)
	}
	for c, step := range s.settle() {
		allInPlace(t, c, step)
		same(t, string(c), want[c], s.names(c))
		reported := map[object.Key]bool{}
		for _, o := range step.Listed {
			reported[o.Key] = true
		}
		for _, k := range copies[c] {
			if !reported[k] {
				t.Errorf("%s: %s is not reported", c, k)
			}
		}
		for _, inv := range inventories(t, s.live[c].Live) {
			for _, k := range copies[c] {
				if slices.Contains(inv.Entries, k) {
					t.Errorf("%s: %s is recorded in %s", c, k, inv.End)
				}
			}
		}
	}
}

// An end whose link nobody declares, and whose other cluster nobody declares or remembers, goes from its inventory alone.
func TestJanitorPeerIsUnknown(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two[1:], "")
	s.settle()
	same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
}

// What carries linkwright's label and is not provably ours is reported, with what to do, and nothing is done; it makes nothing unclean, and of many
// only the first are reported.
func TestOrphans(t *testing.T) {
	s := linked(t, "")
	steps := s.steps
	odd := ghost("ServiceAccount", "of-nobody")
	copied := object.Key{Kind: "Service", Namespace: mc, Name: "web-copied"}
	laid(s, "west", object.Ours, odd)
	laid(s, "west", object.Copied, copied)
	laid(s, "west", object.Theirs, ghost("ServiceAccount", "blue.west"))
	laid(s, "west", object.Unmarked, ghost("ServiceAccount", "mine"))
	step := s.settle()["west"]
	allInPlace(t, "west", step)
	var reported []object.Key
	for _, stray := range step.Listed {
		reported = append(reported, stray.Key)
		if stray.Why == "" || !strings.Contains(stray.Remedy, object.OwnerLabel) {
			t.Errorf("%s: %q, %q", stray.Key, stray.Why, stray.Remedy)
		}
	}
	if want := []object.Key{copied, odd}; !slices.Equal(reported, want) || step.More > 0 || s.steps != steps {
		t.Errorf("told %v and %d more, want %v; %d writes", reported, step.More, want, s.steps-steps)
	}
	if got := s.reconcile("east").Listed; len(got) > 0 {
		t.Errorf("east has none, and tells %v", got)
	}
	for i := range 20 {
		laid(s, "west", object.Copied, ghost("ServiceAccount", fmt.Sprintf("copy-%02d", i)))
	}
	if step = s.reconcile("west"); len(step.Listed) != maxOrphans || step.More != 22-maxOrphans {
		t.Errorf("of 22: %d and %d more", len(step.Listed), step.More)
	}
}

// What Linkerd's controllers left for a link of which nothing else is there is told, and nothing is done: once an inventory was
// lost, or somebody else's Link came and went, nothing proves whose it was. Any sign of a link has it told no more.
func TestAbandoned(t *testing.T) {
	s := linked(t, "")
	steps := s.steps
	labels := map[string]string{linkerd.ClusterNameLabel: "gone", linkerd.MirroredLabel: "true", "component": "controller"}
	left := []object.Key{
		{Kind: "Endpoints", Namespace: "shop", Name: "web-gone"},
		{Kind: "Service", Namespace: "shop", Name: "web-gone"},
		{Kind: "Endpoints", Namespace: mc, Name: "probe-gone"},
		{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-gone"},
	}
	for _, k := range left {
		put(s.live["west"], k, nil, metav1.ObjectMeta{Labels: labels})
	}
	federated := object.Key{Kind: "Service", Namespace: "shop", Name: "web-federated"}
	join(s.live["west"], federated, "web@gone")
	left = append(left, federated)
	slices.SortFunc(left, object.Key.Compare)
	tell := func() (reported []object.Key) {
		for _, stray := range s.settle()["west"].Listed {
			if reported = append(reported, stray.Key); !strings.Contains(stray.Why, "link to gone") {
				t.Errorf("%s: %s", stray.Key, stray.Why)
			}
		}
		return reported
	}
	if got := tell(); !slices.Equal(got, left) || s.steps != steps {
		t.Errorf("told %v, want %v; %d writes", got, left, s.steps-steps)
	}
	pod := object.Key{Kind: "Pod", Namespace: mc, Name: "controller-gone-1"}
	for _, sign := range []object.Key{pod, linkKey("gone"), deployment("gone")} {
		put(s.live["west"], sign, nil, metav1.ObjectMeta{Labels: labels})
		if got := tell(); len(got) > 0 {
			t.Errorf("with %s: %v", sign, got)
		}
		remove(s.live["west"], sign)
	}
}

// Copies with the very names of a link to a cluster that just left the repository, which were never in an inventory, stay, and are
// reported; so does what is left of a link of which both inventories were lost while one of its clusters leaves.
func TestCopiesOfALinkToADeparted(t *testing.T) {
	three := []api.ClusterName{"east", "north", "west"}
	s := newSim(t, declare(t, three, linkDoc("west", "east", all)), three...)
	s.settle()
	s.snapshot.UIDs = map[api.ClusterName]string{"east": "east-kube-system", "north": "north-kube-system", "west": "west-kube-system"}
	s.snapshot.Fleet = declare(t, three[1:], "")
	s.snapshot.Departed = []fleet.Cluster{{Name: "east", Spec: api.Cluster{}.WithDefaults()}}
	copies := []object.Key{linkKey("east"), deployment("east"), {Kind: "Secret", Namespace: mc, Name: "cluster-credentials-east"}}
	laid(s, "north", object.Ours, copies...)
	last := s.settle()
	for _, k := range copies {
		if s.live["north"].Live.Record(k).IsZero() || !slices.ContainsFunc(last["north"].Listed, func(o Orphan) bool { return o.Key == k }) {
			t.Errorf("%s is gone, or is not reported", k)
		}
	}
	same(t, "left of the link itself", nil, linkOf(s.names("west"), "east"))
}

// A departed cluster is not forgotten while something carries linkwright's mark there that no inventory lists: it is reported with each sync, and
// deleted by people, or given up with the cluster.
func TestOrphansOfADeparted(t *testing.T) {
	s := linked(t, all)
	s.snapshot.UIDs = map[api.ClusterName]string{"east": "east-kube-system", "west": "west-kube-system"}
	s.snapshot.Fleet = declare(t, two[1:], "")
	s.snapshot.Departed = []fleet.Cluster{{Name: "east", Spec: api.Cluster{}.WithDefaults()}}
	for _, c := range two {
		for _, inv := range inventories(t, s.live[c].Live) {
			remove(s.live[c], inventory.Key(owner, inv.End))
		}
	}
	elsewhere := object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: "elsewhere", Name: "north"} // of a former namespace
	laid(s, "east", object.Ours, elsewhere)
	last := s.settle()["east"]
	if r := row(t, last, object.End{Cluster: "east"}); last.Left() || r.Phase != Blocked || r.Why.Code != reason.OrphanedObjects || !strings.Contains(r.Why.Message, "linkwright abandon east") || len(last.Listed) != 4 {
		t.Errorf("left %t, %s %v, %d told", last.Left(), r.Phase, r.Why, len(last.Listed))
	}
	if !slices.ContainsFunc(last.Listed, func(o Orphan) bool { return o.Key == elsewhere && strings.Contains(o.Remedy, "in namespace elsewhere") }) {
		t.Errorf("%s is reported without what else may be there: %v", elsewhere, last.Listed)
	}
	s.snapshot.Abandoned = map[api.ClusterName]bool{"east": true}
	if step := s.reconcile("east"); !step.Left() || step.Rows[0].Why.Code != reason.Abandoned {
		t.Errorf("abandoned: left %t, %v", step.Left(), step.Rows)
	}
	s.snapshot.Abandoned = nil
	for _, o := range last.Listed {
		remove(s.live["east"], o.Key)
	}
	if step := s.reconcile("east"); !step.Left() || len(step.Rows) > 0 {
		t.Errorf("deleted: left %t, %v", step.Left(), step.Rows)
	}
}

// The same of a cluster that is declared to leave, before people take it out of the repository.
func TestOrphansOfALeaving(t *testing.T) {
	s := linked(t, all)
	s.snapshot.UIDs = map[api.ClusterName]string{"east": "east-kube-system", "west": "west-kube-system"}
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", state: Leaving"}, "")
	for _, c := range two {
		for _, inv := range inventories(t, s.live[c].Live) {
			remove(s.live[c], inventory.Key(owner, inv.End))
		}
	}
	last := s.settle()["east"]
	if r := row(t, last, object.End{Cluster: "east"}); last.Left() || r.Why.Code != reason.OrphanedObjects || !strings.Contains(r.Why.Message, "state: Leaving") {
		t.Errorf("left %t, %s %v", last.Left(), r.Phase, r.Why)
	}
}
