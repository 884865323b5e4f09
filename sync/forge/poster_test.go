package forge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/forge"
)

// posts is what was posted and told, and how each request ends.
type posts struct {
	mu       sync.Mutex
	got      []string
	told     []string
	inFlight int
	answer   func(ctx context.Context, n int) error
}

func (p *posts) post(ctx context.Context, s forge.Status) error {
	p.mu.Lock()
	p.got = append(p.got, string(s.Commit)+" "+string(s.State))
	n := len(p.got)
	p.inFlight++
	if p.inFlight > 1 {
		p.told = append(p.told, "two at once")
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.inFlight--
		p.mu.Unlock()
	}()
	if p.answer == nil {
		return nil
	}
	return p.answer(ctx, n)
}

func (p *posts) tell(_ forge.Status, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, err.Error())
}

// posting runs a Poster until the test's end, in a bubble of time.
func posting(t *testing.T, answer func(ctx context.Context, n int) error, f func(p *forge.Poster, got *posts, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		got := &posts{answer: answer}
		p := forge.NewPoster(got.post, got.tell)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			p.Run(ctx)
			close(done)
		}()
		stop := func() { cancel(); <-done }
		defer stop()
		f(p, got, stop)
	})
}

func (p *posts) want(t *testing.T, posted, logged []string) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.got, posted) || !slices.Equal(p.told, logged) {
		t.Errorf("posted %q, told %q; want %q, %q", p.got, p.told, posted, logged)
	}
}

func of(commit string, s forge.State) forge.Status {
	return forge.Status{Commit: api.Commit(commit), State: s}
}

func TestPosterPostsOnce(t *testing.T) {
	posting(t, nil, func(p *forge.Poster, got *posts, _ func()) {
		for range 3 {
			p.Post(of("a", forge.Pending))
			synctest.Wait()
		}
		p.Post(of("a", forge.Success))
		synctest.Wait()
		p.Post(of("b", forge.Success))
		synctest.Wait()
		p.Post(of("a", forge.Success)) // as it stands
		got.want(t, []string{"a pending", "a success", "b success"}, nil)
	})
}

// While one is under way the newest replaces what waits; the sync that tells never waits.
func TestPosterOneAtATime(t *testing.T) {
	posting(t, nil, func(p *forge.Poster, got *posts, _ func()) {
		let := make(chan struct{})
		got.answer = func(context.Context, int) error { <-let; return nil }
		p.Post(of("a", forge.Pending))
		synctest.Wait()
		for _, c := range []string{"b", "c", "d"} {
			p.Post(of(c, forge.Success))
		}
		got.want(t, []string{"a pending"}, nil)
		close(let)
		got.want(t, []string{"a pending", "d success"}, nil)
	})
}

func TestPosterTriesAgain(t *testing.T) {
	broken := &forge.Refusal{Code: 500}
	answer := func(_ context.Context, n int) error {
		if n < 4 {
			return broken
		}
		return nil
	}
	posting(t, answer, func(p *forge.Poster, got *posts, _ func()) {
		p.Post(of("a", forge.Pending))
		got.want(t, []string{"a pending"}, []string{broken.Error()})
		p.Post(of("a", forge.Success)) // the newest is what is tried again, and not earlier
		got.want(t, []string{"a pending"}, []string{broken.Error()})
		time.Sleep(1500 * time.Millisecond)
		got.want(t, []string{"a pending", "a success"}, []string{broken.Error()})
		time.Sleep(1500 * time.Millisecond)
		got.want(t, []string{"a pending", "a success"}, []string{broken.Error()})
		time.Sleep(time.Minute)
		got.want(t, []string{"a pending", "a success", "a success", "a success"}, []string{broken.Error()})
	})
}

func TestPosterWaitsAsTold(t *testing.T) {
	limited := &forge.Refusal{Code: 429, Limited: true, Wait: 10 * time.Minute}
	answer := func(_ context.Context, n int) error {
		if n == 1 {
			return fmt.Errorf("post: %w", limited)
		}
		return nil
	}
	posting(t, answer, func(p *forge.Poster, got *posts, stop func()) {
		p.Post(of("a", forge.Pending))
		logged := []string{"post: " + limited.Error()}
		got.want(t, []string{"a pending"}, logged)
		time.Sleep(9 * time.Minute)
		p.Post(of("b", forge.Success))
		got.want(t, []string{"a pending"}, logged)
		time.Sleep(2 * time.Minute)
		got.want(t, []string{"a pending", "b success"}, logged)
		stop()
	})
}

// A commit that the forge does not know is left alone; the next one is not.
func TestPosterGivesUp(t *testing.T) {
	for _, code := range []int{404, 422, 307} {
		gone := &forge.Refusal{Code: code}
		answer := func(_ context.Context, n int) error {
			if n == 1 {
				return gone
			}
			return nil
		}
		posting(t, answer, func(p *forge.Poster, got *posts, _ func()) {
			for _, s := range []forge.State{forge.Pending, forge.Success, forge.Failure} {
				p.Post(of("a", s))
				synctest.Wait()
				time.Sleep(time.Hour)
			}
			p.Post(of("b", forge.Success))
			got.want(t, []string{"a pending", "b success"}, []string{gone.Error()})
		})
	}
}

// Told to stop, what is under way may end, and what waits is posted; both have a bound.
func TestPosterStops(t *testing.T) {
	posting(t, nil, func(p *forge.Poster, got *posts, stop func()) {
		got.answer = func(ctx context.Context, n int) error {
			if n == 1 {
				time.Sleep(2 * time.Second)
				return ctx.Err()
			}
			<-ctx.Done() // the second one hangs
			return context.Cause(ctx)
		}
		p.Post(of("a", forge.Pending))
		synctest.Wait()
		p.Post(of("a", forge.Success))
		start := time.Now()
		stop()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("stopping took %s", took)
		}
		got.want(t, []string{"a pending", "a success"}, []string{context.Canceled.Error()})
	})
}

// What the server had enough of is not repeated at the end.
func TestPosterStopsAtOnceInAPause(t *testing.T) {
	failed := errors.New("no route")
	posting(t, func(context.Context, int) error { return failed }, func(p *forge.Poster, got *posts, stop func()) {
		p.Post(of("a", forge.Pending))
		got.want(t, []string{"a pending"}, []string{"no route"})
		start := time.Now()
		stop()
		if took := time.Since(start); took > 0 {
			t.Errorf("stopping took %s", took)
		}
		got.want(t, []string{"a pending"}, []string{"no route"})
	})
}
