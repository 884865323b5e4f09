package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// An adoption of a Shared link that a release left takes over the controller that the links of the source share, too: in place, and recorded first.
func TestAdoptShared(t *testing.T) {
	s := foreign(t, shared)
	s.snapshot.Adopt = nil
	blocked, _ := s.settled()
	base := object.End{Cluster: "west"}
	if why := row(t, blocked["west"], base).Why; why == nil || why.Code != reason.ObjectExists || !strings.Contains(why.Message, "if a release left it, run linkwright adopt --all") {
		t.Errorf("before the adoption: %v", why)
	}
	before := s.live["west"].Live
	s.snapshot.Adopt = map[api.Pair]bool{{Source: "west", Target: "east"}: true}
	step := s.reconcile("west")
	inv, _ := inventory.ReadBase(owner, s.live["west"].Live)
	if !inv.Has(sharedKey) || inv.Commit == "" {
		t.Errorf("the base records %v, commit %q", inv.Entries, inv.Commit)
	}
	n := 0
	for _, c := range step.Changes {
		if c.Key.Name == sharedKey.Name && c.Action == object.Adopt && c.Conditional && c.End == base {
			n++
		}
	}
	if n != 6 {
		t.Errorf("%d parts of the shared controller are adopted, want 6: %v", n, describe(step))
	}
	if again := s.reconcile("west"); again.Writes() > 0 || len(again.Rows) != 1 || again.Rows[0].Phase != Ready {
		t.Errorf("again: %v %v", statuses(again), describe(again))
	}
	s.snapshot.Adopt = nil
	allInPlace(t, "west", s.settle()["west"])
	s.is("shared")
	if live := s.live["west"].Live; live.Record(sharedKey).UID != before.Record(sharedKey).UID {
		t.Error("the shared controller was made anew")
	}
}

// An adoption of a link with a controller of its own leaves the names of the shared one alone, and so does one of a user's own object.
func TestAdoptNotShared(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"a controller of its own", all, ""},
		{"a user's own Deployment", shared, "NotAdoptable: " + sharedKey.String() + " has the name of a part of the shared controller, but not its labels"},
	} {
		s := foreign(t, tt.spec)
		observed := s.live["west"].Live.Edit()
		observed.Put(sharedKey, object.Record{Mark: object.Unmarked, UID: "mine"}, encoded(map[string]any{"metadata": map[string]any{"name": sharedKey.Name}}))
		s.live["west"].Live = observed.Observation()
		step := s.reconcile("west")
		got := ""
		for _, r := range step.Rows {
			if r.End.IsBase() && r.Why != nil {
				got = string(r.Why.Code) + ": " + r.Why.Message
			}
		}
		if tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		for _, c := range step.Changes {
			if c.Key.Name == sharedKey.Name {
				t.Errorf("%s: %s %s", tt.name, c.Action, c.Key)
			}
		}
	}
}
