package sync

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/store"
)

// watched is what moves in clusters; nobody tells it.
type watched map[api.ClusterName]object.ChangedKeys

func (watched) Moved() <-chan struct{} { return nil }

func (w watched) Take() map[api.ClusterName]object.ChangedKeys { return w }

// atRest returns an engine between two syncs over clusters in which nothing is left to do. It takes nothing from its queue.
func atRest(names ...api.ClusterName) *engine {
	l := &Loop{Changes: watched{}}
	e := newEngine(l, 1)
	f := &fleet.Fleet{}
	for _, name := range names {
		f.Clusters = append(f.Clusters, fleet.Cluster{Name: name})
	}
	e.store.Enter(f, inventory.Record{})
	e.store.Apply(f)
	e.mode = openClusters
	for _, name := range names {
		e.store.PutCluster(name, state.Cluster{Reading: state.Read}, e.store.Declared.Epoch())
	}
	now, _ := e.store.View(e.store.Declared.Epoch())
	for _, name := range names {
		s := plan.Step{Cluster: name}
		e.workers[name] = &worker{cluster: fleet.Cluster{Name: name}, last: last{step: s, basis: now.Basis(s), state: finished}}
	}
	return e
}

// isDue reports whether a reconcile is wanted now.
func (w *worker) isDue() bool { return past(w.due, time.Now()) }

// runs has a reconcile of a cluster under way.
func (e *engine) runs(name api.ClusterName, pending bool) *reconcile {
	w := e.workers[name]
	w.schedule = schedule{}
	w.run = &run{round: e.round.number, pending: pending, cut: func(error) {}}
	w.run.noteAnswer()
	t := task{began: time.Now(), epoch: e.store.Declared.Epoch()}
	return &reconcile{reader: reader{shared: e.shared, cluster: w.cluster, round: e.round.number, mode: byWatches}, run: w.run, task: t, result: result{stage: planned, moves: e.viewed().Moves}}
}

// viewed returns a view that is never given back.
func (e *engine) viewed() store.View {
	v, ok := e.store.View(e.store.Declared.Epoch())
	if !ok {
		panic("nothing is in force")
	}
	return v
}

// row returns what is reported of a cluster.
func (e *engine) row(name api.ClusterName) plan.Step {
	r, _ := e.store.SoFar(-1)
	i := slices.IndexFunc(r.Clusters, func(c report.Cluster) bool { return c.Name == name })
	return r.Clusters[i].Step
}

var probeEnd = object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}

// wrote has a reconcile of west under way that wrote a probe, for a reason.
func wrote(e *engine, code reason.Code, err error) *reconcile {
	r := e.runs("west", true)
	c := object.Change{End: probeEnd, Action: object.Update, Key: probe, Why: object.Reason{Code: code}}
	r.step = plan.Step{Cluster: "west", Changes: []object.Change{c}, Rows: []plan.Row{{End: probeEnd, Other: "east", Phase: plan.Changing}}}
	r.outcomes, r.took.plan = []object.Outcome{{Change: c, Err: err}}, time.Second
	return r
}

// A reconcile that only repaired is followed by one read of what it wrote, which a round waits for; it counts as a correction, its rows are reported as
// in place, and it is none of the writes that end in a conflict. A second one in a row keeps no round waiting: others would keep it open for as long
// as they change objects. Any other that wrote is followed by one that the round waits for.
func TestRepairsAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		code  reason.Code
		err   error
		state lastState
	}{
		"drift":                 {"Drift", nil, repaired},
		"more than that":        {"Desired", nil, unfinished},
		"drift, and one failed": {"Drift", apply.ErrSkipped, unfinished},
	} {
		e := atRest("west")
		w := e.workers["west"]
		e.end(t.Context(), wrote(e, tt.code, tt.err))
		if w.last.state != tt.state || !w.pending || e.roundOver() {
			t.Errorf("%s: %s, pending %v, over %v", name, w.last.state, w.pending, e.roundOver())
		}
		again := object.Outcome{Change: object.Change{Action: object.Update, Key: probe, Why: object.Reason{Code: reason.Drift}}}
		e.store.Correct("west", slices.Repeat([]object.Outcome{again}, store.MaxCorrections), nil)
		if counted := len(e.store.Snapshot().Contested["west"]) == 1; counted != (tt.code == "Drift" && tt.err == nil) {
			t.Errorf("%s: counted as a correction: %v", name, counted)
		}
		if tt.state != repaired {
			continue
		}
		if row := e.row("west").Rows[0]; row.Phase != plan.Ready || w.writes > 0 {
			t.Errorf("%s: told as %s, after %d reconciles that wrote", name, row.Phase, w.writes)
		}
		if at := w.nextStart(); !at.After(time.Now()) || at.After(time.Now().Add(coalesce)) {
			t.Errorf("%s: the next look begins in %v", name, time.Until(at))
		}
		e.end(t.Context(), wrote(e, tt.code, nil))
		if !w.isDue() || w.pending || !e.roundOver() {
			t.Errorf("%s twice: due %v, pending %v, over %v", name, w.isDue(), w.pending, e.roundOver())
		}
	}
}

