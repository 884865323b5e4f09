package sync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// watched is what moves in clusters; nobody tells it.
type watched map[api.ClusterName]object.Moves

func (watched) Moved() <-chan struct{} { return nil }

func (w watched) Take() map[api.ClusterName]object.Moves { return w }

// atRest is a term between two passes over clusters in which nothing is left to do.
func atRest(names ...api.ClusterName) *term {
	l := &Loop{Changes: watched{}}
	b := newBoard(l, 1)
	b.fleet = &fleet.Fleet{}
	b.good = b.fleet
	t := &term{loop: l, board: b, lanes: map[api.ClusterName]*lane{}, open: true, ended: make(chan *turn)}
	for _, name := range names {
		b.table[name] = &report.Cluster{Name: name}
		b.sides.set(name, pair.Side{Known: true})
	}
	now, _ := b.view(b.epoch)
	for _, name := range names {
		s := plan.Step{Cluster: name}
		t.lanes[name] = &lane{cluster: fleet.Cluster{Name: name}, still: true, step: s, basis: now.basis(s), cut: func() {}}
	}
	t.arrange()
	return t
}

func (b *board) viewed(t *testing.T) view {
	t.Helper()
	v, ok := b.view(b.now())
	if !ok {
		t.Fatal("nothing is in force")
	}
	return v
}

var probeEnd = object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}

// tookBack is a turn about all of west that wrote a probe, and whether it did nothing but restore.
func tookBack(t *term, restores bool, code string) *turn {
	c := object.Change{End: probeEnd, Action: object.Update, Key: probe, Why: object.Reason{Code: code}}
	return &turn{
		loop: t.loop, board: t.board, lane: t.lanes["west"], cluster: t.lanes["west"].cluster, restores: restores,
		step:     plan.Step{Cluster: "west", Changes: []object.Change{c}, Rows: []plan.Row{{End: probeEnd, Standing: plan.Changing}}},
		outcomes: []object.Outcome{{Change: c}}, planned: time.Second, moves: t.board.moves,
	}
}

// A whole turn that only took back drift leaves nothing to do but to look at what it wrote, which a turn about keys does; it
// counts as corrections, and its rows are told as in place. Any other that wrote is followed by another one.
func TestTakenBackIsLookedAtAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		restores bool
		err      error
		want     bool
	}{
		"drift":                 {true, nil, true},
		"more than that":        {false, nil, false},
		"drift, and one failed": {true, errSkipped, false},
	} {
		term := atRest("west")
		l, u := term.lanes["west"], tookBack(term, tt.restores, "Drift")
		u.outcomes[0].Err = tt.err
		l.running = true
		term.end(u)
		if got := l.still && !l.ready && l.wake.IsZero(); got != tt.want {
			t.Errorf("%s: still %v, ready %v, wakes %v", name, l.still, l.ready, l.wake)
		}
		if tt.err == nil && len(term.board.corrected["west"]) != 1 {
			t.Errorf("%s: it is no correction", name)
		}
		if !tt.want {
			continue
		}
		if l.repairs().IsZero() || len(l.keys) != 1 || l.keys[0] != probe || l.turns > 0 {
			t.Errorf("%s: %v are looked at from %v, after %d turns that wrote", name, l.keys, l.repairs(), l.turns)
		}
		if !l.quiet.After(time.Now()) {
			t.Errorf("%s: the next whole plan may follow at once", name)
		}
		if row := term.board.table["west"].Step.Rows[0]; row.Standing != plan.InPlace || term.over(false) {
			t.Errorf("%s: %s; over %v before anybody looked", name, row.Standing, term.over(false))
		}
		if term.end(&turn{loop: term.loop, board: term.board, lane: l, cluster: l.cluster, drifts: true}); !term.over(false) {
			t.Errorf("%s: not over once it was looked at", name)
		}
	}
}

