package plan

import (
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/state"
)

// told are the conditions that stand in the inventory of an end.
func (s *sim) told(end object.End) []object.Condition {
	inv, _ := inventory.Of(object.DefaultOwner, end, s.live[end.Cluster].Seen)
	return inv.Conditions
}

// To what is declared no more a policy says no: the inventories of both ends say so once, since nothing else does without a
// repository. Once it is declared again, or may go, they say it no more.
func TestDeniedIsTold(t *testing.T) {
	const upsertOnly = "---\napiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {prune: {policy: UpsertOnly}}\n"
	s := linked(t, all)
	both := []object.End{westEast, eastWest}
	for range 2 {
		s.world.Fleet = declare(t, two, upsertOnly)
		s.turn("east", PrunePolicy)
		s.turn("west", PrunePolicy)
		for _, end := range both {
			told := s.told(end)
			if got := health.Condition(told, object.Ready); got.Status != object.False || got.Reason != reason.Denied || got.Message != "PrunePolicy" || health.Condition(told, object.Stalled).Status != object.True {
				t.Errorf("%s: denied, it tells %+v", end, told)
			}
		}
		same(t, "writes while it stays denied", nil, append(words(s.turn("east", PrunePolicy)), words(s.turn("west", PrunePolicy))...))
		s.world.Fleet = declare(t, two, linkDoc("west", "east", all)+upsertOnly)
		s.turn("east", PrunePolicy)
		s.turn("west", PrunePolicy)
		if s.tells() != string(reason.Healthy) || s.told(eastWest) != nil {
			t.Errorf("declared again: %s, %+v", s.tells(), s.told(eastWest))
		}
		same(t, "writes then", nil, append(words(s.turn("east", PrunePolicy)), words(s.turn("west", PrunePolicy))...))
	}
	s.world.Fleet = declare(t, two, upsertOnly)
	s.turn("east", PrunePolicy)
	s.turn("west", PrunePolicy)
	s.world.Fleet = declare(t, two, "")
	s.turn("west", PrunePolicy)
	s.turn("east", PrunePolicy)
	for _, end := range both {
		if told := health.Condition(s.told(end), object.Ready); told.Reason == reason.Denied {
			t.Errorf("%s: it may go, and tells %+v", end, told)
		}
	}
}

// What others suspend, or bar, is written nowhere, and tells nothing new.
func TestClosedEndsTellNothing(t *testing.T) {
	s := linked(t, all)
	window := func(state.Snapshot, object.End, []object.Change) *object.Reason {
		return object.Because("Window", "closed")
	}
	s.world.Fleet = declare(t, two, "")
	if got := append(words(s.turn("east", window)), words(s.turn("west", window))...); len(got) > 0 {
		t.Errorf("closed: writes %v", got)
	}
}
