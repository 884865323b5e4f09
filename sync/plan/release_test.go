package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// A release deletes nothing but inventories, and those last; interrupted anywhere it goes on from there. What is declared
// after it is occupied, and can be adopted again.
func TestRelease(t *testing.T) {
	s := linked(t, all)
	before := map[api.ClusterName]map[object.Key]bool{}
	for _, c := range two {
		before[c] = s.oursIn(c)
	}
	s.snapshot.Release = &state.Releasing{All: true}
	for round := 0; s.releases(); round++ {
		if round > 60 {
			t.Fatal("the release comes to no end")
		}
	}
	for _, c := range two {
		for k := range s.oursIn(c) {
			t.Errorf("%s: %s is still ours", c, k)
		}
		for k := range before[c] {
			if s.live[c].Live.Record(k).IsZero() {
				t.Errorf("%s: %s is gone", c, k)
			}
		}
	}
	s.snapshot.Release = nil
	step := Next(s.now(), "east", s.renderer())
	if why := step.Rows[1].Why; why == nil || why.Code != reason.ObjectExists || !strings.HasSuffix(why.Message, ": run linkwright adopt west/east") {
		t.Errorf("after it: %v, %v", statuses(step), why)
	}
	s.snapshot.Adopt = map[api.Pair]bool{{Source: "west", Target: "east"}: true}
	s.settle()
	s.snapshot.Adopt = nil
	for c, step := range s.settle() {
		for _, line := range statuses(step) {
			if !strings.HasSuffix(line, ": Ready") {
				t.Errorf("adopted again: %s: %s", c, line)
			}
		}
	}
}

// oursIn returns what carries linkwright's mark in a cluster, beside inventories and linkwright's namespace.
func (s *sim) oursIn(c api.ClusterName) map[object.Key]bool {
	out := map[object.Key]bool{}
	for k, r := range s.live[c].Live.Records() {
		if r.Mark == object.Ours && !inventory.Named(owner, k) && k.Kind != "Namespace" {
			out[k] = true
		}
	}
	return out
}

// releases has each cluster make one step of a release, interrupted after its first write, and says whether there was any.
func (s *sim) releases() (wrote bool) {
	for _, c := range two {
		step := Next(s.now(), c, s.renderer(), PrunePolicy)
		if len(step.Changes) > 1 {
			step.Changes, step.After = step.Changes[:1], nil
		}
		for _, ch := range append(step.Changes, step.After...) {
			if !ch.Releases() && (ch.Action != object.Delete || !inventory.Named(owner, ch.Key)) {
				s.t.Errorf("%s: %s %s", c, ch.Action, ch.Key)
			}
			if ch.Why.Code != reason.Released {
				s.t.Errorf("%s: %s %s because of %v, want Released", c, ch.Action, ch.Key, ch.Why)
			}
		}
		*s.live[c] = After(*s.live[c], step)
		wrote = wrote || step.Writes() > 0
		if step.Writes() == 0 && !step.Left() {
			s.t.Errorf("%s: something is left: %v", c, statuses(step))
		}
	}
	return wrote
}

// One link of two: the base stays with the other.
func TestReleaseOne(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", "")+linkDoc("east", "west", "")), two...)
	s.settle()
	s.snapshot.Release = &state.Releasing{Links: map[api.Pair]bool{{Source: "west", Target: "east"}: true}}
	for range 3 {
		for _, c := range two {
			s.reconcile(c)
		}
	}
	for _, c := range two {
		recorded, err := inventory.Read(owner, s.live[c].Live)
		if err != nil || len(recorded) != 2 || recorded[1].End.Link != (api.Pair{Source: "east", Target: "west"}) {
			t.Errorf("%s: %v, %v", c, recorded, err)
		}
	}
	s.snapshot.Release = &state.Releasing{Links: map[api.Pair]bool{{Source: "north", Target: "south"}: true}}
	if step := s.reconcile("west"); step.Writes() > 0 || step.Left() {
		t.Errorf("a cluster of another link: %v, left %t", describe(step), step.Left())
	}
}