// A pass neither looks at the whole of a cluster because a turn about keys runs in it, nor ends before the whole was looked at
// where that is wanted.
func TestPassesBesideDrift(t *testing.T) {
	term := atRest("west")
	l := term.lanes["west"]
	l.running, l.drifts, l.keys = true, true, []object.Key{probe}
	l.hear()
	if now := term.board.viewed(t); !term.settled(l, now) || !term.over(false) {
		t.Errorf("settled %v, over %v", term.settled(l, now), term.over(false))
	}
	if term.excuse(); term.board.table["west"].Step.Refused != nil {
		t.Errorf("it is told that west does not answer: %v", term.board.table["west"].Step.Refused)
	}
	if l.ready = true; term.over(false) {
		t.Error("the pass ends although the whole is wanted")
	}
	term.grace, term.answered = grace, true
	l.sign.Store(time.Now().Add(-time.Minute).UnixNano())
	if !term.over(false) {
		t.Error("the pass waits for a cluster that does not answer")
	}
	if term.excuse(); term.board.table["west"].Step.Refused == nil {
		t.Error("nobody is told that west does not answer")
	}
	term.number++
	term.end(&turn{loop: term.loop, board: term.board, lane: l, cluster: l.cluster, drifts: true})
	if why := term.board.table["west"].Step.Refused; why != nil {
		t.Errorf("it answers again, and it is told: %v", why)
	}
}

// Where a pass ended before a cluster had its turn, what drifts there is taken back all the same, and the first move has the
// turn made up for.
func TestOwedTurns(t *testing.T) {
	term := atRest("west")
	l := term.lanes["west"]
	l.ready = true
	term.excuse()
	term.loop.Changes = watched{"west": {Keys: []object.Key{probe}}}
	if term.take(); l.repairs().IsZero() || !l.ready {
		t.Errorf("keys %v, ready %v", l.keys, l.ready)
	}
}

// A cluster that gets no more turns in this pass gets none for what moves in it either, until the next pass begins.
func TestStuckUntilTheNextPass(t *testing.T) {
	for name, stuck := range map[string]func(*lane){
		"writes fail":    func(l *lane) { l.fails = maxFails },
		"too many turns": func(l *lane) { l.turns = maxTurns + turnsPerPeer },
	} {
		term := atRest("west")
		l := term.lanes["west"]
		l.still = false
		stuck(l)
		term.loop.Changes = watched{"west": {Keys: []object.Key{probe}}}
		if term.take(); l.ready || !l.repairs().IsZero() {
			t.Errorf("%s: ready %v, keys %v", name, l.ready, l.keys)
		}
		l.running = true
		term.take()
		failed := tookBack(term, false, "Drift")
		failed.outcomes[0].Err = errSkipped
		if term.end(failed); !term.over(false) {
			t.Errorf("%s: the pass goes on for what moved during the last turn: ready %v, keys %v", name, l.ready, l.keys)
		}
		l.begin(l.cluster, true)
		if term.take(); !l.ready {
			t.Errorf("%s: in the next pass it is not looked at", name)
		}
	}
}

// keptAll says that nothing was deleted since requests were asked for last.
func (r *rig) keptAll() {
	r.t.Helper()
	for _, q := range memcluster.Written(r.asked()) {
		if strings.Contains(q, "delete") {
			r.t.Errorf("it asked %s", q)
		}
	}
}

// While others edit one object after the other, faster than writes come to an end, a cluster is planned whole only when
// something asks for that: a connection that was lost, or a commit, whose pass ends with all of it done.
func TestSteadyEdits(t *testing.T) {
	turns(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.clean(30*time.Second, 12)
		r.Cluster("west").Fault(func(f *memcluster.Faults) { f.Slow = 50 * time.Millisecond })
		keys, i := r.ours("west"), 0
		edits := func(n int) {
			for range n {
				r.edit("west", keys[i%len(keys)], i)
				time.Sleep(20 * time.Millisecond)
				i++
			}
		}
		r.asked()
		r.wholly("west")
		third := len(keys) * often / 3
		edits(third)
		if n := r.wholly("west"); n > 0 {
			t.Errorf("planned whole %d times while single objects were edited", n)
		}
		r.Cluster("west").Fault(func(f *memcluster.Faults) { f.Down = true })
		r.Cluster("west").Fault(func(f *memcluster.Faults) { f.Down = false })
		edits(third)
		if n := r.wholly("west"); n != 1 {
			t.Errorf("planned whole %d times after the connection was lost once", n)
		}
		r.told()
		r.declare("c2", rigMesh)
		edits(third)
		if n := r.wholly("west"); n < 1 || n > 2 {
			t.Errorf("planned whole %d times for a commit", n)
		}
		time.Sleep(2 * time.Second)
		for _, p := range r.told() {
			if p.Commit == "c2" && p.Counts().InPlace != 12 {
				t.Errorf("the pass ended early: %+v %s", p.Counts(), rows(p))
			}
		}
		r.keptAll()
		r.clean(2*time.Minute, 12)
		if got := r.wholly("west"); got > 1 {
			t.Errorf("planned whole %d times afterwards", got)
		}
	})
}

