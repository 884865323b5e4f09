package sync

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// A cluster that was to be read by requests, and was not in that round, is asked again, and holds nobody up.
func TestRequestsEndWithTheirRound(t *testing.T) {
	e := atRest("asked", "waits")
	asked, waits := e.workers["asked"], e.workers["waits"]
	waits.awaits = map[*worker]bool{asked: true}
	if e.round.number = 1; !asked.requests(e.round.number) || asked.since != 1 {
		t.Fatalf("asked in round %d", asked.since)
	}
	if err := e.closeRound(); err != nil {
		t.Fatal(err)
	}
	e.round.number = 2
	if !asked.requests(e.round.number) || asked.since != 2 || len(waits.awaits) > 0 {
		t.Errorf("asked in round %d, %d are waited for", asked.since, len(waits.awaits))
	}
}

// A step that decides about a deletion names clusters: it is planned again once all of them were read by requests, and not before.
func TestAStepAwaitsWhatItAskedFor(t *testing.T) {
	e := atRest("east", "north", "west")
	e.round = newRound(1, time.Minute)
	r := e.runs("west", true)
	r.step = plan.Step{Cluster: "west", ReadFirst: []api.ClusterName{"east", "north", "west"}}
	e.end(t.Context(), r)
	west := e.workers["west"]
	for _, name := range []api.ClusterName{"east", "north"} {
		e.workers[name].done = true
		if west.isDue() || len(west.awaits) == 0 || e.roundOver() {
			t.Errorf("before %s was read: due %t, over %t", name, west.isDue(), e.roundOver())
		}
		if w := e.workers[name]; !w.isDue() || e.round.readMode(w, e.loop.Changes != nil) != forDeletion {
			t.Errorf("%s: due %t, read %s", name, w.isDue(), e.round.readMode(w, e.loop.Changes != nil))
		}
		r := e.runs(name, true)
		r.mode, r.answer, r.step = forDeletion, known, plan.Step{Cluster: name}
		e.end(t.Context(), r)
	}
	if !west.isDue() || e.round.readMode(west, e.loop.Changes != nil) != forDeletion {
		t.Errorf("afterwards: due %t, read %s", west.isDue(), e.round.readMode(west, e.loop.Changes != nil))
	}
}

// What was read by requests between rounds is too old later, also while others change objects, or a cluster hangs.
func TestRequestsCloseBesideAHangingCluster(t *testing.T) {
	for name, tt := range map[string]struct {
		pending, silent, want bool
	}{
		"a reconcile that may still need what was read": {true, false, false},
		"one that a watch asked for":                    {false, false, true},
		"one of a cluster that hangs":                   {true, true, true},
	} {
		e := atRest("west", "read")
		e.patience, e.round.answered, e.round.number = unresponsiveTimeout, true, e.store.NextRound()
		e.workers["read"].since = 1
		e.runs("west", tt.pending)
		if tt.silent {
			e.workers["west"].run.lastAnswerAt.Store(time.Now().Add(-time.Minute).UnixNano())
		}
		if e.closeRequests(); (e.round.number == 2) != tt.want {
			t.Errorf("%s: round %d", name, e.round.number)
		}
	}
}

// A try that a peer brings about before the pause after a failure is over is no try: else three of them are spent at once,
// and the cluster gets no more reconciles in this round.
func TestEarlyRetriesAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := atRest("west")
		e.round = newRound(1, time.Hour)
		w, first := e.workers["west"], time.Now()
		fails := func() { e.end(t.Context(), wrote(e, "Drift", errors.New("refused"))) }
		e.loop.Explain = func(error) object.Reason { return object.Reason{} }
		for range 2 * maxFails {
			fails()
			time.Sleep(retryPause / (4 * maxFails))
		}
		if w.fails != 1 || w.exhausted(1) || !w.alarm.Equal(first.Add(retryPause)) {
			t.Errorf("within one pause: %d failures, the next try %v after the first", w.fails, w.alarm.Sub(first))
		}
		for i := range maxFails - 1 {
			time.Sleep(time.Until(w.alarm))
			if fails(); w.fails != i+2 {
				t.Errorf("after the pause: %d failures, want %d", w.fails, i+2)
			}
		}
		if !w.exhausted(1) {
			t.Errorf("%d failures, each after a pause, end nothing", w.fails)
		}
		e.queue.ShutDown()
	})
}

// It is said, once, that a cluster is to be abandoned that nobody knows.
func TestAbandonAnUnknownCluster(t *testing.T) {
	var said bytes.Buffer
	e := atRest("west")
	e.loop.Abandoned, e.loop.Log = map[api.ClusterName]bool{"west": true, "wset": true}, slog.New(slog.NewTextHandler(&said, nil))
	e.warnUnknownClusters()
	e.warnUnknownClusters()
	if got := said.String(); strings.Count(got, "abandon-cluster") != 1 || !strings.Contains(got, "cluster=wset") {
		t.Errorf("said: %s", got)
	}
}

// What is waited for in vain is read less and less often, at last every ten seconds, and never before the step says.
func TestBackoffGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := atRest("west")
		e.round = newRound(1, time.Hour)
		looks := func(next time.Duration) time.Duration {
			r := e.runs("west", true)
			r.step = plan.Step{Cluster: "west", Times: plan.Times{PlanAgain: time.Now().Add(next)}}
			e.end(t.Context(), r)
			after := time.Until(e.workers["west"].alarm)
			time.Sleep(after)
			return after
		}
		const ms = time.Millisecond
		var pauses []time.Duration
		for range 9 {
			pauses = append(pauses, looks(300*ms))
		}
		want := []time.Duration{300 * ms, 300 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, maxBackoff, maxBackoff}
		if !slices.Equal(pauses, want) {
			t.Errorf("pauses: got %v, want %v", pauses, want)
		}
		if got := looks(10 * time.Minute); got != 10*time.Minute {
			t.Errorf("a step that names a later moment: looked at in %v", got)
		}
		e.queue.ShutDown()
	})
}

// A round that waits for nothing but a cluster whose reconcile has not begun waits without a limit. It has one once that has begun.
func TestRoundKnowsWhatBegins(t *testing.T) {
	e := atRest("west")
	e.patience, e.round.answered = unresponsiveTimeout, true
	e.mode = openClusters
	w := e.workers["west"]
	w.pending, w.due = true, time.Now()
	if at := e.nextAlarm(); !at.IsZero() {
		t.Fatalf("before it has begun: %v", at)
	}
	for len(e.progress) > 0 {
		<-e.progress
	}
	if r, _ := e.begin(t.Context(), "west"); r == nil {
		t.Fatal("it does not begin")
	}
	if at := e.nextAlarm(); len(e.progress) == 0 || at.IsZero() {
		t.Errorf("notified %t, and waits until %v", len(e.progress) > 0, at)
	}
	e.queue.ShutDown()
}
