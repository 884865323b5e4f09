// Package apply makes the writes of a step, in order. It skips a write if an earlier one that it depends on failed.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// concurrency is how many writes one cluster gets at once; how many of them are under way together is the connection's own matter.
const concurrency = 128

// ErrSkipped means that an earlier write of the same end failed, and that this one builds on it.
var ErrSkipped = errors.New("not written, because an earlier write of this end failed")

// errEnded means that nothing more was to begin.
var errEnded = errors.New("not written")

// Writer is what a step needs of an object.Cluster.
type Writer interface {
	Write(ctx context.Context, c object.Change) (object.Record, error)
}

// Step makes the writes of a step, and gives what became of each. Once ctx has ended nothing more begins, and what has begun may take drain to end.
// What is ahead goes first: linkwright's namespace and the base one after the other, and a failure there stops all of the cluster; then inventories
// at once, each of which its own end builds on. Then phase by phase over all ends, an end stopping at its first failure.
func Step(ctx context.Context, to Writer, s plan.Step) []object.Outcome {
	w := &writer{to: to, failed: map[object.End]bool{}, outcomes: make([]object.Outcome, 0, s.Writes())}
	base, inventories := s.Ahead, []object.Change(nil)
	if i := slices.IndexFunc(s.Ahead, func(c object.Change) bool { return !c.End.IsBase() }); i >= 0 {
		base, inventories = s.Ahead[:i], s.Ahead[i:]
	}
	for _, ch := range base {
		w.all(ctx, []object.Change{ch})
		w.stopped = w.stopped || w.failed[ch.End]
	}
	w.all(ctx, inventories)
	for len(s.Changes) > 0 {
		n := together(s.Changes)
		w.all(ctx, s.Changes[:n])
		s.Changes = s.Changes[n:]
	}
	w.all(ctx, s.After)
	return w.outcomes
}

// together counts the leading changes of one phase, deletes apart from applies.
func together(changes []object.Change) int {
	first := changes[0]
	for i, c := range changes {
		if c.Object.Phase != first.Object.Phase || (c.Action == object.Delete) != (first.Action == object.Delete) {
			return i
		}
	}
	return len(changes)
}

// writer makes the writes of one step.
type writer struct {
	to       Writer
	stopped  bool
	failed   map[object.End]bool
	outcomes []object.Outcome
}

// all does changes that do not build on each other; outcomes keep their order.
func (w *writer) all(ctx context.Context, changes []object.Change) {
	out := make([]object.Outcome, len(changes))
	var todo []*object.Outcome
	for i, ch := range changes {
		out[i].Change = ch
		if w.stopped || w.failed[ch.End] {
			out[i].Err = cmp.Or(ended(ctx), ErrSkipped)
			continue
		}
		todo = append(todo, &out[i])
	}
	w.each(ctx, todo)
	for _, o := range out {
		if o.Err != nil {
			w.failed[o.Change.End] = true
		}
	}
	w.outcomes = append(w.outcomes, out...)
}

// each writes them, in a few goroutines that go on: one for each would have its stack grow as deep as a request each time.
func (w *writer) each(ctx context.Context, todo []*object.Outcome) {
	var next atomic.Int64
	var g sync.WaitGroup
	for range min(concurrency, len(todo)) {
		g.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(todo)); i = next.Add(1) - 1 {
				todo[i].Now, todo[i].Err = w.write(ctx, todo[i].Change)
			}
		})
	}
	g.Wait()
}

// drainTimeout is how long a write under way may take once we are asked to stop: less than what is left of a
// lease that was lost (package lease: duration less renew), so that it is not applied in another's term.
const drainTimeout = 4 * time.Second

// write begins nothing once ctx has ended, but lets what has begun come to its end; what waits for its turn in the connection
// has begun.
func (w *writer) write(ctx context.Context, c object.Change) (object.Record, error) {
	if err := ended(ctx); err != nil {
		return object.Record{}, err
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(drainTimeout, cancel) })
	defer stop()
	return w.to.Write(inner, c)
}

// ended says why nothing more begins; nil: it may.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errEnded, context.Cause(ctx))
}

// Untried reports whether a write was not made because its step was cut short, or an earlier one failed.
func Untried(o object.Outcome) bool { return NotBegun(o) || errors.Is(o.Err, context.Canceled) }

// NotBegun reports whether a write was not begun, for whatever reason.
func NotBegun(o object.Outcome) bool {
	return errors.Is(o.Err, errEnded) || errors.Is(o.Err, ErrSkipped)
}
