package sync

import (
	"context"

	"github.com/linkwright/linkwright/sync/report"
)

// Term is one term whose passes a test makes one by one.
type Term struct{ *term }

// Begin begins a term, as a new process does.
func Begin(l *Loop, number int64) *Term { return &Term{newTerm(l, number)} }

// Pass makes the next pass.
func (t *Term) Pass(ctx context.Context) (report.Report, error) {
	return t.pass(ctx, t.loop.poll(ctx), nil)
}
