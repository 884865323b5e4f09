package sync

import (
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// The next pass begins when the policy says so, or when a token is due before; what this pass waited for in vain is not hurried.
func TestAgain(t *testing.T) {
	now := time.Now()
	policy := api.SyncPolicy{Interval: "1h"}.WithDefaults()
	for name, tt := range map[string]struct {
		next, want time.Duration
	}{
		"nothing due":        {0, time.Hour},
		"due before":         {20 * time.Minute, 20 * time.Minute},
		"due after":          {2 * time.Hour, time.Hour},
		"waited for in vain": {300 * time.Millisecond, time.Hour},
		"long due":           {-time.Minute, time.Hour},
	} {
		l := &Loop{}
		b := newBoard(l, 1)
		b.fleet = &fleet.Fleet{Policy: policy}
		b.table["east"] = &report.Cluster{Name: "east", Step: plan.Step{Next: now.Add(tt.next)}}
		if tt.next == 0 {
			b.table["east"].Step.Next = time.Time{}
		}
		got, least := l.again(b, now).Sub(now), tt.want
		if tt.want == time.Hour {
			least -= tt.want / 10
		}
		if got > tt.want || got < least {
			t.Errorf("%s: again: got %v after the pass began, want %v to %v", name, got, least, tt.want)
		}
	}
}

// Many that were started at once do not poll at once, and each keeps to its interval; a schedule stays as it is written.
func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		r    float64
		want time.Duration
	}{{0, time.Minute}, {0.5, 57 * time.Second}, {0.999999, 54*time.Second + 6*time.Microsecond}} {
		if got := spread(time.Minute, tt.r); got != tt.want {
			t.Errorf("spread(1m, %v): got %v, want %v", tt.r, got, tt.want)
		}
	}
	l, now, seen := &Loop{}, time.Now(), map[time.Time]bool{}
	b := newBoard(l, 1)
	for range 20 {
		b.fleet = &fleet.Fleet{Policy: api.SyncPolicy{Interval: "1h"}.WithDefaults()}
		seen[l.again(b, now)] = true
		b.fleet = &fleet.Fleet{Policy: api.SyncPolicy{Schedule: "0 * * * *"}.WithDefaults()}
		if got, want := l.again(b, now), b.fleet.Policy.Next(now); !got.Equal(want) {
			t.Errorf("a schedule: got %v, want %v", got, want)
		}
	}
	if len(seen) < 15 {
		t.Errorf("20 pauses of an interval have %d lengths", len(seen))
	}
}
