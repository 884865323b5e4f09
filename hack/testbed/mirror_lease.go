package testbed

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The Lease of a mirror, with Linkerd's times. One who waits for it asks each
// period, not every two seconds: tests would only wait.
const (
	leaseSeconds = 30
	leaseRenew   = 2 * time.Second
	leaseLost    = 10 * time.Second // after the last renewal
)

// lease is one replica's view of the Lease of its link. Whether another's ran
// out is told by our own clock, from when we saw it renewed.
type lease struct {
	client   kubernetes.Interface
	ns, name string
	identity string // of the pod

	isHeld    time.Time // renewed by us; zero: not ours
	version   string    // as last seen
	renewedAt time.Time // first, in that version
}

// take reports whether the Lease is ours, and takes or renews it if it can be.
// An error leaves it ours until it has not been renewed for too long.
func (l *lease) take(ctx context.Context) (bool, error) {
	if time.Since(l.isHeld) < leaseRenew {
		return true, nil
	}
	ours, err := l.acquire(ctx)
	if err == nil && ours {
		l.isHeld = time.Now()
	}
	if err == nil && !ours || time.Since(l.isHeld) > leaseLost {
		l.isHeld = time.Time{}
	}
	return !l.isHeld.IsZero(), wrap("take lease", err)
}

func (l *lease) acquire(ctx context.Context) (bool, error) {
	leases := l.client.CoordinationV1().Leases(l.ns)
	live, err := leases.Get(ctx, l.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
		l.fill(live)
		_, err = leases.Create(ctx, live, metav1.CreateOptions{})
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	if live.ResourceVersion != l.version {
		l.version, l.renewedAt = live.ResourceVersion, time.Now()
	}
	if holder := holderOf(live); holder != "" && holder != l.identity && time.Since(l.renewedAt) < durationOf(live) {
		return false, nil
	}
	l.fill(live)
	_, err = leases.Update(ctx, live, metav1.UpdateOptions{})
	return err == nil, err
}

func (l *lease) fill(live *coordinationv1.Lease) {
	now, seconds, terms := metav1.NowMicro(), int32(leaseSeconds), int32(0)
	if live.Spec.LeaseTransitions != nil {
		terms = *live.Spec.LeaseTransitions
	}
	if holderOf(live) != l.identity {
		live.Spec.AcquireTime = &now
		if live.ResourceVersion != "" {
			terms++
		}
	}
	live.Spec.HolderIdentity, live.Spec.LeaseDurationSeconds = &l.identity, &seconds
	live.Spec.RenewTime, live.Spec.LeaseTransitions = &now, &terms
}

// release gives the Lease up if it is there and ours. Rights may be gone
// already: then it runs out.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	leases := l.client.CoordinationV1().Leases(l.ns)
	live, err := leases.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil || holderOf(live) != l.identity {
		return
	}
	nobody, seconds, now := "", int32(1), metav1.NowMicro()
	live.Spec.HolderIdentity, live.Spec.LeaseDurationSeconds = &nobody, &seconds
	live.Spec.RenewTime, live.Spec.AcquireTime = &now, &now
	_, _ = leases.Update(ctx, live, metav1.UpdateOptions{})
}

// holderOf a Lease, "" for nobody.
func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func durationOf(l *coordinationv1.Lease) time.Duration {
	if l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
}
