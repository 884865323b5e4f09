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
		if got := l.again(b, now); !got.Equal(now.Add(tt.want)) {
			t.Errorf("%s: again: got %v after the pass began, want %v", name, got.Sub(now), tt.want)
		}
	}
}
