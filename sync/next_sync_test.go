package sync

import (
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/store"
)

// declared returns a store of a fleet with a policy.
func declared(p api.SyncPolicy) *store.Store {
	s := store.New(store.Settings{})
	s.Enter(&fleet.Fleet{Policy: p.WithDefaults()}, inventory.Record{})
	return s
}

// The next sync begins when the policy says so, or once the time of a decision is over.
func TestNextSync(t *testing.T) {
	l, now := &Loop{}, time.Now()
	s := declared(api.SyncPolicy{Interval: "1h"})
	for _, tt := range []struct{ until, least, most time.Duration }{
		{0, 54 * time.Minute, time.Hour}, {20 * time.Minute, 20 * time.Minute, 20 * time.Minute}, {-time.Minute, 54 * time.Minute, time.Hour}, {2 * time.Hour, 54 * time.Minute, time.Hour},
	} {
		s.SetRecord(inventory.Record{Decisions: []inventory.Decision{{Kind: inventory.Suspend, Cluster: "east", Until: now.Add(tt.until)}}})
		if got := l.nextSync(s, now).Sub(now); got < tt.least || got > tt.most {
			t.Errorf("a decision until %v: again after %v, want %v to %v", tt.until, got, tt.least, tt.most)
		}
	}
}

// Many that were started at once do not poll at once, and each keeps to its interval; a schedule stays as it is written.
func TestWithJitter(t *testing.T) {
	for _, tt := range []struct {
		r    float64
		want time.Duration
	}{{0, time.Minute}, {0.5, 57 * time.Second}, {0.999999, 54*time.Second + 6*time.Microsecond}} {
		if got := withJitter(time.Minute, tt.r); got != tt.want {
			t.Errorf("spread(1m, %v): got %v, want %v", tt.r, got, tt.want)
		}
	}
	l, now, observed := &Loop{}, time.Now(), map[time.Time]bool{}
	interval, schedule := declared(api.SyncPolicy{Interval: "1h"}), declared(api.SyncPolicy{Schedule: "0 * * * *"})
	for range 20 {
		observed[l.nextSync(interval, now)] = true
		if got, want := l.nextSync(schedule, now), schedule.Declared.Policy().Next(now); !got.Equal(want) {
			t.Errorf("a schedule: got %v, want %v", got, want)
		}
	}
	if len(observed) < 15 {
		t.Errorf("20 pauses of an interval have %d lengths", len(observed))
	}
}
