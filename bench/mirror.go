package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
)

// What the figures of mirrors are taken with.
const (
	mirrorLinks    = 20
	mirrorServices = 2000 // in the target and in the source
	mirrorExports  = 50   // of the target's, which every link mirrors
	mirrorBulk     = 1000 // exports at once, to one link
	mirrorRounds   = 5    // of exports at once
	mirrorLatency  = 200  // exports one after another
	// Between two exports. What follows the first one, such as the status of the Links, is written by then.
	betweenExports = 300 * time.Millisecond
)

// mirrorBed is a source with links to one target, by many names.
type mirrorBed struct {
	clusters   *testbed.ControlPlanes
	west, east *kubernetes.Clientset
	program    string
	gateways   *gateways
	ready      *readyMirrors
}

// takeMirror returns what one process costs that mirrors all links of a cluster, and one for each link.
func takeMirror(ctx context.Context, opts options) (err error) {
	clusters, err := testbed.Start(ctx, testbed.Options{Names: []string{"west", "east"}, Light: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clusters.Close()) }()
	for _, c := range clusters.Clusters {
		c.Config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	}
	b := &mirrorBed{
		clusters: clusters, program: opts.program,
		west: kubernetes.NewForConfigOrDie(clusters.Cluster("west").As("bench")), east: kubernetes.NewForConfigOrDie(clusters.Cluster("east").As("bench")),
	}
	if b.gateways, err = newGateways(ctx); err != nil {
		return err
	}
	if err := b.setUp(ctx); err != nil {
		return err
	}
	if b.ready, err = watchMirrors(ctx, b.west); err != nil {
		return err
	}
	arms := []struct {
		name string
		take func(context.Context) error
	}{
		{"first", b.takeFirst}, {"restart", b.takeRestart}, {"latency", b.takeLatency}, {"bulk", b.takeBulk}, {"death", b.takeDeath}, {"half", b.takeHalf}, {"per-link", b.takePerLink},
	}
	for i, step := range arms {
		if i > 0 && opts.arms != "" && !slices.Contains(strings.Split(opts.arms, ","), step.name) { // all others need what the first one makes
			continue
		}
		if err := step.take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// takeFirst starts one process for all links, which mirrors everything for the first time.
func (b *mirrorBed) takeFirst(ctx context.Context) error {
	begun := time.Now()
	p, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	if err := b.ready.await(ctx, mirrorLinks*mirrorExports, ""); err != nil {
		return err
	}
	fmt.Printf("first start: %d mirrors of %d links ready after %v\n", mirrorLinks*mirrorExports, mirrorLinks, time.Since(begun).Round(10*time.Millisecond))
	return b.atRest(ctx, "one process, all links", p)
}

// takeRestart starts it again, with everything in place.
func (b *mirrorBed) takeRestart(ctx context.Context) error {
	begun := time.Now()
	p, err := b.lead(ctx, linkNames()...)
	if err != nil {
		return err
	}
	defer p.stop()
	took := time.Since(begun)
	pause(ctx, 5*time.Second)
	requests, err := b.requests(begun)
	if err != nil {
		return err
	}
	fmt.Printf("start with %d mirrors in place: leads all links after %v; writes: %d\n", mirrorLinks*mirrorExports, took.Round(10*time.Millisecond), writes(requests))
	return b.atRest(ctx, "one process, all links, after a restart", p)
}

// takeDeath has all gateways die.
func (b *mirrorBed) takeDeath(ctx context.Context) error {
	p, err := b.lead(ctx, linkNames()...)
	if err != nil {
		return err
	}
	defer p.stop()
	pause(ctx, 5*time.Second) // each was probed once
	begun := time.Now()
	b.gateways.dead.Store(true)
	if err := b.ready.awaitGone(ctx, ""); err != nil {
		return err
	}
	died := time.Since(begun)
	begun = time.Now()
	b.gateways.dead.Store(false)
	if err := b.ready.await(ctx, mirrorLinks*mirrorExports, ""); err != nil {
		return err
	}
	fmt.Printf("all gateways die (period 3 s, threshold 3): no address ready after %v; alive again: all ready after %v\n",
		died.Round(10*time.Millisecond), time.Since(begun).Round(10*time.Millisecond))
	return nil
}

// takeHalf runs one process for half of the links: what a further link costs.
func (b *mirrorBed) takeHalf(ctx context.Context) error {
	p, err := b.lead(ctx, linkNames()[:mirrorLinks/2]...)
	if err != nil {
		return err
	}
	defer p.stop()
	pause(ctx, 5*time.Second)
	return b.atRest(ctx, fmt.Sprintf("one process, %d links", mirrorLinks/2), p)
}

// takePerLink runs one process for each link.
func (b *mirrorBed) takePerLink(ctx context.Context) error {
	var all []*mirrorProcess
	defer func() {
		for _, p := range all {
			p.stop()
		}
	}()
	for _, link := range linkNames() {
		p, err := b.start(ctx, link)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	for _, p := range all {
		if err := p.awaitLeading(ctx, 1); err != nil {
			return err
		}
	}
	pause(ctx, 5*time.Second)
	return b.atRest(ctx, fmt.Sprintf("%d processes, one link each", mirrorLinks), all...)
}

// atRest prints what processes take while nothing changes: most memory, requests, time of a core.
func (b *mirrorBed) atRest(ctx context.Context, what string, all ...*mirrorProcess) error {
	const rest = 30 * time.Second
	pause(ctx, 5*time.Second)
	begun, used := time.Now(), processorOf(all)
	var resident, anonymous float64
	for time.Since(begun) < rest {
		pause(ctx, time.Second)
		r, a, err := memoryOf(all)
		if err != nil {
			return err
		}
		resident, anonymous = max(resident, r), max(anonymous, a)
	}
	requests, err := b.requests(begun)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %.1f MiB resident, %.1f MiB of it its own memory; in %v at rest %d writes, %d other requests beside Leases, %.2f %% of a core\n",
		what, resident, anonymous, rest, writes(requests), len(requests)-writes(requests), 100*(processorOf(all)-used).Seconds()/rest.Seconds())
	return nil
}

// requests are those of mirrors in both clusters since then, other than for Leases.
func (b *mirrorBed) requests(since time.Time) ([]testbed.Request, error) {
	var out []testbed.Request
	for _, c := range b.clusters.Clusters {
		all, err := c.Requests("linkwright")
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(all, func(r testbed.Request) bool { return r.Received.Before(since) || r.Resource == "leases" })...)
	}
	return out, nil
}

// kinds counts requests by what they ask for.
func kinds(all []testbed.Request) map[string]int {
	out := map[string]int{}
	for _, r := range all {
		out[fmt.Sprintf("%s %s/%s %d", r.Verb, r.Resource, r.Subresource, r.Code)]++
	}
	return out
}

func writes(all []testbed.Request) (n int) {
	for _, r := range all {
		if r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" {
			n++
		}
	}
	return n
}

