package sync

import (
	"context"

	"github.com/linkwright/linkwright/sync/report"
)

// Term is one term whose passes a test makes one by one.
type Term struct {
	loop  *Loop
	board *board
}

// Begin begins a term, as a new process does.
func Begin(l *Loop, term int64) *Term { return &Term{l, newBoard(l, term)} }

// Pass makes the next pass.
func (t *Term) Pass(ctx context.Context) (report.Report, error) {
	return t.loop.pass(ctx, t.board, t.loop.poll(ctx), nil)
}
