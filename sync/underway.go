package sync

import (
	"context"
	"sync/atomic"
	"time"
)

// unresponsiveTimeout is how long a daemon waits for a cluster that does not answer while others do.
const unresponsiveTimeout = 2 * time.Second

// run is a reconcile under way.
type run struct {
	round        int // in which it began
	pending      bool
	stopped      bool // it was asked to begin nothing more
	cut          context.CancelCauseFunc
	planned      atomic.Bool  // its step
	lastAnswerAt atomic.Int64 // when its cluster last answered, as Unix nanoseconds
}

// notePlanned notes that the step is planned: from now on its cluster is waited for.
func (r *run) notePlanned() {
	r.noteAnswer()
	r.planned.Store(true)
}

// noteAnswer notes that the cluster answered.
func (r *run) noteAnswer() { r.lastAnswerAt.Store(time.Now().UnixNano()) }

// lastAnswer returns when the cluster last answered, or when the run began.
func (r *run) lastAnswer() time.Time { return time.Unix(0, r.lastAnswerAt.Load()) }
