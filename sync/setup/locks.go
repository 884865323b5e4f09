package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/lease"
)

// Locks returns the leases to hold: the installation's, or one for each cluster of --only-write, once and in order of their names: two processes
// that each held what the other waits for would wait for ever.
func (e *Engine) Locks(only ...api.ClusterName) ([]lease.Lock, error) {
	client, err := kubernetes.NewForConfig(e.Clusters.LeaseConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the management cluster: %w", err)
	}
	named := func(of string, name string) lease.Lock {
		return lease.Lock{Client: client.CoordinationV1(), Namespace: e.Loop.Management.Namespace, Name: name, Identity: Identity(), Of: of}
	}
	owner := e.Loop.Owner
	if len(only) == 0 {
		return []lease.Lock{named("--owner "+owner, LeaseOf(owner))}, nil
	}
	var locks []lease.Lock
	for _, cluster := range slices.Compact(slices.Sorted(slices.Values(only))) {
		locks = append(locks, named(OfOnly(owner, cluster), LeaseOnly(owner, cluster)))
	}
	return locks, nil
}

// Syncing are locks of which the leases keep whose the last sync was.
func Syncing(locks []lease.Lock) []lease.Lock {
	for i := range locks {
		locks[i].Syncs = true
	}
	return locks
}

// LeaseOf returns the name of an installation's lease.
func LeaseOf(owner string) string { return "linkwright-" + owner }

// LeaseOnly returns the name of the lease of a process with --only-write for a cluster: another installation's may have that name.
func LeaseOnly(owner string, cluster api.ClusterName) string {
	return LeaseOf(owner) + "-" + string(cluster)
}

// OfOnly returns what that lease is about.
func OfOnly(owner string, cluster api.ClusterName) string {
	return "--owner " + owner + " --only-write " + string(cluster)
}

// slowRetry is how often a command renews leases that it holds beside the installation's own: there may be many.
const slowRetry = 4 * time.Second

// AllLocks returns the installation's lease, and those of processes with --only-write, of all clusters that are declared, or remembered: also where
// nobody took one yet, so that none begins for the first time in the middle.
func (e *Engine) AllLocks(ctx context.Context, declared *fleet.Fleet) ([]lease.Lock, error) {
	all, err := e.Locks(e.Loop.Only...)
	if err != nil {
		return nil, err
	}
	remembered, err := e.Loop.Management.Record(ctx, e.Loop.Owner)
	if err != nil {
		return nil, fmt.Errorf("read the management cluster: %w", err)
	}
	names := slices.Clone(e.Loop.Only)
	for _, c := range declared.Clusters {
		names = append(names, c.Name)
	}
	for name := range remembered.Clusters {
		names = append(names, name)
	}
	if len(names) == 0 {
		return all, nil
	}
	each, err := e.Locks(names...)
	for i := range each {
		each[i].Retry, each[i].Borrowed = slowRetry, true
	}
	return append(all, each...), err
}

// LockMode is Lock.Hold or Lock.Once.
type LockMode func(lease.Lock, context.Context, func(context.Context, int64) error) error

// Lead calls f while all locks are held. Its errors say what to do if the management cluster does not answer, or has no place for the lease.
func (e *Engine) Lead(ctx context.Context, locks []lease.Lock, how LockMode, f func(context.Context, int64) error) error {
	begun := false
	err := holdAll(ctx, locks, how, func(ctx context.Context, leadership int64) error {
		begun = true
		return f(ctx, leadership)
	})
	if !begun { // else the error may be of another cluster
		err = e.Clusters.Management().Unanswered(err)
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: run linkwright cluster add --all PATH, which creates it and gives access to all clusters, or name another with --namespace", err)
	}
	if errors.Is(err, lease.ErrOther) {
		return fmt.Errorf("%w, or give one of the two installations another --owner", err)
	}
	return err
}

// holdAll calls f while all locks are held, with the greatest of their terms. Where one of them cannot be had nothing was done,
// and the others are let go at once: a term that fails keeps its lease until that runs out.
func holdAll(ctx context.Context, locks []lease.Lock, how LockMode, f func(context.Context, int64) error) error {
	if len(locks) == 0 {
		return f(ctx, 0)
	}
	var refused error
	err := how(locks[0], ctx, func(ctx context.Context, mine int64) error {
		err := holdAll(ctx, locks[1:], how, func(ctx context.Context, leadership int64) error {
			return f(ctx, max(mine, leadership))
		})
		if errors.Is(err, lease.ErrHeld) {
			refused, err = err, nil
		}
		return err
	})
	return errors.Join(err, refused)
}
