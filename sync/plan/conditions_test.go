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
	leaseKey = object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-east"}
	toldKey  = inventory.Key(object.DefaultOwner, westEast)
)

// lead has the link's controller lead, or not.
func (s *sim) lead(leads bool) {
	r := object.Record{UID: "lease"}
	if !leads {
		r.Health = object.HealthOf("Lease", []byte(`{}`))
	}
	play := func(side *state.Cluster) {
		if side == s.live["west"] {
			record(&side.Seen, leaseKey, r)
		}
	}
	play(s.live["west"])
	s.play = append(s.play, play) // after those that have it lead
}

// tells is the reason of Ready that stands in west's inventory.
func (s *sim) tells() string {
	inv, _ := inventory.Of(object.DefaultOwner, westEast, s.live["west"].Seen)
	return string(health.Condition(inv.Conditions, object.Ready).Reason)
}

func (s *sim) later(d time.Duration) { s.world.Now = s.world.Now.Add(d) }

var toldOnce = []string{"update " + toldKey.String()}

// A first link is written with what is told of it, and told once more when it works; then nothing, however long.
func TestConditionsOfFirstLink(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.turn("east")
	s.turn("west")
	if s.tells() != string(reason.Progressing) {
		t.Errorf("with the first write it tells %q", s.tells())
	}
	s.lead(false)
	s.turn("west") // what waits for the control plane's secret
	same(t, "writes while it settles", nil, words(s.turn("west")))
	s.lead(true)
	same(t, "writes once it works", toldOnce, words(s.turn("west")))
	for range 3 {
		same(t, "writes later", nil, words(s.turn("west")))
		s.later(time.Hour)
	}
	if s.tells() != string(reason.Healthy) {
		t.Errorf("it works, and tells %q", s.tells())
	}
}

// What is set up and does not come to an end is told at the end of its time, which the step asks for.
func TestConditionsStall(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", all)), two...)
	s.lead(false)
	for range 3 {
		s.turn("east")
		s.turn("west")
	}
	step := s.turn("west")
	if step.Writes() > 0 || step.Retry.Sub(s.world.Now) != health.Settles || !step.Again.IsZero() {
		t.Fatalf("writes %v, next %s, retry in %s", words(step), step.Again, step.Retry.Sub(s.world.Now))
	}
	s.world.Now = step.Retry.Add(-time.Second)
	same(t, "writes before the end of its time", nil, words(s.turn("west")))
	s.later(time.Second)
	same(t, "writes at the end of its time", toldOnce, words(s.turn("west")))
	if step := s.turn("west"); step.Writes() > 0 || !step.Retry.IsZero() || s.tells() != string(reason.ControllerNotLeading) {
		t.Errorf("then it writes %v, retry %s, and tells %q", words(step), step.Retry, s.tells())
	}
}

// A transition is written at once, whenever the last one was.
func TestTransitionsAreNotDamped(t *testing.T) {
	s := linked(t, all)
	for _, leads := range []bool{false, true, false} {
		s.later(time.Second)
		s.lead(leads)
		same(t, "writes at once", toldOnce, words(s.turn("west")))
		same(t, "writes after that", nil, words(s.turn("west")))
	}
}

// Another reason alone is written half a minute after the last time, once, and not at all if it is over by then. Who runs once
// does not wait for that.
func TestReasonsAreDamped(t *testing.T) {
	s := linked(t, all)
	s.lead(false)
	s.turn("west")
	s.later(health.Settles)
	same(t, "writes once it stalls", toldOnce, words(s.turn("west")))
	s.later(20 * time.Second)
	s.down["east"] = true
	step := s.turn("west")
	if left := step.Retry.Sub(s.world.Now); step.Writes() > 0 || left <= 0 || left > 10*time.Second {
		t.Fatalf("20 s after it was told it writes %v and asks in %s", words(step), left)
	}
	s.down["east"] = false
	if over := s.turn("west"); over.Writes() > 0 || !over.Retry.IsZero() {
		t.Errorf("it was over, and writes %v, retry %s", words(over), over.Retry)
	}
	s.down["east"] = true
	s.world.Once = true
	same(t, "writes of who runs once", toldOnce, words(Next(s.now(), "west", s.renderer())))
	s.world.Once = false
	s.world.Now = step.Retry
	same(t, "writes when it is time", toldOnce, words(s.turn("west")))
	same(t, "writes after that", nil, words(s.turn("west")))
	if s.tells() != string(reason.TargetNotRead) {
		t.Errorf("it tells %q", s.tells())
	}
}