func (b *mirrorBed) label(ctx context.Context, name, labels string) error {
	patch := []byte(`{"metadata":{"labels":` + labels + `}}`)
	// Kubernetes copies the labels of a Service to its Endpoints. There is no controller here that would.
	if _, err := b.east.CoreV1().Endpoints("shop").Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	_, err := b.east.CoreV1().Services("shop").Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func linkNames() []string {
	out := make([]string, mirrorLinks)
	for i := range out {
		out[i] = fmt.Sprintf("east%02d", i)
	}
	return out
}

func serviceName(i int) string { return fmt.Sprintf("web%04d", i) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// gateways answers the probes of all links: processes reach it as their HTTP proxy.
type gateways struct {
	address string
	dead    atomic.Bool
}

func newGateways(ctx context.Context) (*gateways, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gateways{address: "http://" + l.Addr().String()}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if g.dead.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	return g, nil
}

// exportedService is a Service of the target, with Endpoints of one address.
func exportedService(name string, labels map[string]string) (*corev1.Service, *corev1.Endpoints) { //nolint:staticcheck // what Linkerd's clients read
	meta := metav1.ObjectMeta{Name: name, Labels: labels}
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}},
		&corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // what Linkerd's clients read
			Addresses: []corev1.EndpointAddress{{IP: "10.1.2.3"}}, Ports: []corev1.EndpointPort{{Name: "http", Port: 8080}},
		}}}
}
