package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// exporting returns a linked fleet with so many mirrored Services in west, every third of which is team a's.
func exporting(t *testing.T, mirrors int) *sim {
	t.Helper()
	s := linked(t, "")
	for i := range mirrors - 1 { // one is there
		labels := map[string]string{linkerd.ClusterNameLabel: "east", linkerd.MirroredLabel: "true"}
		if i%3 == 0 {
			labels["team"] = "a"
		}
		put(s.live["west"], object.Key{Kind: "Service", Namespace: "shop", Name: fmt.Sprintf("api%d-east", i)}, nil, metav1.ObjectMeta{Labels: labels})
	}
	return s
}

const narrowed = "  selector: {matchLabels: {mirror.linkerd.io/exported: \"true\", team: a}}\n"

// What a commit would make disappear is asked for, whether it removes the link or narrows its selectors; an approval lets exactly that go.
func TestMirrorsAreGuarded(t *testing.T) {
	for name, links := range map[string]string{
		"removed": "", "emptied": linkDoc("west", "east", "  selector: {}\n"), "narrowed": linkDoc("west", "east", narrowed),
	} {
		s := exporting(t, 61)
		s.snapshot.Fleet = declare(t, two, links)
		step := s.reconcile("west")
		got := row(t, step, westEast)
		if got.Phase != Denied || got.Why.Code != reason.PruneLimitExceeded || len(step.Changes) > 0 || !strings.Contains(got.Why.Message, "of the 61 mirrored Services in cluster west (maxMirrors 50%)") {
			t.Errorf("%s: %s %v, %v", name, got.Phase, got.Why, describe(step))
			continue
		}
		denied := step.Judged.Denied
		if !step.Judged.Changed || denied == nil || len(denied.Units) != 1 || !strings.Contains(got.Why.Message, denied.Hash) {
			t.Errorf("%s: judged %+v", name, step.Judged)
			continue
		}
		s.snapshot.Guard.Denied = denied
		if again := s.reconcile("west"); again.Judged.Changed {
			t.Errorf("%s: nothing is new, and %+v", name, again.Judged)
		}
		s.snapshot.Guard.Approvals = []inventory.Approval{{Hash: denied.Hash, Units: denied.Units, At: s.snapshot.Now}}
		if step = s.reconcile("west"); row(t, step, westEast).Phase == Denied || step.Writes() == 0 || step.Judged.Denied != nil || !step.Judged.Changed {
			t.Errorf("%s, approved: %+v, %v, judged %+v", name, row(t, step, westEast), describe(step), step.Judged)
		}
	}
}

// A denial outlives a process that has not read the clusters yet.
func TestDeniedWhileUnread(t *testing.T) {
	s := exporting(t, 61)
	s.snapshot.Fleet = declare(t, two, "")
	denied := s.reconcile("west").Judged.Denied
	s.snapshot.Guard.Denied = denied
	s.down = map[api.ClusterName]bool{"west": true}
	if step := s.reconcile("east"); denied == nil || !step.Judged.Denied.Same(denied) || step.Judged.Changed {
		t.Errorf("%+v", step.Judged)
	}
	if r := Removal(s.now(), s.renderer()); r.Hash != denied.Hash {
		t.Errorf("with a cluster that cannot be read it is called %s, and %s before", r.Hash, denied.Hash)
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	if step := s.reconcile("east"); step.Judged.Denied != nil || !step.Judged.Changed {
		t.Errorf("restored: %+v", step.Judged)
	}
}

// A selector that only widens, or that few mirrors fail, changes at once.
func TestSelectorsThatTakeLittle(t *testing.T) {
	for name, tt := range map[string]struct {
		mirrors int
		spec    string
	}{
		"wider":                      {61, "  selector: {matchExpressions: [{key: mirror.linkerd.io/exported, operator: Exists}]}\n"},
		"narrower, with few mirrors": {10, narrowed},
	} {
		s := exporting(t, tt.mirrors)
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", tt.spec))
		if step := s.reconcile("west"); row(t, step, westEast).Phase != Changing {
			t.Errorf("%s: %+v", name, row(t, step, westEast))
		}
	}
}

// An approval ends once all that it named is going, after a month, and not while it waits for its revision.
func TestApprovalsEnd(t *testing.T) {
	s := exporting(t, 61)
	link := inventory.LinkUnit(api.Pair{Source: "west", Target: "east"})
	units := []inventory.Unit{link}
	s.snapshot.Guard.Approvals = []inventory.Approval{{Hash: inventory.HashOf(units), Units: units, At: s.snapshot.Now}}
	if step := s.reconcile("west"); ended(step) > 0 {
		t.Errorf("before its revision: %+v", step.Judged)
	}
	s.later(inventory.ApprovalLife - time.Second)
	s.snapshot.Fleet = declare(t, two, "")
	if step := s.reconcile("west"); ended(step) > 0 || step.Writes() == 0 {
		t.Errorf("with its revision: %+v, %v", step.Judged, describe(step))
	}
	s.reconcile("east")
	if step := s.reconcile("west"); ended(step) != 1 || !step.Judged.Changed {
		t.Errorf("once both ends are leaving: %+v", step.Judged)
	}
	s = exporting(t, 61)
	s.snapshot.Guard.Approvals = []inventory.Approval{{Hash: inventory.HashOf(units), Units: units, At: s.snapshot.Now}}
	s.later(inventory.ApprovalLife)
	s.snapshot.Fleet = declare(t, two, "")
	if step := s.reconcile("west"); ended(step) != 1 || step.Judged.Denied == nil {
		t.Errorf("after a month: %+v", step.Judged)
	}
}

// Limits of the process cap what is declared, and the revision before has a say.
func TestLimitsAreCapped(t *testing.T) {
	loose := policyDoc("maxClusters: 9, maxLinks: 100%, minAllowed: 9, maxMirrors: 100%")
	s := exporting(t, 61)
	s.snapshot.Fleet = declare(t, two, loose)
	tight := api.SyncPolicy{}.Limits()
	for name, guard := range map[string]state.Guard{"capped": {Cap: &tight}, "judged by the revision before": {Limits: &inventory.Limits{Commit: "before", Declared: tight}}} {
		s.snapshot.Guard = guard
		if got := row(t, s.reconcile("west"), westEast); got.Phase != Denied {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s.snapshot.Guard = state.Guard{}
	if got := row(t, s.reconcile("west"), westEast); got.Phase == Denied {
		t.Errorf("as declared: %+v", got)
	}
}

// A target that nothing was ever written to, since its credentials exist, is in no record. Its mirrors count like others when it is removed.
func TestMirrorsOfATargetThatIsNotRecorded(t *testing.T) {
	s := exporting(t, 61)
	delete(s.snapshot.UIDs, "east")
	s.snapshot.Fleet = declare(t, two[1:], "")
	if names := s.snapshot.Fleet.Clusters; len(names) != 1 || names[0].Name != "west" {
		t.Fatalf("declared: %v", names)
	}
	step := s.reconcile("west")
	if got := row(t, step, westEast); got.Phase != Denied || len(step.Judged.Denied.Units) != 1 {
		t.Errorf("%s %v, judged %+v", got.Phase, got.Why, step.Judged)
	}
	s.approve()
	if step = s.reconcile("west"); row(t, step, westEast).Phase == Denied || ended(step) > 0 {
		t.Errorf("approved: %+v, %+v", row(t, step, westEast), step.Judged)
	}
}
