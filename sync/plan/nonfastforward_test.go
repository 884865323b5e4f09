package plan

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// bar makes the commit that a cluster carries one that the fleet's does not follow.
func bar(s *sim, commit api.Commit) *object.Reason {
	why := object.Because(reason.NonFastForward, "does not follow %s", commit.Short())
	s.snapshot.DeniedAfter = map[api.Commit]*object.Reason{commit: why}
	return why
}

// What a cluster carries counts as far as it is known to be that cluster's.
func TestApplied(t *testing.T) {
	const carried = api.Commit("0123")
	tests := []struct {
		name string
		do   func(*testing.T, *sim)
		want api.Commit
	}{
		{"as written", func(*testing.T, *sim) {}, carried},
		{"from a directory", func(t *testing.T, s *sim) { rebase(t, s, func(i *inventory.Inventory) { i.Commit = "" }) }, ""},
		{"no base", func(_ *testing.T, s *sim) { remove(s.live["west"], baseKey) }, ""},
		{"not read", func(_ *testing.T, s *sim) { s.down["west"] = true }, ""},
		{"another cluster", func(_ *testing.T, s *sim) { strange(s, "west") }, ""},
		{"another name's", func(t *testing.T, s *sim) { rebase(t, s, func(i *inventory.Inventory) { i.End.Cluster = "old" }) }, ""},
		{"another name's, accepted", func(t *testing.T, s *sim) {
			rebase(t, s, func(i *inventory.Inventory) { i.End.Cluster = "old" })
			s.snapshot.Accepted = map[api.ClusterName]string{"west": "west-kube-system"}
		}, carried},
		{"not ours", func(_ *testing.T, s *sim) {
			r := s.live["west"].Live.Record(baseKey)
			r.Mark = object.Theirs
			record(&s.live["west"].Live, baseKey, r)
		}, ""},
	}
	for _, tt := range tests {
		s := linked(t, "")
		rebase(t, s, func(i *inventory.Inventory) { i.Commit = carried })
		snapshot := s.now()
		tt.do(t, s)
		snapshot.UIDs, snapshot.Accepted = s.snapshot.UIDs, s.snapshot.Accepted
		current := snapshot.Clusters["west"]
		if current.Live = observe(s.live["west"].Live, current.Watches); s.down["west"] {
			current = s.watch(s.snapshot, s.snapshot.Fleet.Clusters[1])
		}
		snapshot.Clusters["west"] = current
		if got := state.Identify(snapshot).Applied("west"); got != tt.want {
			t.Errorf("%s: Applied(west): got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Where a commit was applied that the fleet's does not follow, nothing is written, whatever is to do; elsewhere
// the same fleet is kept up.
func TestNonFastForwardClusterIsLeftAlone(t *testing.T) {
	tests := []struct {
		name string
		do   func(*sim)
	}{
		{"drift", func(s *sim) { remove(s.live["west"], deployment("east")) }},
		{"declared otherwise", func(s *sim) {
			s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "  controller: {mode: External}\n"))
		}},
		{"no longer linked", func(s *sim) { s.snapshot.Fleet = declare(t, two, "") }},
		{"no longer declared", func(s *sim) {
			s.snapshot.Departed = []fleet.Cluster{{Name: "west", Spec: api.Cluster{}.WithDefaults()}}
			s.snapshot.Fleet = declare(t, []api.ClusterName{"east"}, "")
		}},
	}
	for _, tt := range tests {
		s := linked(t, "")
		rebase(t, s, func(i *inventory.Inventory) { i.Commit = "feed" })
		why := bar(s, "feed")
		tt.do(s)
		step := s.reconcile("west", Suspend, PrunePolicy)
		if step.Denied != why || step.Writes() > 0 || step.Left() {
			t.Errorf("%s: refused for %v, writes %v", tt.name, step.Denied, describe(step))
		}
		for _, r := range step.Rows {
			if r.Phase != Blocked || r.Why != why {
				t.Errorf("%s: %s is %s, %v", tt.name, r.End, r.Phase, r.Why)
			}
		}
		s.reconcile("east", Suspend, PrunePolicy) // it says once that its end may not go
		for _, w := range describe(s.reconcile("east", Suspend, PrunePolicy)) {
			if w != "update "+baseKey.String() {
				t.Errorf("%s: east, at its other end: %s", tt.name, w)
			}
		}
		s.snapshot.DeniedAfter = nil
		if step := s.reconcile("west", Suspend, PrunePolicy); step.Denied != nil || step.Writes() == 0 {
			t.Errorf("%s: once it is allowed: %v, writes %v", tt.name, step.Denied, describe(step))
		}
	}
}

// Repair goes on where the fleet's own commit was applied, or an older one, also at the other end of a barred one's links.
func TestRepairBesideANonFastForwardCluster(t *testing.T) {
	s := linked(t, "")
	rebase(t, s, func(i *inventory.Inventory) { i.Commit = "feed" })
	bar(s, "feed")
	account := object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}
	remove(s.live["east"], account)
	same(t, "east", []string{"create " + account.String()}, describe(s.reconcile("east")))
	s.snapshot.DeniedAfter = map[api.Commit]*object.Reason{"0ther": object.Because(reason.NonFastForward, "no")}
	same(t, "an older one that is followed", []string{"update " + baseKey.String()}, describe(s.reconcile("west")))
}