// Those who wait for a cluster have a turn after one about keys in it only where that shows something else.
func TestWhomDriftWakes(t *testing.T) {
	for _, moved := range []bool{false, true} {
		term := atRest("west", "east")
		term.board.waiting["east"] = []api.ClusterName{"west"}
		l, east := term.lanes["west"], term.lanes["east"]
		term.end(&turn{loop: term.loop, board: term.board, lane: l, cluster: l.cluster, drifts: true, first: true, moved: moved})
		if east.ready != moved || term.over(false) == moved {
			t.Errorf("moved %v: east has a turn %v, and the pass is over %v", moved, east.ready, term.over(false))
		}
	}
}

// What moved is looked at, although the cluster was read just before, or could not be written to.
func TestNoMoveIsLost(t *testing.T) {
	term := atRest("west")
	l := term.lanes["west"]
	l.still, l.fresh, l.ready = false, true, true
	term.loop.Changes = watched{"west": {Keys: []object.Key{probe}}}
	if term.take(); l.fresh {
		t.Error("a cluster in which something moved need not be read")
	}
	term = atRest("west")
	l = term.lanes["west"]
	u := tookBack(term, false, "Drift")
	u.drifts, u.outcomes, u.step.Refused = true, nil, &object.Reason{Code: "Gone"}
	if term.end(u); !l.ready {
		t.Error("a repair that found no connection is taken for done")
	}
}

// A daemon that only observes tells what drifted as long as it is so.
func TestObservedDrift(t *testing.T) {
	single(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.once(12)
		l := r.loop()
		l.Changes, l.ReadOnly = r, true
		stop := r.run(l)
		defer stop()
		r.clean(10*time.Second, 12)
		r.edit("west", probe, 1)
		for _, after := range []time.Duration{2 * time.Second, 2 * time.Minute} {
			time.Sleep(after)
			all := r.told()
			if len(all) == 0 {
				t.Fatalf("nothing is told %v later", after)
			}
			if c := all[len(all)-1].Counts(); c.InPlace != 11 || c.Changing != 1 {
				t.Errorf("%v later: %+v", after, c)
			}
		}
	})
}

// While others overwrite whole objects, without our digest, a pass over a new commit ends as it does beside single edits.
func TestSteadyOverwriting(t *testing.T) {
	turns(t, memcluster.Options{}, rigMesh, func(r *rig) {
		r.clean(30*time.Second, 12)
		west, keys := r.Cluster("west"), r.ours("west")
		west.Fault(func(f *memcluster.Faults) { f.Slow = 50 * time.Millisecond })
		r.wholly("west")
		r.declare("c2", rigMesh)
		for i := range 300 {
			if err := west.Edit("hand", keys[i%len(keys)], func(c map[string]any) {
				m := c["metadata"].(map[string]any) //nolint:forcetypeassert // ours
				m["annotations"] = map[string]any{"by": fmt.Sprint(i)}
			}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if n := r.wholly("west"); n > 2 {
			t.Errorf("planned whole %d times for a commit", n)
		}
		if all := r.told(); len(all) == 0 || all[0].Commit != "c2" || all[0].Between || all[0].Took > time.Second {
			t.Errorf("the pass over it did not end within a second: %d reports", len(all))
		}
		r.keptAll()
	})
}

// A cluster whose neighbour was read while its own step was planned has another turn: the neighbour could not know yet that the step waits
// for it, since nothing declares their link any more.
func TestOutdatedStepIsPlannedAgain(t *testing.T) {
	for _, outdated := range []bool{false, true} {
		term := atRest("west")
		u := tookBack(term, true, "Drift")
		u.step.Changes, u.outcomes = nil, nil
		if outdated {
			term.board.moves++
			term.board.shown.set("east", shown{moved: term.board.moves})
		}
		if term.end(u); term.lanes["west"].ready != outdated {
			t.Errorf("outdated %t: ready %t", outdated, term.lanes["west"].ready)
		}
	}
}