// A round does not wait for a reconcile that watches ask for while it goes on, but for one that was asked for; and for none of a cluster
// that does not answer, which it tells of.
func TestRoundsBesideDrift(t *testing.T) {
	e := atRest("west")
	w := e.workers["west"]
	r := e.runs("west", false)
	if !e.roundOver() {
		t.Error("the round waits for a reconcile that only a watch asked for")
	}
	w.run.pending = true
	if e.roundOver() {
		t.Error("the round ends although it waits for the cluster")
	}
	e.patience, e.round.answered = unresponsiveTimeout, true
	w.run.lastAnswerAt.Store(time.Now().Add(-time.Minute).UnixNano())
	if !e.roundOver() {
		t.Error("the round waits for a cluster that does not answer")
	}
	if _ = e.closeRound(); e.row("west").Denied == nil {
		t.Error("nobody is told that west does not answer")
	}
	r.step = plan.Step{Cluster: "west"}
	e.end(t.Context(), r)
	if why := e.row("west").Denied; why != nil {
		t.Errorf("it answers again, and it is told: %v", why)
	}
}

// A cluster that gets no more reconciles in this round gets none for what moves in it either, until the next round begins.
func TestExhaustedUntilTheNextRound(t *testing.T) {
	for name, exhaust := range map[string]func(*worker){
		"writes fail":     func(w *worker) { w.fails = maxFails },
		"too many writes": func(w *worker) { w.writes = maxWrites + writesPerPeer },
	} {
		e := atRest("west")
		w := e.workers["west"]
		w.last.state = unfinished
		exhaust(w)
		e.loop.Changes = watched{"west": {Keys: []object.Key{probe}}}
		if e.takeChanges(); w.isDue() {
			t.Errorf("%s: it is reconciled for what moves", name)
		}
		failed := wrote(e, "Drift", apply.ErrSkipped)
		if e.takeChanges(); w.isDue() {
			t.Errorf("%s: it is reconciled for what moves meanwhile", name)
		}
		if e.end(t.Context(), failed); !e.roundOver() {
			t.Errorf("%s: the round goes on for what moved during the last reconcile", name)
		}
		if now := e.viewed(); w.settled(now) {
			t.Errorf("%s: the next round passes it over", name)
		}
		w.begin()
		if e.takeChanges(); !w.isDue() {
			t.Errorf("%s: in the next round it is not looked at", name)
		}
	}
}

// keptAll says that nothing was deleted since requests were asked for last.
func (r *memoryEnv) keptAll() {
	r.t.Helper()
	for _, q := range memcluster.Written(r.asked()) {
		if strings.Contains(q, "delete") {
			r.t.Errorf("it asked %s", q)
		}
	}
}

// While others edit one object after the other, faster than writes come to an end, a commit is applied all the same, and its round ends
// with all of it done.
func TestSteadyEdits(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
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
		third := len(keys) * store.MaxCorrections / 3
		r.asked()
		r.wholly("west")
		edits(third)
		if n, most := r.wholly("west"), third*20/50+2; n > most {
			t.Errorf("planned %d times within %d ms", n, third*20)
		}
		r.reported()
		r.declare("c2", memoryMesh)
		edits(third)
		time.Sleep(2 * time.Second)
		for _, p := range r.reported() {
			if p.Commit == "c2" && p.Counts().Ready != 12 {
				t.Errorf("the round ended early: %+v %s", p.Counts(), rows(p))
			}
		}
		r.keptAll()
		r.clean(2*time.Minute, 12)
	})
}

