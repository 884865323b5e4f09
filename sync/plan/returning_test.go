package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

var meshWithX = []api.ClusterName{"a", "b", "c", "d", "x"}

// round is a turn of every cluster that is up, with all that the record keeps of it.
func (s *sim) round() {
	s.t.Helper()
	for _, c := range s.snapshot.Fleet.Clusters {
		if s.down[c.Name] {
			continue
		}
		step := s.reconcile(c.Name)
		s.keep(step)
		s.charge(step)
	}
}

// charge writes debts down as the record does.
func (s *sim) charge(step Step) {
	if s.snapshot.Pending == nil {
		s.snapshot.Pending = map[api.ClusterName][]inventory.Pending{}
	}
	for _, end := range step.Pending {
		known := inventory.KnownCluster{Pending: s.snapshot.Pending[end.Cluster]}
		s.snapshot.Pending[end.Cluster] = known.AddPending(s.snapshot.Now, end.Link).Pending
	}
}

// A commit drops x out of its mesh while most clusters are down. They come back one after the other, and x loses no more than its share.
func TestReturningClustersTakeNoMore(t *testing.T) {
	unraced(t)
	s := meshed(t, meshWithX...)
	s.snapshot.Fleet = declare(t, meshWithX, meshOf("a", "b", "c", "d"))
	s.down = map[api.ClusterName]bool{"b": true, "c": true, "d": true, "x": true}
	for _, back := range meshWithX {
		s.down[back] = false
		for range 8 {
			s.round()
		}
	}
	if s.snapshot.Guard.Denied == nil {
		t.Fatal("nothing is denied")
	}
	if over := strings.Join(s.snapshot.Guard.Denied.Exceeded, ", "); !strings.Contains(over, "cluster x") {
		t.Errorf("over: %s", over)
	}
	stay := 0
	for end, inv := range inventories(t, s.live["x"].Live) {
		if !end.IsBase() && !inv.Leaving {
			stay++
		}
	}
	if stay < 6 {
		t.Errorf("%d of x's 8 links stay, want 6 at least", stay)
	}
}

// What is approved while a cluster is down counts no more against what is removed later.
func TestApprovedLinksGoWhileAClusterIsDown(t *testing.T) {
	unraced(t)
	s := meshed(t, meshWithX...)
	s.snapshot.Fleet = declare(t, meshWithX, meshOf("a", "b", "c", "d"))
	s.down = map[api.ClusterName]bool{"x": true}
	s.round()
	denied := s.snapshot.Guard.Denied
	if denied == nil || len(denied.Units) != 8 {
		t.Fatalf("denied: %+v", denied)
	}
	s.snapshot.Guard.Approvals = []inventory.Approval{{Hash: denied.Hash, Units: denied.Units, At: s.snapshot.Now}}
	for range 8 {
		s.round()
	}
	s.later(25 * time.Hour) // the access of an unreachable source goes
	for range 8 {
		s.round()
	}
	if s.snapshot.Guard.Denied != nil || len(s.snapshot.Pending["x"]) != 8 {
		t.Errorf("denied %+v, debts %v", s.snapshot.Guard.Denied, s.snapshot.Pending["x"])
	}
}

// withoutLinks returns the mesh of all but some links, as source/target.
func withoutLinks(names []api.ClusterName, without ...string) (docs string) {
	for _, a := range names {
		for _, b := range names {
			if a != b && !strings.Contains(strings.Join(without, " "), string(a+"/"+b)) {
				docs += linkDoc(string(a), string(b), "")
			}
		}
	}
	return docs
}

// Two commits, each within its limits, remove links of a cluster that is down. When it is back, what it still holds of them goes.
func TestPendingCleanupIsNotJudgedAgain(t *testing.T) {
	unraced(t)
	s := meshed(t, meshWithX...)
	s.down = map[api.ClusterName]bool{"x": true}
	for _, links := range [][]string{{"a/x", "x/a"}, {"a/x", "x/a", "b/x"}} {
		s.snapshot.Fleet = declare(t, meshWithX, withoutLinks(meshWithX, links...))
		for range 8 {
			s.round()
		}
	}
	approved := s.snapshot.Guard.Denied // the third link of x
	if approved == nil {
		t.Fatal("the third link of x went unasked")
	}
	s.snapshot.Guard.Approvals = []inventory.Approval{{Hash: approved.Hash, Units: approved.Units, At: s.snapshot.Now}}
	for range 8 {
		s.round()
	}
	s.down, s.snapshot.Guard.Approvals = nil, nil
	step := s.reconcile("x")
	if step.Judged.Denied != nil {
		t.Errorf("x is back: denied %+v", step.Judged.Denied)
	}
	if row := row(t, step, object.End{Cluster: "x", Link: api.Pair{Source: "a", Target: "x"}}); row.Phase == Denied {
		t.Errorf("x is back: %+v", row)
	}
}

