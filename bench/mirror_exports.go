package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
)

// takeLatency exports Services one after another, each in a cluster at rest: to all links, and to one link. A bare loop creates Services and
// Endpoints in the same way, for comparison, before a mirror runs.
func (b *mirrorBed) takeLatency(ctx context.Context) error {
	bare, err := b.bareOneByOne(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("a bare loop creates a Service and Endpoints, until it sees them: %s\n", percentiles(bare))
	p, err := b.lead(ctx, linkNames()...)
	if err != nil {
		return err
	}
	defer p.stop()
	var first []time.Duration
	all, err := b.exportOneByOne(ctx, "true", func(prefix string, begun time.Time) error {
		if err := b.ready.await(ctx, 1, prefix); err != nil {
			return err
		}
		first = append(first, time.Since(begun))
		return b.ready.await(ctx, mirrorLinks, prefix)
	})
	if err != nil {
		return err
	}
	fmt.Printf("from an export to all %d links to its first ready mirror: %s; to the last one: %s\n", mirrorLinks, percentiles(first), percentiles(all))
	if err := b.selectAlso(ctx, "single"); err != nil {
		return err
	}
	pause(ctx, 5*time.Second) // the mirror reads the target by the new selector
	one, err := b.exportOneByOne(ctx, "single", func(prefix string, _ time.Time) error { return b.ready.await(ctx, 1, prefix) })
	if err != nil {
		return err
	}
	fmt.Printf("from an export to one link to its ready mirror: %s\n", percentiles(one))
	return b.selectAlso(ctx, "")
}

// exportOneByOne exports Services by a value of the label, and returns how long each took until its mirrors were ready, whose names begin with prefix.
func (b *mirrorBed) exportOneByOne(ctx context.Context, value string, ready func(prefix string, begun time.Time) error) ([]time.Duration, error) {
	name := func(i int) string { return serviceName(mirrorExports + i) }
	return oneByOne(ctx, func(i int, begun time.Time) error {
		if err := b.label(ctx, name(i), fmt.Sprintf(`{"mirror.linkerd.io/exported":%q}`, value)); err != nil {
			return err
		}
		return ready(name(i)+"-", begun)
	}, func(i int) error {
		if err := b.label(ctx, name(i), `{"mirror.linkerd.io/exported":null}`); err != nil {
			return err
		}
		return b.ready.awaitGone(ctx, name(i)+"-")
	})
}

// bareOneByOne creates what mirrors consist of with nothing but the client.
func (b *mirrorBed) bareOneByOne(ctx context.Context) ([]time.Duration, error) {
	client, err := b.bareClient()
	if err != nil {
		return nil, err
	}
	name := func(i int) string { return fmt.Sprintf("alone%04d", i) }
	return oneByOne(ctx, func(i int, _ time.Time) error {
		if err := createService(ctx, client, name(i), map[string]string{"mirror.linkerd.io/mirrored-service": "true"}); err != nil {
			return err
		}
		return b.ready.await(ctx, 1, name(i))
	}, func(i int) error { return deleteService(ctx, client, name(i)) })
}

// oneByOne does and undoes something many times, with pauses, and returns how long it took each time to do it.
func oneByOne(ctx context.Context, do func(i int, begun time.Time) error, undo func(i int) error) ([]time.Duration, error) {
	var out []time.Duration
	for i := range mirrorLatency {
		begun := time.Now()
		if err := do(i, begun); err != nil {
			return nil, err
		}
		out = append(out, time.Since(begun))
		if err := undo(i); err != nil {
			return nil, err
		}
		pause(ctx, betweenExports)
	}
	return out, nil
}

// percentiles returns p50 and p99 as text.
func percentiles(of []time.Duration) string {
	return fmt.Sprintf("p50 %v, p99 %v", quantile(of, 0.5), quantile(of, 0.99))
}

// takeBulk selects many Services at once, for one link. A bare loop creates as many Services and Endpoints before each time, for comparison.
func (b *mirrorBed) takeBulk(ctx context.Context) error {
	var times, bare []time.Duration
	for range mirrorRounds {
		took, err := b.createBare(ctx)
		if err != nil {
			return err
		}
		bare = append(bare, took)
		if took, err = b.bulk(ctx); err != nil {
			return err
		}
		times = append(times, took)
	}
	fmt.Printf("%d exports at once: all mirrors ready after %v; a bare loop that creates as many Services and Endpoints takes %v (medians of %d rounds)\n",
		mirrorBulk, quantile(times, 0.5), quantile(bare, 0.5), mirrorRounds)
	return nil
}

// bulk returns how long it takes until all mirrors are ready, and removes them again.
func (b *mirrorBed) bulk(ctx context.Context) (time.Duration, error) {
	p, err := b.lead(ctx, linkNames()...)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	begun, used := time.Now(), processorOf([]*mirrorProcess{p})
	if err := b.selectAlso(ctx, "bulk"); err != nil {
		return 0, err
	}
	if err := b.ready.await(ctx, mirrorBulk, "bulk"); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	requests, err := b.requests(begun)
	if err != nil {
		return 0, err
	}
	fmt.Printf("  a round: all mirrors ready after %v, with %d writes and %v of processor time\n", took.Round(10*time.Millisecond), writes(requests), processorOf([]*mirrorProcess{p})-used)
	all := kinds(requests)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("  %5d %s\n", all[what], what)
	}
	if err := b.selectAlso(ctx, ""); err != nil {
		return 0, err
	}
	return took, b.gone(ctx, "bulk")
}

