package plan

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// aged returns a snapshot in which the sides of some clusters, or of all, are of an earlier pass.
func aged(w state.Snapshot, old ...api.ClusterName) state.Snapshot {
	w = clone(w, nil)
	w.Round = 7
	for name := range w.Clusters {
		if !slices.Contains(old, name) {
			touch(&w, name)
		}
	}
	return w
}

// Nothing is taken away on the word of a side that was not read in this sync, whichever of the two it is; all that is not, is done. Once those are
// read that are asked for, the step is as ever.
func TestRemovesOnlyWhatWasJustRead(t *testing.T) {
	unraced(t)
	three := []api.ClusterName{"east", "north", "west"}
	links := linkDoc("west", "east", all) + linkDoc("east", "west", "") + linkDoc("west", "north", all)
	asked := 0
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 5))
		s := newSim(t, declare(t, three, links), three...)
		for _, f := range []*fleet.Fleet{
			s.snapshot.Fleet,
			declare(t, three, linkDoc("west", "east", "  selector: {}\n")+linkDoc("west", "north", "  controller: {mode: External}\n")),
			declare(t, three, ""), declare(t, three[:2], ""),
		} {
			s.snapshot.Fleet = f
			if len(f.Clusters) == 2 {
				s.snapshot.Departed = []fleet.Cluster{{Name: "west", Spec: api.Cluster{}.WithDefaults()}}
				s.snapshot.UIDs["west"] = s.now().Clusters["west"].Facts.UID
			}
			for range 12 {
				c := three[random.IntN(3)]
				old := slices.DeleteFunc(slices.Clone(three), func(api.ClusterName) bool { return random.IntN(2) == 0 })
				asked += lookedAt(t, s, c, old)
				if s.reconcile(c, rules...); t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			s.settle(rules...)
		}
	}
	if asked < 20 {
		t.Errorf("only %d steps asked for a look", asked)
	}
}

// lookedAt compares the step of a snapshot with old sides, and that which follows when those are read that it names.
func lookedAt(t *testing.T, s *sim, c api.ClusterName, old []api.ClusterName) int {
	t.Helper()
	fresh := Next(aged(s.now()), c, s.renderer(), rules...)
	first := Next(aged(s.now(), old...), c, s.renderer(), rules...)
	if len(fresh.ReadFirst) > 0 || len(first.ReadFirst) == 0 && !reflect.DeepEqual(first, fresh) {
		t.Errorf("%s, %v old: nothing is asked for, and the step differs:\n%v %v\n%v %v", c, old, describe(fresh), statuses(fresh), describe(first), statuses(first))
	}
	for _, ch := range slices.Concat(first.Ahead, first.Changes, first.After) {
		if ch.Action.Removes() || ch.Key.Kind == "ConfigMap" && records(t, s.live[c].Live, ch) {
			for _, name := range []api.ClusterName{c, ch.End.Link.Source, ch.End.Link.Target} {
				if slices.Contains(old, name) {
					t.Errorf("%s: %s of %s, on an old side of %s", c, ch.Action, ch.Key, name)
				}
			}
		}
	}
	if len(first.ReadFirst) == 0 {
		return 0
	}
	still := slices.DeleteFunc(slices.Clone(old), func(n api.ClusterName) bool { return slices.Contains(first.ReadFirst, n) })
	if len(still) == len(old) || !slices.IsSorted(first.ReadFirst) || len(slices.Compact(slices.Clone(first.ReadFirst))) != len(first.ReadFirst) {
		t.Errorf("%s, %v old: asks to look at %v", c, old, first.ReadFirst)
	}
	if then := Next(aged(s.now(), still...), c, s.renderer(), rules...); len(then.ReadFirst) > 0 || !reflect.DeepEqual(then, fresh) {
		t.Errorf("%s, %v old, once %v are read: %v %v, want %v", c, old, first.ReadFirst, describe(then), then.ReadFirst, describe(fresh))
	}
	return 1
}

// records reports whether a write of an inventory begins an unlink, or drops an entry.
func records(t *testing.T, observed object.Observation, c object.Change) bool {
	t.Helper()
	was, _ := inventory.Of(owner, c.End, observed)
	edit(&observed, c.Key, object.Written(c.Object), c.Object.Body)
	now := inventories(t, observed)[c.End]
	return now.Leaving && !was.Leaving || slices.ContainsFunc(was.Entries, func(k object.Key) bool { return !now.Has(k) })
}

// A fleet in which nothing is to be taken away never asks, however old its sides are; what is repaired does not either.
func TestSteadyFleetNeverAsks(t *testing.T) {
	unraced(t)
	for name, rest := range rests() {
		s := rest(t)
		for _, c := range s.snapshot.Fleet.Clusters {
			if step := Next(aged(s.now(), "east", "north", "west"), c.Name, s.renderer(), rules...); len(step.ReadFirst) > 0 {
				t.Errorf("%s: %s asks to look at %v: %v", name, c.Name, step.ReadFirst, statuses(step))
			}
		}
	}
	s := linked(t, all)
	remove(s.live["west"], deployment("east"))
	w := aged(s.now(), two...)
	same(t, "a repair", []string{"create " + deployment("east").String()}, describe(Next(w, "west", s.renderer())))
}

// A cluster is forgotten only once a look in this sync found nothing of linkwright.
func TestRemovedFromTheRecordAfterARead(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", state: Leaving"}, "")
	s.snapshot.UIDs["east"] = s.now().Clusters["east"].Facts.UID
	s.settle(rules...)
	step := Next(aged(s.now(), "east"), "east", s.renderer(), rules...)
	if step.Left() || !slices.Equal(step.ReadFirst, []api.ClusterName{"east"}) {
		t.Errorf("left %t, to be looked at: %v", step.Left(), step.ReadFirst)
	}
	if step = Next(aged(s.now()), "east", s.renderer(), rules...); !step.Left() {
		t.Errorf("looked at, and not left: %v", statuses(step))
	}
	delete(s.snapshot.UIDs, "east")
	if step = Next(aged(s.now(), "east"), "east", s.renderer(), rules...); len(step.ReadFirst) > 0 {
		t.Errorf("forgotten, and %v are to be looked at", step.ReadFirst)
	}
}
