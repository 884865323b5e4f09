package lease

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observedLease is a lease of somebody else and since when, by this process's clock, it is unchanged.
type observedLease struct {
	lease *coordinationv1.Lease
	since time.Time
}

// observe takes note of what was read.
func (w *observedLease) observe(lease *coordinationv1.Lease, now time.Time) {
	if w.lease == nil || w.lease.UID != lease.UID || w.lease.ResourceVersion != lease.ResourceVersion {
		w.lease, w.since = lease, now
	}
}

// free reports whether nobody holds the lease: it was released, or unchanged for its duration.
func (w *observedLease) free(now time.Time) bool {
	s := w.lease.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" {
		return true
	}
	return now.Sub(w.since) > duration(s)
}

// holder returns who holds the lease; empty: nobody, or it was not read yet.
func (w *observedLease) holder(now time.Time) string {
	if w.lease == nil || w.free(now) {
		return ""
	}
	return *w.lease.Spec.HolderIdentity
}

// wait returns how long to wait before the next attempt: as long as it is reported, or until the lease runs out if that is earlier.
func (w *observedLease) wait(pause time.Duration, now time.Time) time.Duration {
	if w.lease == nil || w.free(now) {
		return pause
	}
	return min(pause, duration(w.lease.Spec)-now.Sub(w.since)+time.Millisecond)
}

// fresh reports whether the lease was renewed within its duration, as far as clocks agree.
func (w *observedLease) fresh(now time.Time) bool {
	if w.lease == nil || w.free(now) {
		return false
	}
	renewed := w.lease.Spec.RenewTime
	return renewed != nil && now.Sub(renewed.Time) <= duration(w.lease.Spec)
}

func duration(s coordinationv1.LeaseSpec) time.Duration {
	if s.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*s.LeaseDurationSeconds) * time.Second
}

// heldError is ErrHeld with who and since when, and what ends it if that process died.
func (w *observedLease) heldError() error {
	s := w.lease.Spec
	since := "an unknown time"
	if s.AcquireTime != nil {
		since = s.AcquireTime.UTC().Format(time.RFC3339)
	}
	return fmt.Errorf("%w: %s has it since %s (if that process was killed, another can take the lease in %v)", ErrHeld, *s.HolderIdentity, since, duration(s))
}

// try returns one attempt: ours, or nil and the error, or nil for a lease that is held. linkwright's own name as the holder is nothing to
// linkwright: another process may carry it, or an earlier life.
func (l Lock) try(ctx context.Context, w *observedLease) (*heldLease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Renew)
	defer cancel()
	now := time.Now()
	lease, err := l.Client.Leases(l.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease, err = l.create(ctx, now)
		return l.acquired(lease, now, err)
	}
	if err == nil {
		err = l.checkSubject(lease)
	}
	if err != nil {
		return nil, err
	}
	if w.observe(lease, now); !w.free(now) {
		return nil, nil
	}
	next := lease.DeepCopy()
	l.label(next)
	next.Spec = l.spec(now, transitions(lease.Spec)+1)
	next.Spec.AcquireTime = after(lease.Spec.AcquireTime, now)
	lease, err = l.Client.Leases(l.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	return l.acquired(lease, now, err)
}

// create begins again; who is second gets AlreadyExists and sees the lease next time.
func (l Lock) create(ctx context.Context, now time.Time) (*coordinationv1.Lease, error) {
	first := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name}, Spec: l.spec(now, 1)}
	l.label(first)
	lease, err := l.Client.Leases(l.Namespace).Create(ctx, first, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = apierrors.NewConflict(coordinationv1.Resource("leases"), l.Name, err)
	}
	return lease, err
}

// aboutKey is the annotation that says what a lease is about.
const aboutKey = "linkwright.dev/lease-of"

// About returns what a lease is about, as its holder's Lock.Of said; empty: nobody said.
func About(lease *coordinationv1.Lease) string { return lease.Annotations[aboutKey] }

// checkSubject returns an error where the lease is about something else. One of an earlier version does not say.
func (l Lock) checkSubject(lease *coordinationv1.Lease) error {
	if it := About(lease); it != "" && l.Of != "" && it != l.Of {
		return fmt.Errorf("%w: it belongs to %s, and not to %s: delete it if nobody uses it any more",
			ErrOther, it, l.Of)
	}
	return nil
}

func (l Lock) label(lease *coordinationv1.Lease) {
	if l.Of != "" && !l.Borrowed {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, aboutKey, l.Of)
	}
}

// acquired: the lease counts as renewed when the request was sent, not when it was answered.
func (l Lock) acquired(lease *coordinationv1.Lease, sent time.Time, err error) (*heldLease, error) {
	if err != nil {
		return nil, err
	}
	return &heldLease{lock: l, lease: lease, renewed: sent}, nil
}

func (l Lock) spec(now time.Time, leadership int32) coordinationv1.LeaseSpec {
	seconds, at := int32(l.Duration/time.Second), metav1.NewMicroTime(now)
	return coordinationv1.LeaseSpec{
		HolderIdentity: &l.Identity, LeaseDurationSeconds: &seconds,
		AcquireTime: &at, RenewTime: &at, LeaseTransitions: &leadership,
	}
}

// after returns the time of an acquisition: now, or just after the last one where this process's clock is behind its.
func after(last *metav1.MicroTime, now time.Time) *metav1.MicroTime {
	if last != nil && !now.After(last.Add(time.Millisecond)) {
		now = last.Add(time.Millisecond)
	}
	return &metav1.MicroTime{Time: now}
}

// leadershipOf numbers an acquisition by its time, in milliseconds: it grows from one to the next, and also
// when somebody deleted the lease, which starts its count of transitions again.
func leadershipOf(s coordinationv1.LeaseSpec) int64 {
	if s.AcquireTime == nil {
		return 0
	}
	return s.AcquireTime.UnixMilli()
}

func transitions(s coordinationv1.LeaseSpec) int32 {
	if s.LeaseTransitions == nil {
		return 0
	}
	return *s.LeaseTransitions
}
