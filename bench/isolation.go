package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
)

// need is the memory in MiB that a light cluster takes.
const need = 500

// clusterRing is a fleet of real clusters, each linked to the next, and a daemon.
type clusterRing struct {
	bed      *testbed.ControlPlanes
	fleet    *declared
	registry *cluster.Registry
	daemon   *daemon
	commit   int
	more     string // declarations, beside clusters and links

	mu        sync.Mutex
	expected  map[api.ClusterName]string    // what the Linkerd Link of a cluster must hold
	writtenAt map[api.ClusterName]time.Time // when one was written that does
	news      chan struct{}
}

// takeIsolation returns how long a commit takes to reach the other clusters while one of them hangs.
func takeIsolation(ctx context.Context, opts options) (err error) {
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
		hangs := r.bed.Clusters[(7*round)%opts.clusters]
		if err := r.measureRound(ctx, hangs, times); err != nil {
			return fmt.Errorf("round %d, while %s hangs: %w", round+1, hangs.Name, err)
		}
	}
	fmt.Printf("\n%d light clusters in a ring; from a commit that is told until the Linkerd Link of each other cluster is written\n\n", opts.clusters)
	var rows [][]any
	for _, what := range []string{noneHangs, hangsNow, stillHangs} {
		t := times[what]
		rows = append(rows, []any{what, len(t), quantile(t, 0.5), quantile(t, 0.99), fmt.Sprintf("%.3f", float64(quantile(t, 0.99))/float64(quantile(times[noneHangs], 0.99)))})
	}
	table([]any{"hangs", "passes of a cluster", "p50", "p99", "p99 ÷ that while nobody hangs"}, rows)
	return nil
}

// What is measured in turn.
const (
	noneHangs  = "nobody"
	hangsNow   = "one, since now"
	stillHangs = "one, for a while"
)

// checkMemory returns an error if the machine has no room for so much.
func checkMemory(mib int) error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err == nil && kib/1024 < mib {
		err = fmt.Errorf("%d MiB of memory are available, and the clusters need %d: give fewer -clusters", kib/1024, mib)
	}
	return err
}

func newRing(ctx context.Context, clusters int, more string) (_ *clusterRing, err error) {
	names := make([]string, clusters)
	for i := range names {
		names[i] = fmt.Sprintf("c%02d", i)
	}
	bed, err := testbed.Start(ctx, testbed.Options{Names: names, Light: true, AtOnce: 4})
	if err != nil {
		return nil, err
	}
	r := &clusterRing{bed: bed, more: more, fleet: &declared{}, expected: map[api.ClusterName]string{}, writtenAt: map[api.ClusterName]time.Time{}, news: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, bed.Close())
		}
	}()
	r.registry = cluster.New(cluster.Options{})
	for i, c := range bed.Clusters {
		if err := testbed.InstallLinkerd(ctx, c.Config, testbed.Linkerd{GatewayAddresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)}}); err != nil {
			return nil, err
		}
		if err := r.registry.Spawn(ctx, api.ClusterName(c.Name), c.Config); err != nil {
			return nil, err
		}
	}
	return r, r.begin(ctx)
}

// begin waits until everything is ready.
func (r *clusterRing) begin(ctx context.Context) error {
	if err := r.declare(); err != nil {
		return err
	}
	l := loop(r.fleet, r, &simCluster{}, r.registry)
	r.daemon = begin(ctx, l, func(ctx context.Context) error {
		var errs []error
		for _, name := range r.registry.Names() {
			errs = append(errs, r.registry.Stop(ctx, name))
		}
		return errors.Join(errs...)
	})
	return r.waitReady(ctx)
}

// waitReady waits until every cluster has the commit and every end is in place; Deployments are helped to become available.
func (r *clusterRing) waitReady(ctx context.Context) error {
	if _, err := r.waitReached(ctx, ""); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		for _, c := range r.bed.Clusters {
			b := &environment{}
			if err := b.connect(c); err != nil {
				return err
			}
			if err := b.ready(ctx); err != nil {
				return err
			}
		}
		last, err := r.daemon.nextReports(ctx, 1)
		if err != nil || unreadyEnds(last) == 0 {
			return err
		}
	}
}

