package sync

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/report"
)

const (
	// Turns that wrote, of one cluster in one pass: who still writes then fights with somebody. Tokens of other
	// clusters may come one by one, so each adds some.
	maxTurns, turnsPerPeer = 60, 2

	maxFails = 3           // turns with a failed write, before the next pass tries again
	again    = time.Second // after a turn whose writes all failed
	// Between two looks at what does not come; each look in vain doubles the time.
	hasty, patient, doublings = 100 * time.Millisecond, 10 * time.Second, 7
	// calm is how long a cluster has no turn after one that wrote nothing, in times of what that took to plan.
	calm = 9
	// grace is how long a daemon waits for a cluster that does not answer while others do.
	grace = 2 * time.Second
)

// term is one period of leadership: what is known in it, and a lane for each cluster. All but the board belongs to the
// goroutine that calls its methods; turns run in goroutines of their own, and tell what became of them.
type term struct {
	loop    *Loop
	board   *board
	publish func(report.Report, error) // nil: nobody hears of what is done between passes
	lanes   map[api.ClusterName]*lane
	order   []*lane // all lanes, as they are asked after each turn
	ended   chan *turn
	tries   tries
	noting  noting
	grace   time.Duration // for clusters that do not answer while others do; zero: all are waited for

	warned bool // of what is to be given up, and nobody knows

	open    bool          // some fleet is in force: there may be turns
	last    report.Report // without its clusters
	trouble error         // of the last pass: it is over with a pass, not between two
	said    time.Time     // when something was published last
	news    bool          // something was done since, or stands otherwise

	// Of the pass.
	passing  bool
	number   int
	deadline time.Time // for what must be waited for
	answered bool      // by any cluster
	slowest  time.Duration
	failed   error // of the home record: nothing is written without it
}

func newTerm(l *Loop, number int64) *term {
	return &term{loop: l, board: newBoard(l, number), lanes: map[api.ClusterName]*lane{}, ended: make(chan *turn), tries: newTries()}
}

// begin begins a pass over the declared clusters. A lane of a cluster that is declared no more ends with its turn.
func (t *term) begin() {
	t.number, t.deadline = t.board.begin(), time.Now().Add(t.loop.Patience)
	t.answered, t.slowest, t.failed = false, 0, nil
	declared := map[api.ClusterName]fleet.Cluster{}
	for _, c := range t.board.clusters() {
		declared[c.Name] = c
		if t.lanes[c.Name] == nil {
			t.lanes[c.Name] = &lane{}
		}
	}
	for name, l := range t.lanes {
		c, ok := declared[name]
		if !ok && !l.running {
			delete(t.lanes, name)
		}
		l.begin(c, ok)
	}
	t.arrange()
}

// arrange puts all lanes in order.
func (t *term) arrange() {
	t.order = slices.SortedFunc(maps.Values(t.lanes), func(a, b *lane) int { return cmp.Compare(a.cluster.Name, b.cluster.Name) })
}

// run makes a pass: a turn for each cluster that is not settled, and more while there is something to do. It ends when
// nothing is ready or runs, and nothing is due that there is patience for; told to stop, or when there are news, once the turns
// under way have ended. Of every cluster that is not settled at least one turn is under way then.
func (t *term) run(ctx context.Context, news <-chan struct{}) error {
	now, _ := t.board.view(t.board.now())
	for _, l := range t.order {
		switch {
		case l.gone:
		case t.settled(l, now):
			t.answered = true
			t.board.tell(l.cluster.Name, l.step)
		default:
			l.ready = true
		}
	}
	t.board.done(now)
	t.passing = true
	t.serve(ctx, news, time.Time{}, t.over)
	t.passing = false
	t.excuse()
	t.number = t.board.begin() // what was read in it is as old as it
	return errors.Join(t.failed, ctx.Err())
}

// settled says that a turn would change nothing: the last one left nothing to do, and all it was planned from is as it was. A
// turn about keys is not asked: what others keep changing does not have the whole looked at in every pass.
func (t *term) settled(l *lane, now view) bool {
	return t.loop.Changes != nil && l.still && !l.owes && (!l.running || l.drifts) && !l.ready && now.Sides[l.cluster.Name].Known &&
		!past(l.step.Next, now.Now) && !past(l.step.Retry, now.Now) && now.basis(l.step) == l.basis
}

