package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// turns hands out the right to send one write, to who came first, as wide as the limit says.
type turns struct {
	patience time.Duration // who would have to wait longer because the server wants to be left alone is sent away

	mu      sync.Mutex
	limit   limit
	out     int
	waiting []chan error // each gets one value: nil is its turn
	alarm   *time.Timer  // serves when the limit's shut is over; nil: none
}

func newTurns(patience time.Duration) *turns { return &turns{patience: patience, limit: newLimit()} }

// take waits for a turn, which must be given back. It fails when ctx ends, or at once with a shutError. Who had a
// turn that the server sent back comes first.
func (t *turns) take(ctx context.Context, first bool) error {
	mine := make(chan error, 1)
	t.mu.Lock()
	at := len(t.waiting)
	if first {
		at = 0
	}
	t.waiting = slices.Insert(t.waiting, at, mine)
	t.serve()
	t.mu.Unlock()
	select {
	case err := <-mine:
		return err
	case <-ctx.Done():
		t.leave(mine)
		return ctx.Err()
	}
}

// leave gives up a place in the queue, or the turn that came in the same moment.
func (t *turns) leave(mine chan error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	if <-mine == nil {
		t.out--
		t.serve()
	}
}

// give gives a turn back, with what it showed.
func (t *turns) give(s sent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.full = t.out >= t.limit.wide
	t.out--
	t.limit.learn(s)
	t.serve()
}

// serve lets in who may go now, under the lock.
func (t *turns) serve() {
	if len(t.waiting) == 0 {
		return
	}
	if shut := time.Until(t.limit.shut); shut > 0 {
		t.hold(shut)
		return
	}
	for len(t.waiting) > 0 && t.out < t.limit.wide {
		t.waiting[0] <- nil
		t.waiting = t.waiting[1:]
		t.out++
	}
}

// hold keeps everybody waiting, or sends all away.
func (t *turns) hold(shut time.Duration) {
	if shut > t.patience {
		for _, w := range t.waiting {
			w <- &shutError{until: t.limit.shut}
		}
		t.waiting = nil
		return
	}
	if t.alarm != nil {
		t.alarm.Stop()
	}
	t.alarm = time.AfterFunc(shut, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.serve()
	})
}

// shutError: the server asked for more time than a write may take.
type shutError struct {
	until time.Time
	cause error // what the server said; nil for a write that was not tried
}

func (e *shutError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("not tried: the API server asks to be left alone until %s", e.when())
	}
	return fmt.Sprintf("the API server asks to be left alone until %s: %v", e.when(), e.cause)
}

func (e *shutError) Unwrap() error { return e.cause }

func (e *shutError) when() string { return e.until.UTC().Format(time.RFC3339) }
