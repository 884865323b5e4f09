package sync

import (
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

// wide is how many writes one cluster gets at once; how many of them are under way together is the connection's own matter.
const wide = 128

// errSkipped: an earlier write of the same end failed, and this one builds on it.
var errSkipped = errors.New("not tried: an earlier write of this end failed")

// errEnded: the turn was to begin nothing more.
var errEnded = errors.New("not tried")

// act does one step; it is the only writer. What is ahead goes first: our namespace and the base one after the other, and a
// failure there stops all of the cluster; then inventories at once, each of which its own end builds on. Then phase by
// phase over all ends, an end stopping at its first failure.
func act(ctx context.Context, c Cluster, s plan.Step) []object.Outcome {
	a := &actor{conn: c, failed: map[object.End]bool{}, outcomes: make([]object.Outcome, 0, s.Writes())}
	base, inventories := s.Ahead, []object.Change(nil)
	if i := slices.IndexFunc(s.Ahead, func(c object.Change) bool { return !c.End.IsBase() }); i >= 0 {
		base, inventories = s.Ahead[:i], s.Ahead[i:]
	}
	for _, ch := range base {
		a.all(ctx, []object.Change{ch})
		a.stopped = a.stopped || a.failed[ch.End]
	}
	a.all(ctx, inventories)
	for len(s.Changes) > 0 {
		n := together(s.Changes)
		a.all(ctx, s.Changes[:n])
		s.Changes = s.Changes[n:]
	}
	a.all(ctx, s.After)
	return a.outcomes
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

// actor writes to one cluster.
type actor struct {
	conn     Cluster
	stopped  bool
	failed   map[object.End]bool
	outcomes []object.Outcome
}

// all does changes that do not build on each other; outcomes keep their order.
func (a *actor) all(ctx context.Context, changes []object.Change) {
	out := make([]object.Outcome, len(changes))
	var todo []*object.Outcome
	for i, ch := range changes {
		out[i].Change = ch
		if a.stopped || a.failed[ch.End] {
			out[i].Err = errSkipped
			continue
		}
		todo = append(todo, &out[i])
	}
	a.each(ctx, todo)
	for _, o := range out {
		if o.Err != nil {
			a.failed[o.Change.End] = true
		}
	}
	a.outcomes = append(a.outcomes, out...)
}

// each writes them, in a few goroutines that go on: one for each would have its stack grow as deep as a request each time.
func (a *actor) each(ctx context.Context, todo []*object.Outcome) {
	var next atomic.Int64
	var g sync.WaitGroup
	for range min(wide, len(todo)) {
		g.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(todo)); i = next.Add(1) - 1 {
				todo[i].Now, todo[i].Err = a.write(ctx, todo[i].Change)
			}
		})
	}
	g.Wait()
}

// drain is how long a write under way may take once we are told to stop: less than what is left of a
// lease that was lost (package lease: duration less renew), so that it is not applied in another's term.
const drain = 4 * time.Second

// write begins nothing once ctx has ended, but lets what has begun come to its end; what waits for its turn in the connection
// has begun.
func (a *actor) write(ctx context.Context, c object.Change) (object.Record, error) {
	if ctx.Err() != nil {
		return object.Record{}, fmt.Errorf("%w: %w", errEnded, context.Cause(ctx))
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(drain, cancel) })
	defer stop()
	return a.conn.Write(inner, c)
}
