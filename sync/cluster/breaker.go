package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Between two tries of what fails: the first pause, which every further failure doubles up to the last.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
)

// pause returns how long to wait after so many failures in a row, shifted by up to a fifth, so that feeds and processes do not try all at once.
func pause(fails int) time.Duration {
	p := lastPause
	if doublings := max(0, fails-1); doublings < 8 {
		p = min(lastPause, firstPause<<doublings)
	}
	return p - time.Duration(rand.Int64N(int64(p)/5))
}

// breaker is open while a cluster does not answer: it then costs nobody the time of a request. Any answer closes it, also
// a refusal.
type breaker struct {
	mu           sync.Mutex
	err          error         // the last request without answer; nil: closed
	fails        int           // in a row
	next         time.Time     // when the next request is let through
	opened       chan struct{} // capacity 1
	closed       chan struct{} // closed when the breaker closes; nil while it is closed
	lastNotified func()        // of every change
}

// allow is nil for a request that may go out. After a pause one may, which counts as failed until it is answered.
func (b *breaker) allow() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.err != nil && now.Before(b.next) {
		return &noAnswer{b.err, b.next.Sub(now)}
	}
	if b.err != nil {
		b.fails++
		b.next = now.Add(pause(b.fails))
	}
	return nil
}

// failure returns why the cluster is not asked at all, or nil.
func (b *breaker) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		return nil
	}
	return &noAnswer{b.err, max(0, time.Until(b.next))}
}

// wait returns when the breaker is closed, or ctx ends.
func (b *breaker) wait(ctx context.Context) {
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed == nil {
		return
	}
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// record judges how a request ended: ctx is whose end would have been ours.
func (b *breaker) record(ctx context.Context, err error) {
	var untried *noAnswer
	switch {
	case errors.As(err, &untried):
	case answered(err):
		b.answer()
	case ctx.Err() == nil && notAnswered(err):
		b.fail(err)
	}
}

// recordProbe judges a try of the probe: anything but an answer is none, so that there is a pause before the next.
func (b *breaker) recordProbe(ctx context.Context, err error) {
	switch {
	case answered(err):
		b.answer()
	case ctx.Err() == nil:
		b.fail(err)
	}
}

func (b *breaker) answer() {
	b.mu.Lock()
	was := b.closed
	b.err, b.fails, b.closed = nil, 0, nil
	b.mu.Unlock()
	if was != nil {
		close(was)
		b.lastNotified()
	}
}

// fail opens the breaker, or keeps it open for longer. What fails before the next try is due was under way when it opened,
// and tells nothing more: many requests that a lost connection ends are one failure.
func (b *breaker) fail(err error) {
	b.mu.Lock()
	opens, now := b.closed == nil, time.Now()
	if opens {
		b.closed = make(chan struct{})
	}
	if opens || !now.Before(b.next) {
		b.fails++
		b.err, b.next = err, now.Add(pause(b.fails))
	}
	b.mu.Unlock()
	if opens {
		notify(b.opened)
		b.lastNotified()
	}
}

// notify leaves a word in a channel of capacity 1, if there is none yet.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// answered: the API server, or who stands for it, said something.
func answered(err error) bool {
	var status apierrors.APIStatus
	return err == nil || errors.As(err, &status)
}

// notAnswered: the request reached nobody, or nothing came back.
func notAnswered(err error) bool {
	var transport *url.Error
	return errors.As(err, &transport) || connectionLost(err) || isNetwork(err) || errors.Is(err, errLate)
}

// connectionLost is a connection that gave no sign of life for too long.
func connectionLost(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if utilnet.IsHTTP2ConnectionLost(err) {
			return true
		}
	}
	return false
}

// noAnswer is what is said while the breaker is open.
type noAnswer struct {
	last error
	wait time.Duration
}

func (e *noAnswer) Error() string {
	return fmt.Sprintf("the cluster does not answer (linkwright tries again in %s): %v", e.wait.Round(100*time.Millisecond), e.last)
}

func (e *noAnswer) Unwrap() error { return e.last }

// probe asks the cluster whether it is there, again and again while the breaker is open, until ctx ends. Feeds wait for
// it, so that a cluster that is down is asked once at a time.
func (c *watcher) probe(ctx context.Context) {
	for {
		select {
		case <-c.breaker.opened:
		case <-ctx.Done():
			return
		}
		for {
			wait, open := c.breaker.due()
			if !open {
				break
			}
			if !sleep(ctx, wait) {
				return
			}
			// Whoever is known to the API server may ask for its version, and it says no to whoever is not.
			c.breaker.recordProbe(ctx, c.rest.Get().AbsPath("version").Do(ctx).Error())
		}
	}
}

// due returns how long it is until the next try.
func (b *breaker) due() (wait time.Duration, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.next), b.err != nil
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
