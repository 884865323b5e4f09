package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurnsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(time.Second)
		turns.limit.wide = 1
		if err := turns.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var got []int
		for i := range 20 {
			all.Go(func() {
				if err := turns.take(t.Context(), i == 19); err != nil {
					t.Error(err)
				}
				got = append(got, i)
				turns.give(sent{fate: ended})
			})
			synctest.Wait()
		}
		turns.give(sent{fate: ended})
		all.Wait()
		want := []int{19}
		for i := range 19 {
			want = append(want, i)
		}
		if !slices.Equal(got, want) {
			t.Errorf("turns: got %v, want %v", got, want)
		}
	})
}

func TestTurnsAreAsManyAsTheLimitSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(time.Second)
		var all sync.WaitGroup
		for range 128 {
			all.Go(func() {
				if err := turns.take(t.Context(), false); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
				turns.give(sent{fate: ended})
			})
		}
		synctest.Wait()
		turns.mu.Lock()
		if turns.out != firstWide {
			t.Errorf("%d of 128 have a turn, want %d", turns.out, firstWide)
		}
		turns.mu.Unlock()
		begun := time.Now()
		all.Wait()
		if took := time.Since(begun); took != 128/firstWide*time.Second || turns.out != 0 {
			t.Errorf("took %v, %d turns were not given back", took, turns.out)
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(time.Second)
		turns.limit.wide = 1
		ctx, cancel := context.WithCancel(t.Context())
		first := turns.take(t.Context(), false)
		errs := make(chan error)
		go func() { errs <- turns.take(ctx, false) }()
		go func() { errs <- turns.take(t.Context(), false) }()
		synctest.Wait()
		cancel()
		if err := <-errs; first != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("take: got %v, %v, want the second cancelled", first, err)
		}
		turns.give(sent{fate: ended})
		if err := <-errs; err != nil {
			t.Errorf("take after one that left: %v", err)
		}
		// A turn that comes as its taker leaves goes to the next.
		mine := make(chan error, 1)
		turns.waiting = append(turns.waiting, mine)
		turns.give(sent{fate: ended})
		turns.leave(mine)
		if turns.out != 0 {
			t.Errorf("%d turns out, want none", turns.out)
		}
	})
}

func TestNobodySendsBeforeTheServerWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(15 * time.Second)
		begun := time.Now()
		if err := turns.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		turns.give(sent{begun: begun, ended: begun, fate: overload, shut: 7 * time.Second})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := turns.take(t.Context(), false); err != nil || time.Since(begun) != 7*time.Second {
					t.Errorf("take: got %v after %v, want a turn after 7s", err, time.Since(begun))
				}
			})
		}
		all.Wait()
	})
}

func TestWhoWouldWaitTooLongIsSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(15 * time.Second)
		turns.limit.wide = 1
		begun := time.Now()
		if err := turns.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error)
		go func() { errs <- turns.take(t.Context(), false) }()
		synctest.Wait()
		turns.give(sent{begun: begun, ended: begun, fate: overload, shut: time.Minute})
		for _, err := range []error{<-errs, turns.take(t.Context(), false)} {
			why := Explain(fmt.Errorf("create: %w", err))
			if why.Code != Throttled || time.Since(begun) != 0 {
				t.Errorf("take: got %+v after %v, want %s at once", why, time.Since(begun), Throttled)
			}
		}
		time.Sleep(time.Minute)
		if err := turns.take(t.Context(), false); err != nil {
			t.Errorf("take a minute later: %v", err)
		}
	})
}