// selectAlso has the first link select Services with another value of the label, too; "": no others.
func (b *mirrorBed) selectAlso(ctx context.Context, value string) error {
	selector := `{"matchLabels":{"mirror.linkerd.io/exported":"true"},"matchExpressions":null}`
	if value != "" {
		selector = fmt.Sprintf(`{"matchLabels":null,"matchExpressions":[{"key":"mirror.linkerd.io/exported","operator":"In","values":["true",%q]}]}`, value)
	}
	_, err := b.links().Patch(ctx, linkNames()[0], types.MergePatchType, []byte(`{"spec":{"selector":`+selector+`}}`), metav1.PatchOptions{})
	return err
}

// bareClient talks to the source as the mirror does.
func (b *mirrorBed) bareClient() (*kubernetes.Clientset, error) {
	cfg := rest.CopyConfig(b.clusters.Cluster("west").As("bench"))
	cfg.ContentType, cfg.QPS = "application/vnd.kubernetes.protobuf", -1
	return kubernetes.NewForConfig(cfg)
}

// createBare creates as many Services and Endpoints as the mirrors of takeBulk are, with nothing but the client, and deletes them again. It returns
// how long creating them took: the least of several numbers of requests at once.
func (b *mirrorBed) createBare(ctx context.Context) (time.Duration, error) {
	least := time.Duration(math.MaxInt64)
	client, err := b.bareClient()
	if err != nil {
		return 0, err
	}
	for _, width := range []int{4, 16} {
		begun := time.Now()
		g, inner := errgroup.WithContext(ctx)
		g.SetLimit(width)
		for i := range mirrorBulk {
			g.Go(func() error {
				return createService(inner, client, fmt.Sprintf("bare%04d", i), map[string]string{"bench": "bare"})
			})
		}
		if err := g.Wait(); err != nil {
			return 0, err
		}
		least = min(least, time.Since(begun))
		if err := deleteBare(ctx, client); err != nil {
			return 0, err
		}
	}
	return least, nil
}

func deleteBare(ctx context.Context, client *kubernetes.Clientset) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range mirrorBulk {
		name := fmt.Sprintf("bare%04d", i)
		g.Go(func() error { return deleteService(ctx, client, name) })
	}
	return g.Wait()
}

func deleteService(ctx context.Context, client *kubernetes.Clientset, name string) error {
	if err := client.CoreV1().Endpoints("shop").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return client.CoreV1().Services("shop").Delete(ctx, name, metav1.DeleteOptions{})
}

// gone waits until no Service of the source has a name that begins with prefix.
func (b *mirrorBed) gone(ctx context.Context, prefix string) error {
	return testbed.Eventually(ctx, 2*time.Minute, func(ctx context.Context) (bool, error) {
		all, err := b.west.CoreV1().Services("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(all.Items, func(s corev1.Service) bool { return strings.HasPrefix(s.Name, prefix) }), nil
	})
}
