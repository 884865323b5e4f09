package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// strange makes a name lead to another cluster than the one that was written to.
func strange(s *sim, name api.ClusterName) { s.snapshot.UIDs[name] = "another-kube-system" }

// A cluster that is refused for its identity tells its peers nothing: what they hold of it stays.
func TestUnidentifiedClusterYieldsNoFacts(t *testing.T) {
	s := linked(t, "")
	snapshot := s.now()
	east := snapshot.Clusters["east"]
	east.Facts.Gateway.Addresses = []string{"192.0.2.200"} // the stranger's
	snapshot.Clusters["east"] = east
	if step := Next(snapshot, "west", s.renderer()); step.Writes() == 0 {
		t.Fatal("a moved gateway is not followed")
	}
	strange(s, "east")
	snapshot.UIDs = s.snapshot.UIDs
	step := Next(snapshot, "west", s.renderer())
	if step.Writes() > 0 {
		t.Errorf("west writes what a stranger says: %v", describe(step))
	}
	for _, row := range step.Rows {
		if row.End == westEast && (row.Phase != Blocked || row.Why.Code != reason.ClusterChanged) {
			t.Errorf("west's end is %s for %v", row.Phase, row.Why)
		}
	}
}

// What cannot be taken back is decided only on a peer that is itself, and was read in this sync.
func TestPeerMustBeKnown(t *testing.T) {
	eastEnd := object.End{Cluster: "east", Link: westEast.Link}
	tests := []struct {
		name string
		do   func(*sim, *state.Snapshot)
		goes bool
	}{
		{"the source's end is gone", func(*sim, *state.Snapshot) {}, true},
		{"but it is another cluster", func(_ *sim, w *state.Snapshot) { w.UIDs["west"] = "another" }, false},
		{"but it was read in an earlier pass", func(_ *sim, w *state.Snapshot) { w.Round++; touch(w, "east") }, false},
		{"but it could not be read", func(_ *sim, w *state.Snapshot) {
			current := w.Clusters["west"]
			current.Reading, current.Err = state.Unread, object.Because(reason.Unreachable, "down")
			w.Clusters["west"] = current
		}, false},
		{"it was never written to", func(_ *sim, w *state.Snapshot) {
			delete(w.Clusters, "west")
			delete(w.UIDs, "west")
		}, true},
	}
	for _, tt := range tests {
		s := linked(t, "")
		s.snapshot.Fleet = declare(t, []api.ClusterName{"east"}, "")
		s.snapshot.Departed = []fleet.Cluster{{Name: "west", Spec: api.Cluster{}.WithDefaults()}}
		snapshot := s.now()
		snapshot.UIDs = map[api.ClusterName]string{"west": snapshot.Clusters["west"].Facts.UID}
		if tt.name == "it was never written to" {
			snapshot.Departed = nil
		}
		west := snapshot.Clusters["west"]
		west.Live = dressed("west", "192.0.2.2").Live // nothing of ours is there
		snapshot.Clusters["west"] = west
		tt.do(s, &snapshot)
		takes := false
		for _, c := range Next(snapshot, "east", s.renderer()).Changes {
			takes = takes || c.End == eastEnd && c.Action == object.Delete
		}
		if takes != tt.goes {
			t.Errorf("%s: the access goes: %t", tt.name, takes)
		}
	}
}

// touch has read a cluster in this sync.
func touch(w *state.Snapshot, name api.ClusterName) {
	current := w.Clusters[name]
	current.Round = w.Round
	w.Clusters[name] = current
}

