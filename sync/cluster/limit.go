package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// How wide writes go to one cluster.
const (
	firstWide = 16
	mostWide  = 64
	// So many of the writes under way may wait in the server rather than be worked on: with fewer it is idle at times and
	// each costs it more, with more each only waits longer.
	fewWait, manyWait = 24, 40
	// A server that takes twice as long as if it worked on all of them one after another has slowed down, however few they are;
	// leastWide still go to one that does no more than that.
	slower, leastWide = 2, 4
	// bestFor is how long at least a best time is believed: what slows a cluster for longer is its new normal.
	bestFor = 5 * time.Minute
)

// limit says how many writes of a cluster may be under way, from how the last ones were answered. It is a value that
// never asks the clock.
//
//	answers                                                         wide
//	429, 503, 504, or none                                          half, once for all that were under way
//	against the best seen, more than manyWait of them were waiting  an eighth less
//	or each took as long as slower times all of them in turn        the same, but not below leastWide
//	fewer than fewWait were, and every turn was in use              an eighth more
//
// The best is kept for each kind, since a Deployment costs a server more than a ServiceAccount.
type limit struct {
	wide int
	shut time.Time // nobody sends before it
	cut  time.Time // what was sent before it tells nothing of the width since
	best map[schema.GroupKind]best

	// The answers since the last adjustment.
	seen       int
	work, took time.Duration // how long they would have taken at best, and did
	full       bool          // every turn was in use
}

// best is the shortest time of a write in this span of bestFor, and in the one before.
type best struct {
	since     time.Time
	now, past time.Duration
}

// fate is what became of one request.
type fate uint8

const (
	answered fate = iota
	overload      // the server is too busy, or gave no answer
	ended         // by us: it tells nothing
)

// sent is one write that came back.
type sent struct {
	kind         schema.GroupKind
	begun, ended time.Time
	fate         fate
	shut         time.Duration // how long the server asks to be left alone
	full         bool          // every turn was in use
}

func newLimit() limit { return limit{wide: firstWide, best: map[schema.GroupKind]best{}} }

// learn takes one answer into account.
func (l *limit) learn(s sent) {
	if until := s.ended.Add(s.shut); s.shut > 0 && until.After(l.shut) {
		l.shut = until
	}
	switch {
	case s.begun.Before(l.cut):
	case s.fate == overload:
		l.wide, l.cut = max(1, l.wide/2), s.ended
		l.begin()
	case s.fate == answered:
		l.note(s)
	}
}

func (l *limit) begin() { l.seen, l.work, l.took, l.full = 0, 0, 0, false }

// note adjusts after as many answers as may be under way.
func (l *limit) note(s sent) {
	took := max(s.ended.Sub(s.begun), 1)
	b := l.best[s.kind].with(took, s.ended)
	l.best[s.kind] = b
	l.seen++
	l.work += b.shortest()
	l.took += took
	l.full = l.full || s.full
	if l.seen >= l.wide {
		l.adjust()
	}
}

func (l *limit) adjust() {
	waiting := float64(l.wide) * (1 - float64(l.work)/float64(l.took)) // Little's law
	step := max(1, l.wide/8)
	switch {
	case l.took > slower*time.Duration(l.wide)*l.work:
		l.wide = min(l.wide, max(leastWide, l.wide-step)) // overload may have made it narrower
	case waiting > manyWait:
		l.wide -= step
	case waiting < fewWait && l.full:
		l.wide = min(mostWide, l.wide+step)
	}
	l.begin()
}

func (b best) with(took time.Duration, now time.Time) best {
	if now.Sub(b.since) >= bestFor {
		return best{since: now, now: took, past: b.now}
	}
	b.now = min(b.now, took)
	return b
}

func (b best) shortest() time.Duration {
	if b.past == 0 {
		return b.now
	}
	return min(b.now, b.past)
}
