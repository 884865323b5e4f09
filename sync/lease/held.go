package lease

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heldLease is a lease of linkwright. It is used by one goroutine at a time.
type heldLease struct {
	lock    Lock
	lease   *coordinationv1.Lease // as last written
	renewed time.Time             // when the last successful renewal was sent
}

// lead runs f and renews until f has returned, also while f drains.
func (h *heldLease) lead(ctx context.Context, f func(ctx context.Context, leadership int64) error) (lost bool, err error) {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	// Renewals outlive ctx: the lease is linkwright's until f has returned.
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan bool, 1)
	leadership := leadershipOf(h.lease.Spec)
	go func() { ended <- h.renew(renewing, end) }()
	err = f(inner, leadership)
	stop()
	if lost = <-ended; lost || err != nil {
		return lost, err
	}
	h.release(context.WithoutCancel(ctx))
	return false, nil
}

// renew keeps the lease until ctx ends (false) or it is lost (true), and then ends the term first.
func (h *heldLease) renew(ctx context.Context, end context.CancelCauseFunc) (lost bool) {
	for pause(ctx, h.lock.Retry) {
		until := h.renewed.Add(h.lock.Renew)
		err := h.refresh(ctx, until)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return false
		}
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || !time.Now().Before(until) {
			end(ErrLost)
			return true
		}
	}
	return false
}

// refresh writes a new renew time.
func (h *heldLease) refresh(ctx context.Context, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return h.put(ctx, h.lock.Identity)
}

// put writes the holder. A conflict that left the lease ours (somebody annotated it, or an answer to linkwright was lost) is none: it is written
// again on what is there now.
func (h *heldLease) put(ctx context.Context, holder string) error {
	err := h.write(ctx, holder)
	if !apierrors.IsConflict(err) {
		return err
	}
	live, gone := h.lock.Client.Leases(h.lock.Namespace).Get(ctx, h.lock.Name, metav1.GetOptions{})
	if gone != nil {
		return gone
	}
	if !h.same(live) {
		return err
	}
	h.lease = live
	return h.write(ctx, holder)
}

// same: holder and transitions together are one acquisition.
func (h *heldLease) same(live *coordinationv1.Lease) bool {
	return live.UID == h.lease.UID && live.Spec.HolderIdentity != nil &&
		*live.Spec.HolderIdentity == h.lock.Identity && transitions(live.Spec) == transitions(h.lease.Spec)
}

// write updates the lease on the resourceVersion last seen.
func (h *heldLease) write(ctx context.Context, holder string) error {
	now := time.Now()
	next, at := h.lease.DeepCopy(), metav1.NewMicroTime(now)
	next.Spec.HolderIdentity, next.Spec.RenewTime = &holder, &at
	if holder == "" && h.lock.Syncs {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, lastSyncKey, now.UTC().Format(time.RFC3339)+" "+h.lock.Identity)
	}
	lease, err := h.lock.Client.Leases(h.lock.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	h.lease, h.renewed = lease, now
	return nil
}

// release frees the lease for the next; transitions stay, so that terms grow. What fails here is nobody's
// error: the lease runs out by itself.
func (h *heldLease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, h.lock.Renew)
	defer cancel()
	_ = h.put(ctx, "")
}
