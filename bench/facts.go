package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
)

// followInterval is a little more than the time for which a link that followed a fact does not follow the next (docs/explanation/engine.md).
const followInterval = 31 * time.Second

// What is measured in turn.
const (
	oneAtATime = "one gateway at a time"
	together   = "all gateways at once"
)

// takeFacts returns how long it takes from a changed gateway of a target until its source's Linkerd Link has the new address.
func takeFacts(ctx context.Context, opts options) (err error) {
	if err := checkMemory(opts.clusters * need); err != nil {
		return err
	}
	r, err := newRing(ctx, opts.clusters, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.daemon.stop(), r.bed.Close()) }()
	times := map[string][]time.Duration{}
	for round := range opts.rounds * 2 {
		what := []string{oneAtATime, together}[round%2]
		took, err := r.follow(ctx, what, round)
		if err != nil {
			return fmt.Errorf("round %d, %s: %w", round+1, what, err)
		}
		times[what] = append(times[what], took...)
		logf("%-22s p50 %v, most %v so far", what, quantile(times[what], 0.5), quantile(times[what], 1))
	}
	fmt.Printf("\n%d links in a ring of as many light clusters; from before a gateway's address is changed until the Linkerd Link of its source is written\n\n", opts.clusters)
	var rows [][]any
	for _, what := range []string{oneAtATime, together} {
		t := times[what]
		rows = append(rows, []any{what, len(t), quantile(t, 0.5), quantile(t, 0.99), quantile(t, 1)})
	}
	table([]any{"what changes", "links", "p50", "p99", "most"}, rows)
	return nil
}

// follow changes the gateway of every cluster once no link is rate-limited, and returns how long each link took.
func (r *clusterRing) follow(ctx context.Context, what string, round int) ([]time.Duration, error) {
	if err := r.waitUnlimited(ctx); err != nil {
		return nil, err
	}
	n := len(r.bed.Clusters)
	started := make([]time.Time, n)
	g, inner := errgroup.WithContext(ctx)
	if what == oneAtATime {
		g.SetLimit(1)
	}
	for i, target := range r.bed.Clusters {
		g.Go(func() error {
			source, address := api.ClusterName(r.bed.Clusters[(i+n-1)%n].Name), fmt.Sprintf("203.0.113.%d", 1+i+round%2*100)
			if round%4 > 1 {
				address = fmt.Sprintf("198.51.100.%d", 1+i+round%2*100)
			}
			r.expect(source, fmt.Sprintf(`"gatewayAddress":%q`, address))
			started[i] = time.Now()
			if err := testbed.SetGateway(inner, target.Config, address); err != nil || what == together {
				return err
			}
			_, err := r.waitReached(inner, "")
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	at, err := r.waitReached(ctx, "")
	if err != nil {
		return nil, err
	}
	took := make([]time.Duration, n)
	for i := range took {
		took[i] = at[api.ClusterName(r.bed.Clusters[(i+n-1)%n].Name)].Sub(started[i])
	}
	return took, nil
}

// waitUnlimited waits until no link is rate-limited.
func (r *clusterRing) waitUnlimited(ctx context.Context) error {
	if err := r.waitReady(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(followInterval):
		return nil
	}
}
