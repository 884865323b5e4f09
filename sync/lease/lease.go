// Package lease holds the Lease of the leader. One period of leadership is one call: it begins, its context ends, and it returns once everything
// under way has ended.
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// What Once, and the context of a term, end with.
var (
	ErrHeld = errors.New("another process has the lease")
	// ErrLost is the cause of a term's context that ended because the lease could not be renewed in time.
	ErrLost = errors.New("the lease is lost")
	// ErrOther says that the lease is about something else, which happens to have the same name.
	ErrOther = errors.New("another lease has this name")
)

// Defaults are those of Kubernetes' own controllers.
const (
	DefaultDuration = 15 * time.Second
	DefaultRenew    = 10 * time.Second
	DefaultRetry    = 2 * time.Second
)

// Lock is one Lease of coordination.k8s.io/v1 and who we are.
//
// Within Duration after linkwright's last renewal nobody else takes the lease. When no renewal succeeded for Renew, the term's context ends: what is
// left of Duration is what a term has to drain in, and only as far as it does so two terms never overlap. Others' clocks are not compared with ours:
// a lease has run out when it was seen unchanged for its duration by linkwright's own clock.
type Lock struct {
	Client                    coordination.LeasesGetter
	Namespace, Name, Identity string
	// Of says what it is about: different things may lead to one name. It is written on the lease, unless Borrowed, and one
	// that says something else is never taken; empty: it is not looked at.
	Of       string
	Borrowed bool
	// Syncs says that its terms are syncs: the lease keeps whose the last one was, and when it ended. See LastSync.
	Syncs bool
	// Waits is called when it begins to wait for a lease that another process holds, and again when another one holds it; nil: nobody asks. until is
	// when the lease runs out if nobody renews it.
	Waits func(holder string, until time.Time)
	// Duration is sent in whole seconds, at least one; default 15 s.
	Duration time.Duration
	// Renew must be shorter than Duration; default 10 s, or two thirds of Duration.
	Renew time.Duration
	// Retry is how often to try and to renew; default 2 s, or a fifth of Renew.
	Retry time.Duration
}

func (l Lock) withDefaults() Lock {
	if l.Duration <= 0 {
		l.Duration = DefaultDuration
	}
	l.Duration = max(l.Duration.Truncate(time.Second), time.Second)
	if l.Renew <= 0 || l.Renew >= l.Duration {
		l.Renew = l.Duration * 2 / 3
	}
	if l.Retry <= 0 || l.Retry >= l.Renew {
		l.Retry = l.Renew / 5
	}
	return l
}

// Hold calls f once per term until ctx ends; it returns nil then, or what f failed with.
//
// The term is the time of the acquisition in milliseconds, and grows with every one by anybody. The context of f ends when ctx does or the lease
// is lost (cause ErrLost). While f drains the lease is renewed; it is released only after f returned
// nil, else it runs out by itself. A server that cannot be reached is asked again for ever; one that
// refuses ends Hold.
func (l Lock) Hold(ctx context.Context, f func(ctx context.Context, leadership int64) error) error {
	l = l.withDefaults()
	for {
		h, err := l.waitForLease(ctx)
		if err != nil {
			return fmt.Errorf("hold lease %s/%s: %w", l.Namespace, l.Name, err)
		}
		if h == nil {
			return nil
		}
		lost, err := h.lead(ctx, f)
		if err != nil && (!lost || !errors.Is(err, context.Canceled)) {
			return err
		}
	}
}

// Once calls f for one term, or fails with ErrHeld at once, which says who holds the lease and since
// when. A lease whose holder did not renew it in time is watched for its duration before it is taken.
func (l Lock) Once(ctx context.Context, f func(ctx context.Context, leadership int64) error) error {
	l = l.withDefaults()
	h, err := l.take(ctx)
	if err != nil {
		return fmt.Errorf("take lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	lost, err := h.lead(ctx, f)
	if lost {
		return errors.Join(ErrLost, err)
	}
	return err
}

// take returns one attempt; only a lease that seems to have run out is watched for longer.
func (l Lock) take(ctx context.Context) (*heldLease, error) {
	var w observedLease
	said := ""
	for {
		h, err := l.try(ctx, &w)
		if h != nil || err != nil && !apierrors.IsConflict(err) {
			return h, err
		}
		if w.fresh(time.Now()) {
			return nil, w.heldError()
		}
		said = l.waits(&w, said)
		if !pause(ctx, l.Retry) {
			return nil, ctx.Err()
		}
	}
}

// waitForLease tries until the lease is linkwright's, ctx ends (nil, without error) or the server refuses.
func (l Lock) waitForLease(ctx context.Context) (*heldLease, error) {
	var w observedLease
	said := ""
	for {
		h, err := l.try(ctx, &w)
		if h != nil || permanent(err) {
			return h, err
		}
		said = l.waits(&w, said)
		if !pause(ctx, w.wait(l.Retry/2, time.Now())) {
			return nil, nil
		}
	}
}

// waits says who holds the lease, unless that was said, and returns who that was.
func (l Lock) waits(w *observedLease, said string) string {
	holder := w.holder(time.Now())
	if holder == "" || holder == said || l.Waits == nil {
		return said
	}
	l.Waits(holder, w.since.Add(duration(w.lease.Spec)))
	return holder
}

// permanent: asking again will not help.
func permanent(err error) bool {
	return errors.Is(err, ErrOther) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err)
}

// pause reports whether there was time for it before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
