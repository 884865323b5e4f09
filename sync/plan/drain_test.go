package plan

import (
	"testing"

	"github.com/linkwright/linkwright/object"
)

// A drain counts as a delete: what a guard refuses leaves the whole end as it is, until it may go.
func TestDrainIsGuarded(t *testing.T) {
	drain := linkDoc("west", "east", "  selector: {}\n  controller: {logLevel: debug}\n")
	tests := []struct {
		name, policy, code string
		keep               bool
	}{
		{"within bounds", "", "", false},
		{"too much", policyDoc("maxFraction: 0.0, minAllowed: 1"), "TooMuch", false},
		{"kept", "", "Kept", true},
	}
	for _, tt := range tests {
		s := linked(t, "")
		r := s.live["west"].Seen.Record(linkKey("east"))
		r.Keep = tt.keep
		record(&s.live["west"].Seen, linkKey("east"), r)
		s.world.Fleet = declare(t, two, drain+tt.policy)
		step := s.turn("west", PrunePolicy)
		got := row(t, step, westEast)
		if tt.code == "" {
			if got.Standing != Changing || len(step.Changes) != 2 {
				t.Errorf("%s: %s %v, %v", tt.name, got.Standing, got.Why, words(step))
			}
			continue
		}
		if got.Standing != Refused || got.Why.Code != tt.code || len(step.Changes) > 0 {
			t.Errorf("%s: %s %v, %v", tt.name, got.Standing, got.Why, words(step))
		}
		r.Keep = false
		record(&s.live["west"].Seen, linkKey("east"), r)
		s.world.Fleet = declare(t, two, drain)
		step = s.turn("west", PrunePolicy)
		if got := row(t, step, westEast); got.Standing != Changing || step.Changes[0].Action != object.Drain {
			t.Errorf("%s, allowed: %s %v, %v", tt.name, got.Standing, got.Why, words(step))
		}
	}
}
