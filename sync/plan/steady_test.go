package plan

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// moments calls f with the snapshot before every reconcile of linking clusters in all modes, letting tokens grow old, and unlinking them again.
func moments(t *testing.T, f func(s *sim, c api.ClusterName)) {
	t.Helper()
	for name, spec := range map[string]string{"tokens that stay": all, "tokens that expire": all + bound} {
		i := newIssuer(t, spec)
		reconcile := i.reconcile
		turns := func(n int) {
			for range n {
				for _, c := range two {
					f(i.sim, c)
					reconcile(c, PrunePolicy, Suspend)
				}
			}
		}
		turns(8)
		for range 3 {
			i.snapshot.Now = i.snapshot.Now.Add(api.DefaultTTL / 2)
			turns(3)
		}
		reconcile = i.sim.reconcile // an unlink takes tokens away
		i.snapshot.Fleet = declare(t, two, "")
		turns(12)
		if i.steps < 20 {
			t.Errorf("%s: only %d writes were planned", name, i.steps)
		}
	}
}

// Before a step's Again and Retry nothing but what is seen can change it: nobody need ask again.
func TestSameStepBeforeNext(t *testing.T) {
	unraced(t)
	random, later := rand.New(rand.NewPCG(1, 2)), 0
	moments(t, func(s *sim, c api.ClusterName) {
		w := s.now()
		now := Next(w, c, s.renderer(), PrunePolicy, Suspend)
		room := 10 * 365 * 24 * time.Hour
		for _, at := range []time.Time{now.PlanAgain, now.Retry} {
			if !at.IsZero() {
				room = min(room, at.Sub(w.Now))
			}
		}
		for _, after := range []time.Duration{0, room / 2, room - 1, time.Duration(random.Int64N(int64(room)))} {
			w.Now = s.snapshot.Now.Add(after)
			then := Next(w, c, s.renderer(), PrunePolicy, Suspend)
			if then.PlanAgain.IsZero() != now.PlanAgain.IsZero() || then.PlanAgain.Before(now.PlanAgain) {
				t.Fatalf("%s: next is %v, and %v later %v", c, now.PlanAgain, after, then.PlanAgain)
			}
			then.PlanAgain = now.PlanAgain
			if !reflect.DeepEqual(sinceless(t, w, now), sinceless(t, w, then)) {
				t.Fatalf("%s: %v later, before %v, the step is another one:\n%v %v\n%v %v", c, after, now.PlanAgain, describe(now), statuses(now), describe(then), statuses(then))
			}
			if after > 0 {
				later++
			}
		}
	})
	if later < 100 {
		t.Errorf("only %d later moments were tried", later)
	}
}

// sinceless returns a step without the one thing written that tells the time: since when an end of a source leaves, or the source of one of a target
// is dead, or nothing is declared in a place, or a condition stands, in an inventory that did not say so before, and in no other.
func sinceless(t *testing.T, w state.Snapshot, s Step) Step {
	t.Helper()
	s.Ahead = slices.Clone(s.Ahead)
	for i, c := range s.Ahead {
		observed := object.Observation{}.Edit()
		observed.Put(c.Key, object.Written(c.Object), c.Object.Body)
		inv, found := inventory.Of(w.Owner, c.End, observed.Observation())
		old, _ := inventory.Of(w.Owner, c.End, w.Clusters[c.End.Cluster].Live)
		if !found || !old.Since.IsZero() || !inv.Leaving && !inv.End.IsBase() && len(inv.Conditions) == 0 {
			continue
		}
		for i, c := range inv.Conditions {
			if !slices.ContainsFunc(old.Conditions, c.Same) {
				inv.Conditions[i].Since = time.Unix(0, 0).UTC()
			}
		}
		if inv.Leaving && inv.Since.IsZero() && !old.Leaving && c.End.IsSource() {
			t.Fatalf("%s leaves since %v", c.End, inv.Since)
		}
		inv.Since = time.Time{}
		o, err := inv.Object(w.Owner)
		if err != nil {
			t.Fatal(err)
		}
		s.Ahead[i].Object = o
	}
	return s
}

// The order in which links are declared decides nothing.
func TestSameStepInAnyOrder(t *testing.T) {
	unraced(t)
	four := []api.ClusterName{"east", "north", "south", "west"}
	var links []string
	for _, source := range four {
		for _, target := range four {
			if source != target {
				links = append(links, linkDoc(string(source), string(target), all))
			}
		}
	}
	f := declare(t, four, strings.Join(links, ""))
	s := newSim(t, f, four...)
	random := rand.New(rand.NewPCG(3, 4))
	for range 6 {
		random.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		other := declare(t, four, strings.Join(links, ""))
		other.Commit = f.Commit
		for _, c := range four {
			w := s.now()
			first := Next(w, c, s.renderer(), PrunePolicy)
			w.Fleet = other
			if again := Next(w, c, s.renderer(), PrunePolicy); !reflect.DeepEqual(first, again) {
				t.Fatalf("%s: the order of links decides:\n%v\n%v", c, describe(first), describe(again))
			}
			s.reconcile(c, PrunePolicy)
		}
	}
}

// One snapshot serves all clusters at once, and no step of one changes it.
func TestStepsSideBySide(t *testing.T) {
	n := 0
	moments(t, func(s *sim, _ api.ClusterName) {
		if n++; n%5 != 0 {
			return
		}
		w := s.now()
		before, alone := clone(w, nil), map[api.ClusterName]Step{}
		for _, c := range two {
			alone[c] = Next(w, c, s.renderer(), PrunePolicy, Suspend)
		}
		results := make([]Step, 4)
		var g sync.WaitGroup
		for i := range results {
			g.Go(func() { results[i] = Next(w, two[i%2], s.renderer(), PrunePolicy, Suspend) })
		}
		g.Wait()
		for i, got := range results {
			if want := alone[two[i%2]]; !reflect.DeepEqual(got, want) {
				t.Fatalf("%s side by side: got %v, want %v", two[i%2], describe(got), describe(want))
			}
		}
		if !reflect.DeepEqual(before, w) {
			t.Fatal("the world was changed")
		}
	})
}
