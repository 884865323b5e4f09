package cluster

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// day is when tests of the limit begin.
func day() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// tell gives the limit n answers of one kind, each sent at now; every turn is in use.
func (l *limit) tell(n int, now time.Time, took time.Duration) {
	for range n {
		l.learn(sent{begun: now, ended: now.Add(took), full: true})
	}
}

func TestLimitGrowsWhileNothingWaits(t *testing.T) {
	l, now := newLimit(), day()
	if l.wide != firstWide {
		t.Fatalf("a new limit is %d wide, want %d", l.wide, firstWide)
	}
	for range 30 {
		l.tell(l.wide, now, 20*time.Millisecond)
	}
	if l.wide != mostWide {
		t.Errorf("all answers are as fast as the best: %d wide, want %d", l.wide, mostWide)
	}
}

func TestLimitStaysWhereTurnsAreLeft(t *testing.T) {
	l := newLimit()
	for range 1000 {
		l.learn(sent{begun: day(), ended: day().Add(time.Millisecond)})
	}
	if l.wide != firstWide {
		t.Errorf("not every turn was in use: %d wide, want %d", l.wide, firstWide)
	}
}

// A server that works on four at a time and lets the rest wait: throughput is full from five on.
func TestLimitSettlesWhereAFewWait(t *testing.T) {
	l, now := newLimit(), day()
	l.tell(1, now, 5*time.Millisecond)
	l.wide = mostWide
	for range 100 {
		now = now.Add(time.Second)
		l.tell(l.wide, now, time.Duration(l.wide)*5*time.Millisecond/4)
	}
	if waiting := l.wide - 4; waiting < fewWait-2 || waiting > manyWait {
		t.Errorf("%d wide: %d wait in the server, want %d to %d", l.wide, waiting, fewWait, manyWait)
	}
}

// A server on which something else weighs: every answer takes a hundred times the best, however few are under way.
func TestLimitNarrowsWhereAServerSlowsDown(t *testing.T) {
	l, now := newLimit(), day()
	l.tell(1, now, time.Millisecond)
	for range 100 {
		now = now.Add(time.Second)
		l.tell(l.wide, now, 100*time.Millisecond)
	}
	if l.wide != leastWide {
		t.Errorf("%d wide, want %d", l.wide, leastWide)
	}
	for range 100 {
		l.tell(l.wide, now, time.Millisecond)
	}
	if l.wide != mostWide {
		t.Errorf("it is as fast as ever again: %d wide, want %d", l.wide, mostWide)
	}
}

func TestLimitIsJudgedByKind(t *testing.T) {
	l, now := newLimit(), day()
	slow := schema.GroupKind{Kind: "Slow"}
	l.tell(1, now, time.Millisecond)
	for range 600 {
		l.learn(sent{kind: slow, begun: now, ended: now.Add(100 * time.Millisecond), full: true})
	}
	if l.wide != mostWide {
		t.Errorf("a slow kind is at its best: %d wide, want %d", l.wide, mostWide)
	}
}

func TestLimitForgetsTheBest(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		want  bool
	}{{time.Minute, false}, {bestFor, false}, {3 * bestFor, true}} {
		l, now := newLimit(), day()
		l.tell(1, now, time.Millisecond)
		for past := time.Duration(0); past <= tt.after; past += 15 * time.Second {
			l.tell(1, now.Add(past), 50*time.Millisecond)
		}
		l.wide = 24
		for range 30 {
			l.tell(l.wide, now.Add(tt.after), 50*time.Millisecond)
		}
		if got := l.wide == mostWide; got != tt.want {
			t.Errorf("%v after the best: %d wide, grown: want %v", tt.after, l.wide, tt.want)
		}
	}
}

func TestLimitIsHalvedOnceForAllUnderWay(t *testing.T) {
	l, now := newLimit(), day()
	fail := func(begun, ended time.Duration) {
		l.learn(sent{begun: now.Add(begun), ended: now.Add(ended), fate: overload})
	}
	for range 16 {
		fail(0, time.Second)
	}
	if l.wide != 8 {
		t.Fatalf("16 that were under way together failed: %d wide, want 8", l.wide)
	}
	fail(500*time.Millisecond, 3*time.Second)
	if l.wide != 8 {
		t.Errorf("what was sent before the cut failed: %d wide, want 8", l.wide)
	}
	for i := range 10 {
		fail(time.Duration(i+1)*time.Minute, time.Duration(i+1)*time.Minute+time.Second)
	}
	if l.wide != 1 {
		t.Errorf("nothing but failures: %d wide, want 1", l.wide)
	}
	for range 40 {
		l.tell(l.wide, now.Add(time.Hour), time.Millisecond)
	}
	if l.wide != mostWide {
		t.Errorf("fast again: %d wide, want %d", l.wide, mostWide)
	}
}

func TestLimitLearnsNothingFromWhatWeEnded(t *testing.T) {
	l := newLimit()
	for range 100 {
		l.learn(sent{begun: day(), ended: day().Add(time.Hour), fate: ended, full: true})
	}
	if l.wide != firstWide || l.seen != 0 {
		t.Errorf("got %+v, want nothing learnt", l)
	}
}

func TestLimitIsShutUntilTheLatest(t *testing.T) {
	l, now := newLimit(), day()
	for _, s := range []time.Duration{2 * time.Second, 5 * time.Second, time.Second} {
		l.learn(sent{begun: now, ended: now, fate: overload, shut: s})
	}
	if want := now.Add(5 * time.Second); !l.shut.Equal(want) {
		t.Errorf("shut until %v, want %v", l.shut, want)
	}
}
