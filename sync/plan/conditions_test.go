package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/state"
)

var (
	leaseKey      = object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-east"}
	conditionsKey = inventory.Key(object.DefaultOwner, westEast)
)

// lead has the link's controller lead, or not.
func (s *sim) lead(leads bool) {
	r := object.Record{UID: "lease"}
	if !leads {
		r.Health = object.HealthOf("Lease", []byte(`{}`))
	}
	play := func(current *state.Cluster) {
		if current == s.live["west"] {
			record(&current.Live, leaseKey, r)
		}
	}
	play(s.live["west"])
	s.controllers = append(s.controllers, play) // after those that have it lead
}

// reports returns the reason of Ready that stands in west's inventory.
func (s *sim) reports() string {
	inv, _ := inventory.Of(object.DefaultOwner, westEast, s.live["west"].Live)
	return string(health.Condition(inv.Conditions, object.Ready).Reason)
}

func (s *sim) later(d time.Duration) { s.snapshot.Now = s.snapshot.Now.Add(d) }

var reportedOnce = []string{"update " + conditionsKey.String()}

// A first link is written with what is reported about it, and told once more when it works; then nothing, however long.
func TestConditionsOfFirstLink(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.reconcile("east")
	s.reconcile("west")
	if s.reports() != string(reason.Progressing) {
		t.Errorf("with the first write it tells %q", s.reports())
	}
	s.lead(false)
	s.reconcile("west") // what waits for the control plane's secret
	same(t, "writes while it settles", nil, describe(s.reconcile("west")))
	s.lead(true)
	same(t, "writes once it works", reportedOnce, describe(s.reconcile("west")))
	for range 3 {
		same(t, "writes later", nil, describe(s.reconcile("west")))
		s.later(time.Hour)
	}
	if s.reports() != string(reason.Healthy) {
		t.Errorf("it works, and tells %q", s.reports())
	}
}

// What is set up and does not come to an end is reported at the end of its time, which the step asks for.
func TestConditionsStall(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.lead(false)
	for range 3 {
		s.reconcile("east")
		s.reconcile("west")
	}
	step := s.reconcile("west")
	if step.Writes() > 0 || step.Retry.Sub(s.snapshot.Now) != health.RecoveryTime || !step.PlanAgain.IsZero() {
		t.Fatalf("writes %v, next %s, retry in %s", describe(step), step.PlanAgain, step.Retry.Sub(s.snapshot.Now))
	}
	s.snapshot.Now = step.Retry.Add(-time.Second)
	same(t, "writes before the end of its time", nil, describe(s.reconcile("west")))
	s.later(time.Second)
	same(t, "writes at the end of its time", reportedOnce, describe(s.reconcile("west")))
	if step := s.reconcile("west"); step.Writes() > 0 || !step.Retry.IsZero() || s.reports() != string(reason.ControllerNotLeading) {
		t.Errorf("then it writes %v, retry %s, and tells %q", describe(step), step.Retry, s.reports())
	}
}

// A transition is written at once, whenever the last one was.
func TestTransitionsAreNotDamped(t *testing.T) {
	s := linked(t, all)
	for _, leads := range []bool{false, true, false} {
		s.later(time.Second)
		s.lead(leads)
		same(t, "writes at once", reportedOnce, describe(s.reconcile("west")))
		same(t, "writes after that", nil, describe(s.reconcile("west")))
	}
}

