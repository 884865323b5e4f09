package sync

import (
	"context"
	"testing"

	"github.com/linkwright/linkwright/sync/report"
)

// Term is one leadership whose syncs a test makes one by one.
type Term struct{ *engine }

// Begin begins one, as a new process does, and ends it with the test.
func Begin(t *testing.T, l *Loop, number int64) *Term {
	e := newEngine(l, number)
	t.Cleanup(e.start(context.Background()))
	return &Term{e}
}

// Pass makes the next sync.
func (t *Term) Pass(ctx context.Context) (report.Report, error) {
	return t.sync(ctx, t.loop.poll(ctx), nil)
}
