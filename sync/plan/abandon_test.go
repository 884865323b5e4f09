package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
)

// concealing returns a mesh of three whose west left the repository, and whose account there may not read one Secret of the link to east.
func concealing(t *testing.T) *sim {
	t.Helper()
	three := []api.ClusterName{"east", "north", "west"}
	mesh := linkDoc("west", "east", all) + linkDoc("west", "north", all) + linkDoc("north", "west", all)
	s := newSim(t, declare(t, three, mesh), three...)
	s.settle()
	s.snapshot.Fleet = declare(t, three[:2], "")
	s.snapshot.Departed = []fleet.Cluster{{Name: "west", Spec: api.Cluster{}.WithDefaults()}}
	s.snapshot.UIDs = map[api.ClusterName]string{"east": "east-kube-system", "north": "north-kube-system", "west": "west-kube-system"}
	s.forbidReading("west", planeKey)
	return s
}

// A departed cluster that may be read but for one object waits with what needs that, and says how it is given up.
func TestHiddenOfADeparted(t *testing.T) {
	s := concealing(t)
	last := s.settle()["west"]
	r := row(t, last, object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}})
	if last.Left() || r.Why == nil || r.Why.Code != reason.Forbidden || !strings.Contains(r.Why.Message, "linkwright abandon west") {
		t.Errorf("not abandoned: %s %v", r.Phase, r.Why)
	}
	s.snapshot.Abandoned = map[api.ClusterName]bool{"west": true}
	if last = s.reconcile("west"); !last.Left() {
		t.Errorf("abandoned: %v", last.Rows)
	}
}

// Abandoned, it still loses first all that it can; then it is given up, says what stays behind, and its peers wait for it no more.
func TestAbandonHidden(t *testing.T) {
	s := concealing(t)
	s.snapshot.Abandoned = map[api.ClusterName]bool{"west": true}
	if step := s.reconcile("west"); step.Left() || step.Writes() == 0 {
		t.Errorf("left %t before anything of it went: %v", step.Left(), describe(step))
	}
	last := s.settle()["west"]
	if !last.Left() || len(last.Rows) != 1 || last.Rows[0].Why.Code != reason.Abandoned {
		t.Fatalf("left %t, %v", last.Left(), last.Rows)
	}
	said := last.Rows[0].Why.Message
	for word, want := range map[string]bool{"west-kube-system": true, "of west→east: Linkerd Link east": true, "linkwright.west.east": true, "north": false} {
		if strings.Contains(said, word) != want {
			t.Errorf("says %q: %t, want %t: %s", word, !want, want, said)
		}
	}
	if left := strings.Join(s.names("west"), "\n"); strings.Contains(left, "north") {
		t.Errorf("could be cleaned up, and stays:\n%s", left)
	}
	s.snapshot.Departed, s.snapshot.Abandoned = nil, nil
	delete(s.snapshot.UIDs, "west")
	s.settle()
	if !s.live["east"].Live.Record(access).IsZero() {
		t.Error("east still waits for the cluster that was given up")
	}
}

// What was seen before this sync gives nothing up.
func TestAbandonHiddenIsReadFirst(t *testing.T) {
	s := concealing(t)
	s.snapshot.Abandoned = map[api.ClusterName]bool{"west": true}
	s.settle()
	w := s.now()
	w.Round = 7
	if step := Next(w, "west", s.renderer()); step.Left() || !slices.Contains(step.ReadFirst, "west") {
		t.Errorf("left %t, look %v", step.Left(), step.ReadFirst)
	}
}

// Abandoning a cluster in which something else waits, or that is declared, gives nothing up, whatever is hidden there.
func TestAbandonHiddenWaits(t *testing.T) {
	s := concealing(t)
	s.snapshot.Abandoned = map[api.ClusterName]bool{"west": true}
	s.down["north"] = true // answers nothing: what west grants it stays for the grace
	s.snapshot.UnreachableSourceTimeout = 1 << 50
	last := s.settle()["west"]
	if why := row(t, last, object.End{Cluster: "west"}).Why; last.Left() || why == nil || !strings.Contains(why.Message, "only if a missing right") {
		t.Errorf("left %t, %v", last.Left(), why)
	}
	s = concealing(t)
	s.snapshot.Abandoned = map[api.ClusterName]bool{"west": true}
	s.snapshot.Departed, s.snapshot.Fleet = nil, declare(t, []api.ClusterName{"east", "north", "west"}, policyDoc("maxLinks: 100%"))
	if last = s.settle()["west"]; last.Left() {
		t.Error("declared, and given up")
	}
}