// Another reason alone is written half a minute after the last time, once, and not at all if it is over by then. Who runs once
// does not wait for that.
func TestReasonsAreDamped(t *testing.T) {
	s := linked(t, all)
	s.lead(false)
	s.reconcile("west")
	s.later(health.RecoveryTime)
	same(t, "writes once it stalls", reportedOnce, describe(s.reconcile("west")))
	s.later(20 * time.Second)
	s.down["east"] = true
	step := s.reconcile("west")
	if left := step.Retry.Sub(s.snapshot.Now); step.Writes() > 0 || left <= 0 || left > 10*time.Second {
		t.Fatalf("20 s after it was told it writes %v and asks in %s", describe(step), left)
	}
	s.down["east"] = false
	if over := s.reconcile("west"); over.Writes() > 0 || !over.Retry.IsZero() {
		t.Errorf("it was over, and writes %v, retry %s", describe(over), over.Retry)
	}
	s.down["east"] = true
	s.snapshot.Once = true
	same(t, "writes of who runs once", reportedOnce, describe(Next(s.now(), "west", s.renderer())))
	s.snapshot.Once = false
	s.snapshot.Now = step.Retry
	same(t, "writes when it is time", reportedOnce, describe(s.reconcile("west")))
	same(t, "writes after that", nil, describe(s.reconcile("west")))
	if s.reports() != string(reason.TargetNotRead) {
		t.Errorf("it tells %q", s.reports())
	}
}

// A process that has just started has tried nothing, and read nothing: what was told stands.
func TestConditionsOverARestart(t *testing.T) {
	s := linked(t, all)
	s.later(time.Hour)
	inv, _ := inventory.Of(object.DefaultOwner, westEast, s.live["west"].Live)
	inv.Conditions, _ = health.Conditions(nil, []health.Verdict{{Stage: health.CredentialVerified, Result: health.Failed, Why: object.Because(reason.CredentialNotAccepted, "")}}, s.snapshot.Now)
	*s.live["west"] = After(*s.live["west"], Step{Ahead: []object.Change{recorded(t, inv)}})
	s.later(time.Hour)
	same(t, "writes before anything was tried", nil, describe(s.reconcile("west")))
	w := s.now()
	w.Clusters["east"] = state.Cluster{}
	same(t, "writes before the target was read", nil, describe(Next(w, "west", s.renderer())))
	s.down["east"] = true
	same(t, "writes where it does not answer", reportedOnce, describe(s.reconcile("west")))
	if s.reports() != string(reason.TargetNotRead) {
		t.Errorf("the target does not answer: %q", s.reports())
	}
	s.down["east"] = false
	s.later(time.Minute)
	same(t, "writes once it does", reportedOnce, describe(s.reconcile("west")))
}

// recorded returns the write of an inventory.
func recorded(t *testing.T, inv inventory.Inventory) object.Change {
	t.Helper()
	o, err := inv.Object(object.DefaultOwner)
	if err != nil {
		t.Fatal(err)
	}
	return object.Change{End: inv.End, Action: object.Update, Key: o.Key, Object: o, Was: inv.Was}
}

// Nothing is recorded about an end that another process writes. Of a suspended end the conditions are, and nothing else.
func TestConditionsOfOthers(t *testing.T) {
	s := linked(t, all)
	s.later(time.Hour)
	s.lead(false)
	s.snapshot.WrittenElsewhere = map[api.ClusterName]bool{"west": true}
	same(t, "writes where others write", nil, describe(s.reconcile("west")))
	s.snapshot.WrittenElsewhere = nil
	commit := s.snapshot.Fleet.Commit
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all+suspended))
	s.snapshot.Fleet.Commit = commit
	same(t, "writes of a suspended end", reportedOnce, describe(s.reconcile("west", Suspend)))
}

// An end of which one write fails again and again does not come to rest: what its link has come to is told all the same.
func TestConditionsOfWhatFails(t *testing.T) {
	denied := object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-east"}
	for what, s := range map[string]*sim{
		"from the first": newSim(t, declare(t, two, linkDoc("west", "east", all)), two...),
		"later":          linked(t, all),
	} {
		s.lead(false)
		refuse := func(current *state.Cluster) {
			if current == s.live["west"] {
				remove(current, denied)
			}
		}
		refuse(s.live["west"])
		s.controllers = append(s.controllers, refuse)
		s.later(time.Hour)
		for range 3 {
			s.reconcile("east")
			if step := s.reconcile("west"); slices.Contains(describe(step), reportedOnce[0]) {
				t.Errorf("%s: it is told before anything failed: %v", what, describe(step))
			}
		}
		s.snapshot.Failing = map[api.ClusterName]map[object.End]object.Reason{"west": {westEast: {Code: reason.Invalid}}}
		s.reconcile("west")
		if s.reports() != string(reason.Progressing) {
			t.Errorf("%s: at first it tells %q", what, s.reports())
		}
		s.later(health.RecoveryTime)
		s.reconcile("west")
		if s.reports() != string(reason.ControllerMissing) {
			t.Errorf("%s: in the end it tells %q", what, s.reports())
		}
	}
}

