package sync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
)

// lane is the turns of one cluster, of which one at a time runs: none waits for those of another.
type lane struct {
	cluster fleet.Cluster
	gone    bool // not declared any more

	running bool
	drifts  bool               // the turn that runs is about keys alone
	cut     context.CancelFunc // of the turn that runs
	short   bool               // that was told to begin nothing more
	sign    atomic.Int64       // when that was last answered, as Unix nanoseconds

	ready bool         // wants a turn about all of its cluster
	keys  []object.Key // moved, and nobody has looked yet what that asks for
	hush  time.Time    // not before: what moves at once is looked at at once
	fresh bool         // its side need not be read: it was just now, or is known by what was written
	stale bool         // it is to be read all the same, since something may have happened by itself
	wake  time.Time    // wants one then; zero: never
	quiet time.Time    // none before: planning must not take a core for itself

	// What its last turn left.
	step  plan.Step
	basis basis // of step
	still bool  // there was nothing left to do
	// It took back nothing but drift, and nobody has looked yet at what it wrote.
	unseen bool
	owes   bool // it was wanted in a pass that ended before it: it is had in the next, or once something moves

	// In this pass.
	told  bool      // had a turn
	turns int       // that wrote
	fails int       // turns with a failed write, in a row
	pause time.Time // after one of them: what is tried before, for another's sake, is no try
	waits uint      // turns in vain

	looked int            // the last pass in which its cluster is read by requests
	asked  bool           // to do so, and it has not yet
	looks  int            // times it was
	awaits map[*lane]bool // which must do so before this one has another turn for it
}

// begin begins a pass. A turn that runs is of the one before, and no turn of this one.
func (l *lane) begin(c fleet.Cluster, declared bool) {
	l.cluster, l.gone = c, !declared
	l.fresh, l.stale, l.wake, l.told = false, false, time.Time{}, false
	l.turns, l.fails, l.waits, l.pause = 0, 0, 0, time.Time{}
	l.asked, l.looks, l.awaits = false, 0, nil
}

// hear notes that the cluster answered.
func (l *lane) hear() { l.sign.Store(time.Now().UnixNano()) }

// heard is when the cluster last answered the turn that runs, or when that began.
func (l *lane) heard() time.Time { return time.Unix(0, l.sign.Load()) }

// wants says that the lane is to have a turn before a moment passes.
func (l *lane) wants(before time.Time) bool {
	return !l.gone && (l.ready || !l.wake.IsZero() && !l.wake.After(before))
}

// due is when the next turn may begin; zero: none is wanted before a moment passes.
func (l *lane) due(before time.Time) time.Time {
	switch {
	case !l.wants(before):
		return time.Time{}
	case l.ready || l.wake.Before(l.quiet):
		return later(l.quiet, time.Unix(1, 0))
	}
	return l.wake
}

// repairs is when a turn about keys that moved may begin; zero: there is none to take.
func (l *lane) repairs() time.Time {
	if len(l.keys) == 0 || !l.still || l.gone {
		return time.Time{}
	}
	return later(l.hush, time.Unix(1, 0))
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// fail counts a turn that began then and whose writes all failed. A neighbour may have one begin before the pause after the last
// is over: that proves nothing more, and the pause stays as it is.
func (l *lane) fail(began time.Time) {
	if began.Before(l.pause) {
		return
	}
	l.fails++
	l.pause = time.Now().Add(again)
}

// stuck says that a cluster gets no more turns in this pass.
func (t *term) stuck(l *lane) bool { return l.fails >= maxFails || l.turns >= t.maxTurns() }

func (t *term) maxTurns() int { return maxTurns + turnsPerPeer*len(t.lanes) }

// lane gives the lane of a declared cluster; nil: there is none.
func (t *term) lane(name api.ClusterName) *lane {
	if l := t.lanes[name]; l != nil && !l.gone {
		return l
	}
	return nil
}

// want makes a cluster ready, unless it gets no more turns.
func (t *term) want(name api.ClusterName) {
	if l := t.lane(name); l != nil && !t.stuck(l) {
		l.ready = true
	}
}