// past says that a moment has come; a zero one never does.
func past(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// excuse tells of clusters that do not answer that nobody knows how they are. What was waited for in vain is for the next pass;
// also what moved and was not looked at, since nobody tells that again.
func (t *term) excuse() {
	for _, l := range t.order {
		l.owes = l.owes || l.ready
		l.ready, l.wake = false, time.Time{}
		l.asked, l.awaits = false, nil
		if l.running && !l.gone && (!l.drifts || t.straggles(l)) {
			t.board.refuse(l.cluster.Name, silent(l))
		}
	}
}

// serve lets lanes have their turns until over, which is asked at latest at a moment (zero: none), says that it is enough.
// Told to stop it begins no more of them.
func (t *term) serve(ctx context.Context, news <-chan struct{}, latest time.Time, over func(stopped bool) bool) {
	overtaken := false
	for {
		stopped := overtaken || t.passing && t.failed != nil || ctx.Err() != nil
		if !stopped {
			t.start(ctx)
			t.try(ctx)
		}
		t.tell()
		if over(stopped) {
			return
		}
		select {
		case u := <-t.ended:
			t.end(u)
			t.more()
		case r := <-t.tries.ended:
			t.judge(r)
		case <-t.moved():
			t.take()
		case <-t.alarm(stopped, latest):
		case <-news:
			overtaken, news = true, nil
		case <-until(ctx, stopped):
		}
	}
}

// more takes over the turns that have ended, too: after each look at all lanes mostly some have.
func (t *term) more() {
	for {
		select {
		case u := <-t.ended:
			t.end(u)
		default:
			return
		}
	}
}

// until is when ctx ends, for who does not know yet.
func until(ctx context.Context, known bool) <-chan struct{} {
	if known {
		return nil
	}
	return ctx.Done()
}

// moved is told when something moved in clusters that are watched.
func (t *term) moved() <-chan struct{} {
	if t.loop.Changes == nil {
		return nil
	}
	return t.loop.Changes.Moved()
}

// over says that a pass is.
func (t *term) over(stopped bool) bool {
	for _, l := range t.order {
		if t.busy(l, stopped) {
			return false
		}
	}
	return stopped || !t.awaitsTries()
}

// busy says that a pass waits for a lane: for a turn about all of its cluster, under way or wanted, and for the first look at
// what that has written. Not for turns about keys: while others go on changing objects, they follow each other.
func (t *term) busy(l *lane, stopped bool) bool {
	switch {
	case l.running && t.straggles(l):
		return false
	case l.running && !l.drifts:
		return true
	}
	return !stopped && t.open && (l.wants(t.deadline) || l.unseen && !l.gone)
}

// alarm is when somebody is to be looked at again although nothing was told.
func (t *term) alarm(stopped bool, latest time.Time) <-chan time.Time {
	first, now := latest, time.Now()
	for _, l := range t.order {
		switch {
		case l.running && t.passing:
			if at := t.straggling(l); now.Before(at) {
				first = soonest(first, at)
			}
		case l.running:
		case !stopped && t.open:
			first = soonest(first, soonest(l.due(t.deadline), l.repairs()))
		}
	}
	if t.passing && !stopped {
		first = soonest(first, t.triesUntil())
	}
	if first = soonest(first, t.due()); first.IsZero() {
		return nil
	}
	return time.After(time.Until(first))
}

// soonest is the first of two moments, of which a zero one never comes.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// straggling is when a lane that runs counts as one that does not answer; zero: never.
func (t *term) straggling(l *lane) time.Time {
	if t.grace == 0 || !t.answered {
		return time.Time{}
	}
	return l.heard().Add(max(t.grace, 3*t.slowest))
}

func (t *term) straggles(l *lane) bool {
	at := t.straggling(l)
	return !at.IsZero() && !time.Now().Before(at)
}

// close ends the term: turns under way end, and are told.
func (t *term) close() {
	t.cut()
	t.endTries()
	for _, l := range t.lanes {
		for l.running {
			t.end(<-t.ended)
		}
	}
}

// cut has turns under way begin nothing more.
func (t *term) cut() {
	for _, l := range t.lanes {
		if l.running {
			l.short = true
			l.cut()
		}
	}
}
