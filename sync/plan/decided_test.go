package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// A suspension by a person acts as the declared one: nothing is written, rows say who, why and until when, and the step is asked
// again at its end, from when on all goes on.
func TestSuspendedByDecision(t *testing.T) {
	for name, d := range map[string]inventory.Decision{
		"link":    {Kind: inventory.Suspend, Source: "west", Target: "east"},
		"cluster": {Kind: inventory.Suspend, Cluster: "west"},
	} {
		s := linked(t, "")
		d.By, d.Reason, d.Until = "alice", "incident 42", s.snapshot.Now.Add(time.Hour)
		s.snapshot.Suspended = []inventory.Decision{d, {Kind: inventory.Suspend, Cluster: "east", Until: s.snapshot.Now}} // the second is over
		remove(s.live["west"], deployment("east"))
		steps := quiet(t, s, name)
		got := row(t, steps["west"], westEast)
		if got.Phase != Suspended || !strings.Contains(got.Why.Message, "1 change waits") {
			t.Errorf("%s: west's end is %s, %v", name, got.Phase, got.Why)
		}
		for _, word := range []string{"by alice", "(incident 42)", "until " + d.Until.Format(time.RFC3339), "linkwright resume " + d.Object()} {
			if !strings.Contains(got.Why.Message, word) {
				t.Errorf("%s: %q does not say %q", name, got.Why.Message, word)
			}
		}
		if !steps["west"].PlanAgain.Equal(d.Until) {
			t.Errorf("%s: it is asked again at %s, want %s", name, steps["west"].PlanAgain, d.Until)
		}
		s.snapshot.Once = true
		if again := s.reconcile("west", Suspend, PrunePolicy).PlanAgain; !again.IsZero() {
			t.Errorf("%s: a sync that runs once waits until %s", name, again)
		}
		s.snapshot.Once = false
		s.snapshot.Now = d.Until
		if step := s.reconcile("west", Suspend, PrunePolicy); !slices.Contains(describe(step), "create "+deployment("east").String()) {
			t.Errorf("%s: once it is over: %v", name, describe(step))
		}
	}
}

// Of several suspensions the one that lasts longest counts.
func TestSuspendedTwice(t *testing.T) {
	s := linked(t, "")
	hour := s.snapshot.Now.Add(time.Hour)
	d := func(by string, until time.Time) inventory.Decision {
		return inventory.Decision{Kind: inventory.Suspend, Cluster: "west", By: by, Until: until}
	}
	for want, all := range map[string][]inventory.Decision{
		"b": {d("a", hour), d("b", hour.Add(1)), d("c", hour)},
		"z": {d("a", hour), d("z", time.Time{}), d("c", hour)},
	} {
		s.snapshot.Suspended = all
		if got, ok := s.snapshot.Suspension(westEast); !ok || got.By != want {
			t.Errorf("suspension: %v, %t; want that of %s", got, ok, want)
		}
	}
}

// A cluster is known without permission once the record has its identity and its base the name.
func TestConfirmed(t *testing.T) {
	s := linked(t, "")
	snapshot := s.now()
	uid := snapshot.Clusters["east"].Facts.UID
	if snapshot.UIDs = map[api.ClusterName]string{"east": uid}; !snapshot.Confirmed("east", uid) || snapshot.Confirmed("east", "other") {
		t.Error("recorded, with a base of its name")
	}
	if snapshot.UIDs["east"] = "former"; snapshot.Confirmed("east", uid) {
		t.Error("the record has another")
	}
	snapshot.UIDs = map[api.ClusterName]string{"east": uid, "oldeast": uid}
	current := snapshot.Clusters["east"]
	current.Live = object.NewObservation(nil)
	if snapshot.Clusters["east"] = current; snapshot.Confirmed("east", uid) {
		t.Error("no base, and another name has the identity")
	}
	delete(snapshot.UIDs, "oldeast")
	if !snapshot.Confirmed("east", uid) {
		t.Error("no base, and no other name has the identity")
	}
	current.Reading = state.Unread
	if snapshot.Clusters["east"] = current; snapshot.Confirmed("east", uid) {
		t.Error("not read")
	}
}
