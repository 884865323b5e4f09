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
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
)

// What moved in a pass that was overtaken, and was not looked at, is looked at in the next, also where all else is as it was.
func TestMovesOutliveTheirPass(t *testing.T) {
	tt := atRest("moved", "calm")
	moved, calm := tt.lanes["moved"], tt.lanes["calm"]
	moved.ready = true
	tt.excuse()
	now := tt.board.viewed(t)
	if moved.ready || tt.settled(moved, now) || !tt.settled(calm, now) {
		t.Errorf("moved: ready %v, settled %v; calm: settled %v", moved.ready, tt.settled(moved, now), tt.settled(calm, now))
	}
}

// A cluster that was to be read by requests, and had no turn in that pass, is asked anew, and holds nobody up.
func TestLooksEndWithTheirPass(t *testing.T) {
	asked := &lane{}
	waits := &lane{awaits: map[*lane]bool{asked: true}}
	tt := &term{loop: &Loop{}, board: newBoard(&Loop{}, 1), lanes: map[api.ClusterName]*lane{"asked": asked, "waits": waits}, number: 1}
	tt.arrange()
	if !tt.asks(asked) || asked.looked != 1 {
		t.Fatalf("asked in pass %d", asked.looked)
	}
	tt.excuse()
	tt.number = 2
	if !tt.asks(asked) || asked.looked != 2 || len(waits.awaits) > 0 {
		t.Errorf("asked in pass %d, %d are waited for", asked.looked, len(waits.awaits))
	}
}

// What was read by requests between passes is too old later, also while a cluster hangs.
func TestCalmBesideOneThatHangs(t *testing.T) {
	hangs, read := &lane{running: true}, &lane{looked: 1}
	tt := &term{loop: &Loop{}, board: newBoard(&Loop{}, 1), lanes: map[api.ClusterName]*lane{"hangs": hangs, "read": read}, number: 1, grace: grace, answered: true}
	tt.arrange()
	tt.board.pass = 1
	hangs.hear()
	if tt.calm(); tt.number != 1 {
		t.Error("a turn runs that may still need what was read")
	}
	hangs.drifts = true
	if tt.calm(); tt.number != 2 {
		t.Error("what was read once is trusted for as long as others change objects")
	}
	tt.number, tt.board.pass, hangs.drifts = 1, 1, false
	hangs.sign.Store(time.Now().Add(-time.Minute).UnixNano())
	if tt.calm(); tt.number != 2 {
		t.Error("what was read once is trusted for as long as one cluster hangs")
	}
}

// What watches show since a cluster was read by requests is not what was read so.
func TestWhatIsSeenLaterCarriesNoPass(t *testing.T) {
	for _, shows := range []bool{false, true} {
		b := newBoard(&Loop{}, 1)
		b.fleet = &fleet.Fleet{}
		b.sides.set("west", pair.Side{Known: true, Pass: 1})
		if _, ok := b.refresh("west", pair.Side{Gap: "policies are gone"}, shows, b.epoch); !ok || b.sides.at["west"].Pass != 0 || b.sides.at["west"].Gap == "" {
			t.Errorf("taken over %v, of pass %d, policies %q", ok, b.sides.at["west"].Pass, b.sides.at["west"].Gap)
		}
	}
}

// A try that a neighbour brings about before the pause after a failure is over is no try: else three of them are spent at once,
// and the cluster gets no more turns in this pass.
func TestTriesBeforeThePauseIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lane{cluster: fleet.Cluster{Name: "west"}}
		tt := &term{loop: &Loop{}, board: newBoard(&Loop{}, 1), lanes: map[api.ClusterName]*lane{"west": l}, deadline: time.Now().Add(time.Hour)}
		tt.board.fleet = &fleet.Fleet{}
		fails := func() {
			tt.next(&turn{lane: l, cluster: l.cluster, began: time.Now(), outcomes: []object.Outcome{{Err: errors.New("refused")}}})
		}
		first := time.Now()
		for range 2 * maxFails {
			fails()
			time.Sleep(again / (4 * maxFails))
		}
		if l.fails != 1 || tt.stuck(l) || !l.wake.Equal(first.Add(again)) {
			t.Errorf("within one pause: %d failures, the next try %v after the first", l.fails, l.wake.Sub(first))
		}
		for i := range maxFails - 1 {
			time.Sleep(time.Until(l.wake))
			if fails(); l.fails != i+2 {
				t.Errorf("after the pause: %d failures, want %d", l.fails, i+2)
			}
		}
		if !tt.stuck(l) {
			t.Errorf("%d failures, each after a pause, end nothing", l.fails)
		}
	})
}

// Whom nobody knows nobody can give up: that is said, once.
func TestForgetOfWhomNobodyKnows(t *testing.T) {
	var said bytes.Buffer
	tt := atRest("west")
	tt.loop.Forget, tt.loop.Log = map[api.ClusterName]bool{"west": true, "wset": true}, slog.New(slog.NewTextHandler(&said, nil))
	tt.strangers()
	tt.strangers()
	if got := said.String(); strings.Count(got, "abandon-cluster") != 1 || !strings.Contains(got, "cluster=wset") {
		t.Errorf("said: %s", got)
	}
}

// What is waited for in vain is looked at less and less often, whatever it is, and at last every ten seconds.
func TestLooksInVainGrowApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lane{cluster: fleet.Cluster{Name: "west"}}
		tt := &term{loop: &Loop{}, board: newBoard(&Loop{}, 1), lanes: map[api.ClusterName]*lane{"west": l}, deadline: time.Now().Add(time.Hour)}
		tt.board.fleet = &fleet.Fleet{}
		var pauses []time.Duration
		for range 8 {
			tt.next(&turn{lane: l, cluster: l.cluster, step: plan.Step{Next: time.Now().Add(300 * time.Millisecond)}})
			pauses = append(pauses, time.Until(l.wake))
			time.Sleep(time.Until(l.wake))
		}
		const ms = time.Millisecond
		if want := []time.Duration{300 * ms, 600 * ms, 1200 * ms, 2400 * ms, 4800 * ms, 9600 * ms, patient, patient}; !slices.Equal(pauses, want) {
			t.Errorf("pauses: got %v, want %v", pauses, want)
		}
	})
}
