package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/sync/lease"
)

// locks are the leases to hold: the installation's, or one for each cluster of --only-write, once and in order of their
// names: two processes that each held what the other waits for would wait for ever.
func (e *engine) locks(h *homeFlags) ([]lease.Lock, error) {
	cfg := rest.CopyConfig(e.clusters.homeCfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return e.clusters.traffic.through(homeLabel, next, always(aboutLease))
	})
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the home cluster: %w", err)
	}
	names := []string{"linkwright-" + h.owner}
	if len(h.only) > 0 {
		names = nil
		for _, cluster := range slices.Compact(slices.Sorted(slices.Values(h.only))) {
			names = append(names, "linkwright-"+h.owner+"-"+cluster)
		}
	}
	var locks []lease.Lock
	for _, name := range names {
		locks = append(locks, lease.Lock{
			Client: client.CoordinationV1(), Namespace: h.namespace, Name: name, Identity: identity(),
		})
	}
	return locks, nil
}

// take is Lock.Hold or Lock.Once.
type take func(lease.Lock, context.Context, func(context.Context, int64) error) error

// lead is holding, with what to do where the home cluster has no place for the lease.
func lead(ctx context.Context, locks []lease.Lock, how take, f func(context.Context, int64) error) error {
	err := holding(ctx, locks, how, f)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: create the namespace in the home cluster, or name another with --namespace", err)
	}
	return err
}

// holding calls f while all locks are held, with the greatest of their terms.
func holding(ctx context.Context, locks []lease.Lock, how take, f func(context.Context, int64) error) error {
	if len(locks) == 0 {
		return f(ctx, 0)
	}
	return how(locks[0], ctx, func(ctx context.Context, mine int64) error {
		return holding(ctx, locks[1:], how, func(ctx context.Context, term int64) error {
			return f(ctx, max(mine, term))
		})
	})
}
