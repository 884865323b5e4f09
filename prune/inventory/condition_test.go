package inventory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

func conditionsOf(at time.Time, words ...string) []object.Condition {
	out := make([]object.Condition, 0, len(words)/3)
	for i := 0; i < len(words); i += 3 {
		out = append(out, object.Condition{Type: words[i], Status: words[i+1], Reason: reason.Code(words[i+2]), Since: at})
	}
	return out
}

// A transition is written at once, another reason alone half a minute after the last time at the earliest.
func TestWithConditions(t *testing.T) {
	before := func(d time.Duration, words ...string) []object.Condition { return conditionsOf(noon.Add(-d), words...) }
	works, settles := []string{"Ready", "True", "A"}, []string{"Ready", "False", "B", "Reconciling", "True", "B"}
	stalls := []string{"Ready", "False", "C", "Stalled", "True", "C"}
	for name, tt := range map[string]struct {
		was  []object.Condition
		next []string
		want time.Duration // from now; 0: it is time; -1: never
	}{
		"the first time":                {nil, works, 0},
		"no news":                       {before(time.Hour, works...), works, -1},
		"it dies after an hour":         {before(time.Hour, works...), stalls, 0},
		"it dies at once":               {before(time.Second, works...), stalls, 0},
		"it settles again":              {before(time.Second, works...), settles, 0},
		"it gets ready":                 {before(time.Second, settles...), works, 0},
		"it comes back":                 {before(10*time.Second, stalls...), works, 0},
		"it takes too long":             {before(time.Second, settles...), []string{"Ready", "False", "B", "Stalled", "True", "B"}, 0},
		"another reason":                {before(10*time.Second, stalls...), []string{"Ready", "False", "D", "Stalled", "True", "D"}, 20 * time.Second},
		"another reason after a while":  {before(time.Hour, stalls...), []string{"Ready", "False", "D", "Stalled", "True", "D"}, 0},
		"one of them is new":            {append(before(time.Hour, "Ready", "False", "C"), before(time.Second, "Stalled", "True", "C")...), []string{"Ready", "False", "D", "Stalled", "True", "D"}, 29 * time.Second},
		"told by a clock that is ahead": {before(-time.Hour, stalls...), []string{"Ready", "False", "D", "Stalled", "True", "D"}, 0},
	} {
		next, at := Inventory{End: west, Conditions: tt.was}.WithConditions(conditionsOf(noon, tt.next...), noon)
		want := noon.Add(tt.want)
		if tt.want < 0 {
			want = time.Time{}
		}
		if tt.want == 0 && !at.IsZero() && at.Before(noon) {
			at = noon
		}
		if !at.Equal(want) {
			t.Errorf("%s: to be told at %s, want %s", name, at, want)
		}
		if same := next.Same(Inventory{End: west, Conditions: tt.was}); same != (tt.want < 0) {
			t.Errorf("%s: the inventory is the same: %t", name, same)
		}
	}
}

// A moment alone changes nothing. A message alone is written like another reason alone.
func TestUnchangedConditionsStay(t *testing.T) {
	was := conditionsOf(noon, "Ready", "True", "A")
	next := conditionsOf(noon.Add(time.Hour), "Ready", "True", "A")
	if inv, at := (Inventory{Conditions: was}).WithConditions(next, noon.Add(time.Hour)); !at.IsZero() || !cmp.Equal(inv.Conditions, was) {
		t.Errorf("written at %s: %v", at, inv.Conditions)
	}
	next[0].Message = "otherwise"
	if inv, at := (Inventory{Conditions: was}).WithConditions(next, noon.Add(time.Second)); !at.Equal(noon.Add(minReasonInterval)) || !cmp.Equal(inv.Conditions, next) {
		t.Errorf("another message is written at %s: %v", at, inv.Conditions)
	}
}

// Whoever may write an inventory may write anything there: what we would not have written is none.
func TestConditionsAsRead(t *testing.T) {
	one := func(more string) string {
		return `{"type":"Ready","status":"True","reason":"A","since":"2026-11-22T12:00:00Z"` + more + `}`
	}
	for spelled, want := range map[string][]object.Condition{
		one(""):                   conditionsOf(noon, "Ready", "True", "A"),
		one("") + "," + one(""):   conditionsOf(noon, "Ready", "True", "A"),
		one(`,"type":"Progress"`): nil,
		one(`,"status":"yes"`):    nil,
		one(`,"reason":"a b"`):    nil,
		one(`,"reason":""`):       nil,
		one(`,"reason":"` + strings.Repeat("a", 65) + `"`):                  nil,
		one(`,"message":"\u001b[31m"`):                                      nil,
		one(`,"message":"` + strings.Repeat("a", maxMessageLength+1) + `"`): nil,
		one(`,"since":"0001-01-01T00:00:00Z"`):                              nil,
		one(`,"since":"2026-11-22T13:00:00.9+01:00"`):                       conditionsOf(noon, "Ready", "True", "A"),
		one(`,"type":"Stalled"`) + "," + one(""):                            conditionsOf(noon, "Ready", "True", "A", "Stalled", "True", "A"),
	} {
		data := `{"version":1,"cluster":"west","source":"west","target":"east","conditions":[` + spelled + `]}`
		got, err := Read(owner, recordOf(Key(owner, west), object.Ours, wrap(t, dataKey, data)))
		if err != nil || len(got) != 1 || !cmp.Equal(got[0].Conditions, want) {
			t.Errorf("Read(%s): %v, %v, want %v", data, got, err, want)
		}
	}
	data := `{"version":1,"cluster":"west","conditions":[` + one("") + `]}`
	if got, err := Read(owner, recordOf(Key(owner, object.End{}), object.Ours, wrap(t, dataKey, data))); err != nil || got[0].Conditions != nil {
		t.Errorf("a base tells %v, %v", got, err)
	}
}

// Of a link that goes, what was told does not stand.
func TestLeaveDropsConditions(t *testing.T) {
	if left := (Inventory{End: west, Conditions: conditionsOf(noon, "Ready", "True", "A")}).Leave(noon); left.Conditions != nil {
		t.Errorf("Leave: %v", left.Conditions)
	}
}
