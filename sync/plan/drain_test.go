package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/state"
)

// A drain counts as a delete: what a guard refuses leaves the whole end as it is, until it may go.
func TestDrainIsGuarded(t *testing.T) {
	drain := linkDoc("west", "east", "  selector: {}\n  controller: {logLevel: debug}\n")
	tests := []struct {
		name, policy, code string
		keep               bool
	}{
		{"within bounds", "", "", false},
		{"over a limit", policyDoc("maxLinks: 0%, minAllowed: 0"), "PruneLimitExceeded", false},
		{"kept", "", "PruneDisabled", true},
	}
	for _, tt := range tests {
		s := linked(t, "")
		r := s.live["west"].Live.Record(linkKey("east"))
		r.PruneDisabled = tt.keep
		record(&s.live["west"].Live, linkKey("east"), r)
		s.snapshot.Fleet = declare(t, two, drain+tt.policy)
		step := s.reconcile("west", PrunePolicy)
		got := row(t, step, westEast)
		if tt.code == "" {
			if got.Phase != Changing || len(step.Changes) != 2 {
				t.Errorf("%s: %s %v, %v", tt.name, got.Phase, got.Why, describe(step))
			}
			continue
		}
		if got.Phase != Denied || string(got.Why.Code) != tt.code || len(step.Changes) > 0 {
			t.Errorf("%s: %s %v, %v", tt.name, got.Phase, got.Why, describe(step))
		}
		r.PruneDisabled = false
		record(&s.live["west"].Live, linkKey("east"), r)
		s.snapshot.Fleet = declare(t, two, drain)
		step = s.reconcile("west", PrunePolicy)
		if got := row(t, step, westEast); got.Phase != Changing || step.Changes[0].Action != object.Drain {
			t.Errorf("%s, allowed: %s %v, %v", tt.name, got.Phase, got.Why, describe(step))
		}
	}
}

// stuck returns a linked fleet whose link is no longer declared, with a controller that drains nothing.
func stuck(t *testing.T) *sim {
	t.Helper()
	s := linked(t, all)
	s.controllers = []func(*state.Cluster){playTokens}
	s.snapshot.Fleet = declare(t, two, "")
	return s
}

// A drain that does not end is read ever less often, and ends by its deadline: then what is left is swept. Until then the controller and the access
// in the target stay.
func TestDrainDeadline(t *testing.T) {
	s := stuck(t)
	begun, watches := s.snapshot.Now.UTC(), 0
	s.settle()
	for {
		step := s.reconcile("west")
		got := row(t, step, westEast)
		if got.Why == nil || got.Why.Code != reason.Draining {
			break
		}
		if got.Phase != Waiting || got.Until != begun.Add(5*time.Minute) || step.Writes() > 0 || !step.PlanAgain.After(s.snapshot.Now) || step.PlanAgain.After(got.Until) {
			t.Fatalf("%s after the beginning: %s %v until %s, next %s, writes %v", s.snapshot.Now.Sub(begun), got.Phase, got.Why, got.Until, step.PlanAgain, describe(step))
		}
		if moments := step.Moments(); len(moments) != 2 || moments[1] != got.Until {
			t.Fatalf("moments: %v", moments)
		}
		if s.reconcile("east"); s.live["west"].Live.Record(deployment("east")).IsZero() || s.live["east"].Live.Record(access).IsZero() {
			t.Fatal("the controller, or its access, is gone before the deadline")
		}
		s.snapshot.Now = step.PlanAgain
		watches++
	}
	if !s.snapshot.Now.Equal(begun.Add(5*time.Minute)) || watches < 5 || watches > 60 {
		t.Errorf("it was waited for until %s, in %d looks", s.snapshot.Now.Sub(begun), watches)
	}
	s.controllers = []func(*state.Cluster){playTokens, playControllers}
	s.settle()
	same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
}

// A target that dies in the middle of a drain ends it.
func TestDrainOfDyingTarget(t *testing.T) {
	s := stuck(t)
	s.settle()
	if got := row(t, s.reconcile("west"), westEast); got.Why == nil || got.Why.Code != reason.Draining {
		t.Fatalf("it is %s %v", got.Phase, got.Why)
	}
	s.down["east"] = true
	s.controllers = []func(*state.Cluster){playTokens, playControllers}
	if got := strings.Join(describe(s.reconcile("west")), ""); !strings.Contains(got, "delete Deployment.apps linkerd-multicluster/controller-east") {
		t.Errorf("it goes on with %s", got)
	}
	s.settle()
	same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
}

// A link that is declared again in the middle of its drain gets its selectors back, and no more is written.
func TestDeclaredAgainWhileDraining(t *testing.T) {
	s := stuck(t)
	link := bodyOf(s.live["west"].Live, linkKey("east"))
	s.settle()
	if drained := bodyOf(s.live["west"].Live, linkKey("east")); strings.Contains(string(drained.Bytes()), "matchLabels") {
		t.Fatalf("it was not drained: %s", drained.Bytes())
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all))
	same(t, "writes", []string{
		"update ConfigMap linkwright-access/linkwright.base",
		"update ConfigMap linkwright-access/linkwright.west.east",
		"update Link.multicluster.linkerd.io linkerd-multicluster/east",
	}, describe(s.reconcile("west")))
	if back := bodyOf(s.live["west"].Live, linkKey("east")); string(back.Bytes()) != string(link.Bytes()) {
		t.Errorf("it was %s, and is %s", link.Bytes(), back.Bytes())
	}
	if inv := inventories(t, s.live["west"].Live)[westEast]; inv.Leaving || !inv.Since.IsZero() {
		t.Errorf("the inventory: leaving %t since %s", inv.Leaving, inv.Since)
	}
}

// In the mind a drain is prompt: a simulation ends with nothing left, also of what two links share.
func TestSimulateDrain(t *testing.T) {
	s := stuck(t)
	w, steps := Simulate(s.now(), s.renderer())
	drained := false
	for _, step := range steps["west"] {
		for _, c := range step.Changes {
			drained = drained || c.Action == object.Drain
			if c.Why.Code == reason.LeftByController && c.Key.Namespace == "shop" {
				t.Errorf("%s %s", c.Action, c.Key)
			}
		}
	}
	if last := steps["west"][len(steps["west"])-1]; !drained || !last.Left() && len(last.Rows) > 1 {
		t.Errorf("drained: %t, the last step: %v", drained, statuses(last))
	}
	if !w.Clusters["west"].Live.Record(object.Key{Kind: "Service", Namespace: "shop", Name: "web-federated"}).IsZero() {
		t.Error("a federated service without members is left")
	}
}

// A link that stays and selects less drains just the Linkerd Link that was seen: who took linkwright's mark off it meanwhile keeps it.
func TestDrainOfALinkThatStays(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", ""))
	var drains []object.Change
	for _, c := range Next(s.now(), "west", s.renderer()).Changes {
		if c.Action == object.Drain {
			drains = append(drains, c)
		}
	}
	if len(drains) != 1 || drains[0].Key != linkKey("east") || !drains[0].Conditional || drains[0].Was.UID == "" {
		t.Errorf("it drains %+v", drains)
	}
}
