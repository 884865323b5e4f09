package sync

import (
	"context"
	"testing"

	"github.com/linkwright/linkwright/sync/report"
)

// Leadership is one leadership whose syncs a test makes one by one.
type Leadership struct{ *engine }

// Begin begins one, as a new process does, and ends it with the test.
func Begin(t *testing.T, l *Loop, number int64) *Leadership {
	e := newEngine(l, number)
	t.Cleanup(e.start(context.Background()))
	return &Leadership{e}
}

// Sync makes the next sync.
func (t *Leadership) Sync(ctx context.Context) (report.Report, error) {
	return t.sync(ctx, t.loop.poll(ctx), nil)
}