// declare makes a commit that changes the Linkerd Link of every cluster, and nothing else.
func (r *clusterRing) declare() error {
	r.commit++
	var text strings.Builder
	text.WriteString(policyDoc)
	for i, c := range r.bed.Clusters {
		r.expect(api.ClusterName(c.Name), fmt.Sprintf(`"commit-%d"`, r.commit))
		text.WriteString(clusterDoc(c.Name))
		next := r.bed.Clusters[(i+1)%len(r.bed.Clusters)].Name
		fmt.Fprintf(&text, "---\napiVersion: %s\nkind: Link\nmetadata: {name: %s-%s}\nspec: {source: %s, target: %s, excludedLabels: [commit-%d]}\n",
			api.GroupVersion, c.Name, next, c.Name, next, r.commit)
	}
	return r.fleet.load(text.String() + r.more)
}

// expect sets the text that a cluster's Linkerd Link must have to count as written.
func (r *clusterRing) expect(name api.ClusterName, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected[name] = text
	delete(r.writtenAt, name)
}

// measureRound measures a commit while nobody hangs, one while a cluster hangs since just now, and one while it still does.
func (r *clusterRing) measureRound(ctx context.Context, hangs *testbed.Cluster, times map[string][]time.Duration) error {
	if err := r.measureCommit(ctx, noneHangs, hangs.Name, times); err != nil {
		return err
	}
	if err := r.waitReady(ctx); err != nil {
		return err
	}
	if err := hangs.Pause(); err != nil {
		return err
	}
	for _, what := range []string{hangsNow, stillHangs} { // the second once the pass of the first is told
		err := r.measureCommit(ctx, what, hangs.Name, times)
		if err == nil {
			_, err = r.daemon.nextReports(ctx, 1)
		}
		if err != nil {
			return errors.Join(err, hangs.Resume())
		}
	}
	return errors.Join(hangs.Resume(), r.waitReady(ctx))
}

// measureCommit publishes a commit and waits until all clusters but one have it.
func (r *clusterRing) measureCommit(ctx context.Context, what, but string, times map[string][]time.Duration) error {
	if err := r.declare(); err != nil {
		return err
	}
	start := time.Now()
	r.daemon.poke <- struct{}{}
	at, err := r.waitReached(ctx, but)
	if err != nil {
		return err
	}
	for name, done := range at {
		if string(name) != but {
			times[what] = append(times[what], done.Sub(start))
		}
	}
	logf("%-16s %s: p50 %v, most %v so far", what, but, quantile(times[what], 0.5), quantile(times[what], 1))
	return nil
}

// waitReached waits until the expected text is written in all clusters but one, and returns the times.
func (r *clusterRing) waitReached(ctx context.Context, but string) (map[api.ClusterName]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		at, missing := r.written(but)
		if len(missing) == 0 {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s lack what is awaited: %w", strings.Join(missing, ", "), ctx.Err())
		case <-r.news:
		}
	}
}

func (r *clusterRing) written(but string) (at map[api.ClusterName]time.Time, missing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at = map[api.ClusterName]time.Time{}
	for _, c := range r.bed.Clusters {
		name := api.ClusterName(c.Name)
		if done, ok := r.writtenAt[name]; ok {
			at[name] = done
		} else if c.Name != but {
			missing = append(missing, c.Name)
		}
	}
	return at, missing
}

// Follow implements sync.Clusters.
func (*clusterRing) Follow(context.Context, []fleet.Cluster) map[api.ClusterName]error { return nil }

// Token implements sync.Clusters.
func (*clusterRing) Token(context.Context, api.ClusterName, object.TokenRequest) (object.Secret, error) {
	return object.Secret{}, errLegacy
}

// WithCluster implements sync.Clusters.
func (r *clusterRing) WithCluster(ctx context.Context, name api.ClusterName, f func(object.Cluster) error) error {
	return r.registry.WithClient(ctx, name, func(client *cluster.Client) error {
		return f(recordingCluster{client, func(c object.Change) { r.record(name, c) }})
	})
}

// record takes the time of a Linkerd Link that holds what is awaited, the first time.
func (r *clusterRing) record(name api.ClusterName, c object.Change) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, done := r.writtenAt[name]; !done && c.Key.Kind == "Link" && strings.Contains(string(c.Object.Body.Bytes()), r.expected[name]) {
		r.writtenAt[name] = now
		notify(r.news)
	}
}