// Those who wait for a cluster are reconciled after it if it shows something else, or is read for the first time in a round.
func TestReconcileRequestsPeers(t *testing.T) {
	for _, tt := range []struct{ moved, done, want bool }{{false, true, false}, {true, true, true}, {false, false, true}} {
		e := atRest("west", "east")
		e.store.Results.SetStep("east", plan.Step{Cluster: "east", ReadFirst: []api.ClusterName{"west"}})
		e.workers["west"].done = tt.done
		r := e.runs("west", false)
		r.moved, r.step = tt.moved, plan.Step{Cluster: "west"}
		e.end(t.Context(), r)
		if east := e.workers["east"]; east.isDue() != tt.want || e.roundOver() == tt.want {
			t.Errorf("moved %v, not the first %v: east is due %v, and the round is over %v", tt.moved, tt.done, east.isDue(), e.roundOver())
		}
	}
}

// What moved is read, although the cluster was read just before. What is linkwright's is read at once, and all else when the cluster had its rest.
func TestNoChangeIsLost(t *testing.T) {
	other := object.Key{Kind: "Endpoints", Namespace: "shop", Name: "web-east"}
	for _, k := range []object.Key{probe, other} {
		e := atRest("west")
		o := object.Object{Key: probe}
		edit := object.Observation{}.Edit()
		edit.Put(probe, object.Record{UID: "1", Mark: object.Ours}, o.Body)
		e.store.PutCluster("west", state.Cluster{Reading: state.Read, Live: edit.Observation()}, e.store.Declared.Epoch())
		w := e.workers["west"]
		w.read, w.ended, w.rest = current, time.Now(), time.Now().Add(time.Minute)
		e.loop.Changes = watched{"west": {Keys: []object.Key{k}}}
		if e.takeChanges(); w.read == current || !w.isDue() {
			t.Errorf("%s: read %q, due %v", k, w.read, w.isDue())
		}
		if got, ours := time.Until(w.nextStart()) <= coalesce, k == probe; got != ours {
			t.Errorf("%s: looked at in %v", k, time.Until(w.nextStart()))
		}
	}
}

// A daemon that only observes tells what drifted as long as it is so.
func TestObservedDrift(t *testing.T) {
	single(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.once(12)
		l := r.loop()
		l.Changes, l.ReadOnly = r, true
		stop := r.run(l)
		defer stop()
		r.clean(10*time.Second, 12)
		r.edit("west", probe, 1)
		for _, after := range []time.Duration{2 * time.Second, 2 * time.Minute} {
			time.Sleep(after)
			all := r.reported()
			if len(all) == 0 {
				t.Fatalf("nothing is told %v later", after)
			}
			if c := all[len(all)-1].Counts(); c.Ready != 11 || c.Changing != 1 {
				t.Errorf("%v later: %+v", after, c)
			}
		}
	})
}

// While others overwrite whole objects, without linkwright's digest, a sync over a new commit ends as it does beside single edits.
func TestSteadyOverwriting(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		west, keys := r.Cluster("west"), r.ours("west")
		west.Fault(func(f *memcluster.Faults) { f.Slow = 50 * time.Millisecond })
		r.wholly("west")
		r.declare("c2", memoryMesh)
		for i := range 300 {
			if err := west.Edit("hand", keys[i%len(keys)], func(c map[string]any) {
				m := c["metadata"].(map[string]any) //nolint:forcetypeassert // ours
				m["annotations"] = map[string]any{"by": fmt.Sprint(i)}
			}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if all := r.reported(); len(all) == 0 || all[0].Commit != "c2" || all[0].When != report.AtEnd || all[0].Took > time.Second {
			t.Errorf("the pass over it did not end within a second: %d reports", len(all))
		}
		r.keptAll()
	})
}

// A cluster whose neighbour was read while its own step was planned is reconciled again: the neighbour could not know yet that the step waits for
// it, since nothing declares their link any more.
func TestOutdatedStepIsPlannedAgain(t *testing.T) {
	for _, outdated := range []bool{false, true} {
		e := atRest("west")
		r := wrote(e, "Drift", nil)
		r.step.Changes, r.outcomes = nil, nil
		if outdated {
			e.store.PutCluster("east", state.Cluster{Reading: state.Read, Facts: linkerd.Facts{UID: "another"}}, e.store.Declared.Epoch())
		}
		if e.end(t.Context(), r); e.workers["west"].isDue() != outdated {
			t.Errorf("outdated %t: due %t", outdated, e.workers["west"].isDue())
		}
	}
}