// A process that has just started has tried nothing, and read nothing: what was told stands.
func TestConditionsOverARestart(t *testing.T) {
	s := linked(t, all)
	s.later(time.Hour)
	inv, _ := inventory.Of(object.DefaultOwner, westEast, s.live["west"].Seen)
	inv.Conditions, _ = health.Conditions(nil, []health.Verdict{{Stage: health.Works, Passing: health.Failed, Why: object.Because(reason.CredentialNotAccepted, "")}}, s.world.Now)
	*s.live["west"] = After(*s.live["west"], Step{Ahead: []object.Change{recorded(t, inv)}})
	s.later(time.Hour)
	same(t, "writes before anything was tried", nil, words(s.turn("west")))
	w := s.now()
	w.Clusters["east"] = state.Cluster{}
	same(t, "writes before the target was read", nil, words(Next(w, "west", s.renderer())))
	s.down["east"] = true
	same(t, "writes where it does not answer", toldOnce, words(s.turn("west")))
	if s.tells() != string(reason.TargetNotRead) {
		t.Errorf("the target does not answer: %q", s.tells())
	}
	s.down["east"] = false
	s.later(time.Minute)
	same(t, "writes once it does", toldOnce, words(s.turn("west")))
}

// recorded is the write of an inventory.
func recorded(t *testing.T, inv inventory.Inventory) object.Change {
	t.Helper()
	o, err := inv.Object(object.DefaultOwner)
	if err != nil {
		t.Fatal(err)
	}
	return object.Change{End: inv.End, Action: object.Update, Key: o.Key, Object: o, Was: inv.Was}
}

// Nothing is told of an end that people declared to be left alone, or that another process writes.
func TestConditionsOfOthers(t *testing.T) {
	s := linked(t, all)
	s.later(time.Hour)
	s.lead(false)
	s.world.Elsewhere = map[api.ClusterName]bool{"west": true}
	same(t, "writes where others write", nil, words(s.turn("west")))
	s.world.Elsewhere = nil
	commit := s.world.Fleet.Commit
	s.world.Fleet = declare(t, two, linkDoc("west", "east", all+suspended))
	s.world.Fleet.Commit = commit
	same(t, "writes of a suspended end", nil, words(s.turn("west", Suspend)))
}

// An end of which one write fails again and again does not come to rest: what its link has come to is told all the same.
func TestConditionsOfWhatFails(t *testing.T) {
	refused := object.Key{Group: "apps", Kind: "Deployment", Namespace: mc, Name: "controller-east"}
	for what, s := range map[string]*sim{
		"from the first": newSim(t, declare(t, two, linkDoc("west", "east", all)), two...),
		"later":          linked(t, all),
	} {
		s.lead(false)
		refuse := func(side *state.Cluster) {
			if side == s.live["west"] {
				remove(side, refused)
			}
		}
		refuse(s.live["west"])
		s.play = append(s.play, refuse)
		s.later(time.Hour)
		for range 3 {
			s.turn("east")
			if step := s.turn("west"); slices.Contains(words(step), toldOnce[0]) {
				t.Errorf("%s: it is told before anything failed: %v", what, words(step))
			}
		}
		s.world.Failing = map[api.ClusterName]map[object.End]bool{"west": {westEast: true}}
		s.turn("west")
		if s.tells() != string(reason.Progressing) {
			t.Errorf("%s: at first it tells %q", what, s.tells())
		}
		s.later(health.Settles)
		s.turn("west")
		if s.tells() != string(reason.ControllerNotLeading) {
			t.Errorf("%s: in the end it tells %q", what, s.tells())
		}
	}
}