// A link that was removed while its target was down, and created again, is judged when it is removed again.
func TestRecreatedLinkIsNoPendingCleanup(t *testing.T) {
	unraced(t)
	s := meshed(t, meshWithX...)
	s.down = map[api.ClusterName]bool{"x": true}
	s.snapshot.Fleet = declare(t, meshWithX, withoutLinks(meshWithX, "x/a"))
	s.round()
	s.later(25 * time.Hour)
	for range 8 {
		s.round()
	}
	if len(s.snapshot.Pending["x"]) != 1 {
		t.Fatalf("debts: %v", s.snapshot.Pending)
	}
	s.snapshot.Fleet = declare(t, meshWithX, meshOf(meshWithX...))
	for range 8 {
		s.round()
	}
	s.snapshot.Fleet = declare(t, meshWithX, withoutLinks(meshWithX, "x/a"))
	got := Removal(s.now(), s.renderer())
	if len(got.Units) != 1 || got.Units[0] != inventory.LinkUnit(api.Pair{Source: "x", Target: "a"}) {
		t.Errorf("units: %v", got.Units)
	}
}

// A source that is down for less than the grace still has its mirrors when it is back: they are judged then.
func TestMirrorsOfASourceThatWasDown(t *testing.T) {
	s := exporting(t, 61)
	s.snapshot.UIDs["west"] = s.now().Clusters["west"].Facts.UID
	s.down = map[api.ClusterName]bool{"west": true}
	s.snapshot.Fleet = declare(t, two, "")
	for range 4 {
		s.round()
	}
	s.down = nil
	step := s.reconcile("west")
	if got := row(t, step, westEast); got.Phase != Denied || step.Judged.Denied == nil {
		t.Errorf("%s %v, %v", got.Phase, got.Why, describe(step))
	}
}

// Mirrors that nobody may list are judged once somebody may.
func TestMirrorsThatWereHidden(t *testing.T) {
	s := exporting(t, 61)
	s.hidden = map[api.ClusterName][]object.Hidden{"west": {{Key: object.Key{Kind: "Service"}, Selector: linkerd.MirroredLabel}}}
	s.snapshot.Fleet = declare(t, two, "")
	for range 4 {
		s.round()
	}
	s.hidden = nil
	step := s.reconcile("west")
	if got := row(t, step, westEast); got.Phase != Denied || step.Judged.Denied == nil {
		t.Errorf("%s %v, %v", got.Phase, got.Why, describe(step))
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	for range 4 {
		s.round()
	}
	for end, inv := range inventories(t, s.live["east"].Live) {
		if inv.Leaving {
			t.Errorf("declared again, and %s leaves", end)
		}
	}
}

// An approval lets each link go once: one that is declared again, and removed again, is judged again. So is one that was restored before
// it began. That holds also while another link of the approval waits for a cluster that is down.
func TestAnApprovalLetsALinkGoOnce(t *testing.T) {
	unraced(t)
	for name, began := range map[string]bool{"it has begun": true, "it has not": false} {
		s := meshed(t, meshWithX...)
		s.snapshot.Fleet = declare(t, meshWithX, meshOf("a", "b", "c", "d"))
		s.round()
		s.approve()
		s.snapshot.Guard.Denied = nil
		s.down = map[api.ClusterName]bool{"d": true}
		if began {
			for range 8 {
				s.round()
			}
		} else {
			s.down = map[api.ClusterName]bool{"a": true, "b": true, "c": true, "x": true}
			s.keep(s.reconcile("d"))
			s.down = nil
		}
		s.snapshot.Fleet = declare(t, meshWithX, meshOf(meshWithX...))
		for range 8 {
			s.round()
		}
		s.snapshot.Fleet = declare(t, meshWithX, meshOf("a", "b", "c", "d"))
		for range 8 {
			s.round()
		}
		if s.snapshot.Guard.Denied == nil {
			t.Errorf("%s: nothing is denied, approved are %v", name, s.snapshot.Guard.Approvals)
		}
	}
}

// A denial ends once the selectors are restored, also while their cluster is down.
func TestRestoredSelectorsAreDeniedNoMore(t *testing.T) {
	s := exporting(t, 61)
	s.snapshot.UIDs["west"] = s.now().Clusters["west"].Facts.UID
	before := s.snapshot.Fleet
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", narrowed))
	s.round()
	if s.snapshot.Guard.Denied == nil {
		t.Fatal("nothing is denied")
	}
	s.snapshot.Fleet, s.down = before, map[api.ClusterName]bool{"west": true}
	s.round()
	if d := s.snapshot.Guard.Denied; d != nil {
		t.Errorf("restored, and denied: %+v", d)
	}
}