// A cluster that people accepted under its new name is written under that, and done with under the old.
func TestRename(t *testing.T) {
	s := linked(t, "")
	snapshot := s.now()
	uid := snapshot.Clusters["west"].Facts.UID
	f := declare(t, []api.ClusterName{"east", "newwest"}, linkDoc("newwest", "east", ""))
	snapshot.Fleet, snapshot.UIDs = f, map[api.ClusterName]string{"west": uid}
	snapshot.Departed = []fleet.Cluster{{Name: "west", Spec: api.Cluster{}.WithDefaults()}}
	snapshot.Clusters["newwest"] = snapshot.Clusters["west"]
	for _, name := range []api.ClusterName{"west", "newwest"} {
		if step := Next(snapshot, name, s.renderer()); step.Denied == nil || step.Denied.Code != reason.DuplicateCluster {
			t.Errorf("%s, not accepted: %v", name, step.Denied)
		}
	}
	snapshot.Accepted = map[api.ClusterName]string{"newwest": uid}
	if step := Next(snapshot, "newwest", s.renderer()); step.Denied != nil {
		t.Errorf("newwest, accepted: %v", step.Denied)
	}
	if step := Next(snapshot, "west", s.renderer()); step.Denied != nil || step.Writes() > 0 || step.Left() {
		t.Errorf("west, when newwest is accepted: %v, writes %v", step.Denied, describe(step))
	}
}

// One access Secret that leads to another cluster blocks its own name and what is linked to that. The cluster that it leads to, and
// all other links of it, go on.
func TestMisledAccess(t *testing.T) {
	names := []api.ClusterName{"east", "north", "west"}
	s := newSim(t, declare(t, names, linkDoc("west", "east", all)+linkDoc("west", "north", all)+linkDoc("north", "east", all)), names...)
	s.settle()
	snapshot := s.now()
	snapshot.UIDs = map[api.ClusterName]string{}
	for _, name := range names {
		snapshot.UIDs[name] = snapshot.Clusters[name].Facts.UID
	}
	snapshot.Clusters["north"] = snapshot.Clusters["east"]
	if step := Next(snapshot, "north", s.renderer()); step.Denied == nil || step.Denied.Code != reason.DuplicateCluster || !strings.Contains(step.Denied.Message, "the access of north leads to cluster east") || step.Writes() > 0 {
		t.Errorf("north: %v, %v", step.Denied, describe(step))
	}
	if step := Next(snapshot, "east", s.renderer()); step.Denied != nil || step.Writes() > 0 {
		t.Errorf("east: %v, %v", step.Denied, describe(step))
	}
	west := Next(snapshot, "west", s.renderer())
	if got := row(t, west, westEast); west.Denied != nil || got.Phase != Ready {
		t.Errorf("west→east: %v, %s %v", west.Denied, got.Phase, got.Why)
	}
	north := object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}
	if got := row(t, west, north); got.Phase != Blocked || got.Why.Code != reason.DuplicateCluster {
		t.Errorf("west→north: %s %v", got.Phase, got.Why)
	}
	snapshot.UIDs = nil // the record was lost: the base there knows whose it is
	for name, blocked := range map[api.ClusterName]bool{"north": true, "east": false} {
		if step := Next(snapshot, name, s.renderer()); (step.Denied != nil) != blocked {
			t.Errorf("%s, which the base alone remembers: %v", name, step.Denied)
		}
	}
	lost := snapshot.Clusters["east"] // nobody knows whose it is: neither is written
	remove(&lost, inventory.Key(owner, object.End{Cluster: "east"}))
	snapshot.Clusters["east"], snapshot.Clusters["north"] = lost, lost
	for _, name := range []api.ClusterName{"north", "east"} {
		if step := Next(snapshot, name, s.renderer()); step.Denied == nil || step.Denied.Code != reason.DuplicateCluster {
			t.Errorf("%s, not remembered: %v", name, step.Denied)
		}
	}
}

// Two clusters that swap their names are refused, accepted or not: each name leads to the cluster of another that is declared.
func TestSwappedNames(t *testing.T) {
	s := linked(t, "")
	snapshot := s.now()
	east, west := snapshot.Clusters["east"], snapshot.Clusters["west"]
	snapshot.UIDs = map[api.ClusterName]string{"east": east.Facts.UID, "west": west.Facts.UID}
	snapshot.Accepted = map[api.ClusterName]string{"east": west.Facts.UID, "west": east.Facts.UID}
	snapshot.Clusters["east"], snapshot.Clusters["west"] = west, east
	for _, c := range two {
		step := Next(snapshot, c, s.renderer())
		if step.Denied == nil || !strings.Contains(step.Denied.Message, "the access of "+string(c)+" leads to cluster") || step.Writes() > 0 {
			t.Errorf("%s: refused %v, %v", c, step.Denied, describe(step))
		}
	}
}
