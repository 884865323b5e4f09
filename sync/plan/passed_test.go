package plan

import (
	"slices"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
)

// A target that is down when it gets another name is known by what people accept: it is not taken for one that is gone.
func TestRenamedWhileDown(t *testing.T) {
	s := linked(t, all)
	rename(t, s, "east", "neweast", linkDoc("west", "neweast", all))
	s.down["east"], s.down["neweast"] = true, true
	last, taken := s.settled()
	same(t, "taken before it is back", nil, taken)
	if got := row(t, last["west"], westEast); got.Standing != Waiting || got.Why.Code != prune.WaitingForSuccessor {
		t.Errorf("the former link is %s: %v", got.Standing, got.Why)
	}
}

// A link that was being removed, and is declared again by another name of its source: it stays, though nobody knows yet what its
// end is to hold.
func TestDeclaredAgainUnderAnotherName(t *testing.T) {
	s := linked(t, all)
	s.world.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": ", state: Leaving"}, linkDoc("west", "east", all))
	for range 2 { // its end begins, and its mirrors are gone
		s.turn("west")
	}
	if inv := inventories(t, s.live["west"].Seen)[westEast]; !inv.Leaving {
		t.Fatal("the unlink did not begin")
	}
	rename(t, s, "west", "newwest", linkDoc("newwest", "east", all))
	for range 3 { // before its target gives the new name access
		if step := s.turn("newwest"); slices.ContainsFunc(step.Changes, func(c object.Change) bool { return c.Takes() }) {
			t.Errorf("of a link that is declared: %v", words(step))
		}
	}
	last, _ := s.settled()
	allInPlace(t, "newwest", last["newwest"])
}