// An end that leaves records which of its writes failed, once, until none does. A Conflict is tried again at once, and is not recorded.
func TestConditionsOfARemovalThatFails(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, policyDoc("minAllowed: 100"))
	deletes := func(step Step) bool {
		return slices.ContainsFunc(step.Changes, func(c object.Change) bool { return c.End == westEast && c.Action == object.Delete })
	}
	for range 10 {
		if deletes(Next(s.now(), "west", s.renderer())) {
			break
		}
		s.reconcile("east")
		s.reconcile("west")
	}
	tries := func(code reason.Code) (written bool) { // a step of which only what is ahead succeeds
		s.snapshot.Failing = map[api.ClusterName]map[object.End]object.Reason{"west": {westEast: {Code: code, Message: "delete x: " + string(code)}}}
		step := Next(s.now(), "west", s.renderer())
		if !deletes(step) {
			t.Fatalf("nothing is deleted: %v", describe(step))
		}
		*s.live["west"] = After(*s.live["west"], Step{Cluster: "west", Ahead: step.Ahead})
		return slices.Contains(describe(step), reportedOnce[0])
	}
	if tries(reason.Conflict) || s.reports() != "" {
		t.Errorf("after a Conflict it tells %q", s.reports())
	}
	if !tries(reason.Forbidden) || s.reports() != string(reason.Forbidden) {
		t.Errorf("after a failed write it tells %q", s.reports())
	}
	s.later(time.Hour)
	if tries(reason.Forbidden) {
		t.Error("it tells the same twice")
	}
	s.snapshot.Failing = nil
	s.settle()
	if inv, left := inventory.Of(object.DefaultOwner, westEast, s.live["west"].Live); left {
		t.Errorf("the removal does not end: %+v", inv)
	}
}

// What failed stands in the inventory until the end waits for something that shows that the removal went on.
func TestConditionsOfARemovalThatGoesOn(t *testing.T) {
	s := linked(t, all)
	failed := object.Reason{Code: reason.Forbidden, Message: "delete x is not allowed"}
	waits := func(code reason.Code) Row {
		return Row{End: westEast, Leaving: true, Phase: Waiting, Why: object.Because(code, "it waits")}
	}
	for what, tt := range map[string]struct {
		row     Row
		failing bool
		cleared bool
	}{
		"it drains":                    {waits(reason.Draining), false, true},
		"it waits for a read":          {waits(reason.WaitingForRead), false, false},
		"it waits for its other end":   {waits(reason.WaitingForSource), false, false},
		"it is to be tried again":      {Row{End: westEast, Leaving: true, Phase: Changing}, false, false},
		"it cannot be written":         {Row{End: westEast, Leaving: true, Phase: Blocked}, false, false},
		"it drains, and another fails": {waits(reason.Draining), true, false},
	} {
		c := newCluster(s.now(), "west", s.renderer(), nil)
		c.recorded = []inventory.Inventory{{End: westEast, Leaving: true, Conditions: health.RemovalFailed(nil, failed, s.snapshot.Now)}}
		if c.Failing = nil; tt.failing {
			c.Failing = map[api.ClusterName]map[object.End]object.Reason{"west": {westEast: failed}}
		}
		n := conditions{c}.updateFor(tt.row)
		if cleared := !n.at.IsZero() && n.next.Conditions == nil && n.what() == "no write of the removal fails any more"; cleared != tt.cleared {
			t.Errorf("%s: cleared %t, want %t", what, cleared, tt.cleared)
		}
	}
}
