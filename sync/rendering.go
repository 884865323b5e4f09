package sync

import (
	"cmp"
	"context"
	gosync "sync"
	"time"
)

// defaultMaxRendered is how many ends may be rendered at once, over all clusters. Each takes about 16 KiB until its objects are written. Fleets with up to
// half as many links never wait.
const defaultMaxRendered = 10_000

// recheck is how often a reconcile that waits looks whether it may go on.
const recheck = 50 * time.Millisecond

// rendering bounds the objects that reconciles hold between plan and write. Without a bound the first sync of a large fleet holds those of all
// clusters at once. A cluster counts while it is planned, and then as long as it answers to its writes: none waits for another's server.
type rendering struct {
	max int

	mu   gosync.Mutex
	ends map[*run]int // that a reconcile renders
}

func newRendering(most int) *rendering {
	return &rendering{max: cmp.Or(most, defaultMaxRendered), ends: map[*run]int{}}
}

// begin waits until fewer than the most ends are rendered, and counts those of a reconcile; false: ctx ended before. One with more ends than the rest
// begins all the same: else it could wait for ever.
func (r *rendering) begin(ctx context.Context, of *run, ends int) bool {
	for !r.tryBegin(of, ends) {
		of.noteAnswer() // its cluster is not what it waits for
		select {
		case <-ctx.Done():
			return false
		case <-time.After(recheck):
		}
	}
	return true
}

func (r *rendering) tryBegin(of *run, ends int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	counted := 0
	for other, n := range r.ends {
		if !other.planned.Load() || time.Since(other.lastAnswer()) < unresponsiveTimeout {
			counted += n
		}
	}
	if counted >= r.max {
		return false
	}
	r.ends[of] = ends
	return true
}

// end counts a reconcile no more.
func (r *rendering) end(of *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ends, of)
}
