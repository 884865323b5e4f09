package verify

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/store"
)

// Each verification has its source reconciled: at once if the result is news, and else when the next one is due, for there would be none otherwise. Who
// verifies once has it reconciled for news alone.
func TestVerifyGoesOn(t *testing.T) {
	link := api.Pair{Source: "west", Target: "east"}
	for again, want := range map[bool][]string{true: {"now", "later", "now", "later"}, false: {"now", "", "now", ""}} {
		got := ""
		v := New(Options{
			Store: store.New(store.Settings{}), Repeat: again, Reconcile: func(n api.ClusterName) { got += map[api.ClusterName]string{"west": "now"}[n] },
			Later: func(n api.ClusterName, at time.Time) {
				if n == "west" && at.After(time.Now()) {
					got += "later"
				}
			},
		})
		for i, why := range []*object.Reason{nil, nil, object.Because(reason.Forbidden, "no"), object.Because(reason.Forbidden, "no")} {
			got = ""
			v.record(outcome{Verification: plan.Verification{Link: link, Fingerprint: "p"}, why: why})
			if got != want[i] {
				t.Errorf("again %t, verification %d: its source is reconciled %q, want %q", again, i+1, got, want[i])
			}
		}
	}
}

// All credentials of a source that work are verified again at one moment, those of another source at another one: after half an interval at least, and one
// and a half at most.
func TestTogether(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	moments := map[time.Time]bool{}
	for after := range 2 * int(retryInterval/time.Second) {
		now := now.Add(time.Duration(after) * time.Second)
		at := together("west", now)
		moments[at] = true
		if in := at.Sub(now); in < retryInterval/2 || in > retryInterval*3/2 {
			t.Fatalf("verified at %s, and again after %s", now, in)
		}
	}
	if len(moments) != 3 { // of two intervals, and what follows them
		t.Errorf("verified again at %d moments: %v", len(moments), moments)
	}
	if together("west", now).Equal(together("east", now)) {
		t.Error("two sources are verified again at the same moment")
	}
}

// TestUntil: a round of a daemon waits for the first verification of a credential, also while that waits for its address, and not for a later one.
func TestUntil(t *testing.T) {
	one := func(source api.ClusterName, again bool) plan.Verification {
		return plan.Verification{Link: api.Pair{Source: source, Target: "east"}, Address: "east", Again: again}
	}
	for name, tt := range map[string]struct {
		begun  plan.Verification
		queued []plan.Verification
		want   bool
	}{
		"a first one":          {begun: one("west", false), want: true},
		"a later one":          {begun: one("west", true)},
		"a first one waits":    {one("west", true), []plan.Verification{one("north", false)}, true},
		"only later ones wait": {one("west", true), []plan.Verification{one("north", true)}, false},
	} {
		v := New(Options{})
		v.add([]plan.Verification{tt.begun})
		v.begin(t.Context(), func(ctx context.Context, _ plan.Verification) { <-ctx.Done() })
		v.add(tt.queued)
		if got := v.Awaited(time.Minute); got != tt.want {
			t.Errorf("%s: the round waits: %t, want %t", name, got, tt.want)
		}
		v.Stop()
	}
}

// TestQueue: for an address, the first verification of a credential comes before later ones of others, each in the order in which it was asked for.
func TestQueue(t *testing.T) {
	v, want := New(Options{}), []api.ClusterName{"c", "d", "a", "b"}
	for _, source := range []api.ClusterName{"a", "b", "c", "d", "a", "c"} {
		v.add([]plan.Verification{{Link: api.Pair{Source: source, Target: "east"}, Address: "east", Again: source < "c"}})
	}
	var got []api.ClusterName
	for _, one := range v.queue["east"] {
		got = append(got, one.Link.Source)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
