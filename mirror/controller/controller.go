// Package controller keeps the mirrors of all links of a source: it watches the source and every target, asks package mirror what the source must
// hold, and writes that. It replaces Linkerd's controllers, of which there is one for each link (linkerd2 multicluster/cmd/service-mirror).
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/mirror/probe"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Options are what a Controller needs. Fields without a default must be set.
type Options struct {
	Source    *rest.Config
	Namespace string // of the Links, their Secrets, Leases and probe Services
	// Links names those that are mirrored; none: all of the namespace are. The log warns of each that does not exist when Run begins.
	Links []string
	// Selector selects Links by their labels; default: all.
	Selector labels.Selector
	// Local makes the source's own Services members of federated Services, unless Linkerd's local mirror does.
	Local bool
	// Lease returns the Lease of a name in the namespace. One process at a time holds it.
	Lease func(name string) Lease
	// Config reads a kubeconfig, whose text comes from a Secret.
	Config func(kubeconfig []byte) (*rest.Config, error)
	Log    *slog.Logger

	// Headless names the links whose headless Services get a Service for each named address; "*": all. A Link may also ask for that itself, by
	// linkerd.HeadlessAnnotation.
	Headless []string
	// CreateNamespaces creates the namespace of an exported Service if the source has none.
	CreateNamespaces bool
	// ProbeService returns the name of a link's probe Service; default Linkerd's.
	ProbeService func(link string) string
	Transport    http.RoundTripper // of probes; default http.DefaultTransport
	// Resolve returns the IP addresses of a gateway's name; default DNS.
	Resolve func(ctx context.Context, host string) ([]string, error)
	Metrics prometheus.Registerer // default: none are registered
	Workers int                   // that write; default 8
}

// Lease is what a link is led by.
type Lease interface {
	// Hold calls f whenever this process holds the Lease, until ctx ends. The context of f ends when it no longer does. The Lease is released
	// after f returned.
	Hold(ctx context.Context, f func(ctx context.Context, leadership int64) error) error
}

// mirrors reports whether a link is one of those that are mirrored, if it has their labels.
func (o Options) mirrors(link string) bool {
	return len(o.Links) == 0 || slices.Contains(o.Links, link)
}

func (o Options) withDefaults() Options {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Resolve == nil {
		o.Resolve = net.DefaultResolver.LookupHost
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.Workers == 0 {
		o.Workers = 8
	}
	if o.ProbeService == nil {
		o.ProbeService = func(link string) string { return linkerd.ProbeService(api.ClusterName(link)) }
	}
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	return o
}

func (o Options) isHeadless(link string) bool {
	return slices.Contains(o.Headless, link) || slices.Contains(o.Headless, "*")
}

// Controller keeps the mirrors of one source. Work comes from two queues. Both take a key again that is under way, and retry with back-off for ever.
//
//	key                                what is made right
//	an exported Service, by its name   its mirrors of all links, and the federated Service
//	a link, by its name                what is watched for it, the Endpoints of its probe Service, the status of its Link
type Controller struct {
	options  Options
	core     *typedv1.CoreV1Client
	links    linkCache
	source   *source
	metrics  *metrics
	services workqueue.TypedRateLimitingInterface[types.NamespacedName]
	linkKeys workqueue.TypedRateLimitingInterface[string]

	mu      sync.RWMutex
	targets map[string]*target // by link
	problem error              // why the source could not be read last

	// leading is held for reading by whoever writes, and for writing by whoever begins or ends to lead a link. So no write of a link is under way
	// when its Lease is released.
	leading  sync.RWMutex
	handover atomic.Int32 // how many wait for leading: writers stop after the write under way
	led      map[string]bool
}

// localLease is the Lease of Linkerd's local mirror. Whoever holds it makes the source's own Services members of federated Services.
const localLease = "local-service-mirror-write"

// New returns a Controller that does nothing yet.
func New(o Options) (*Controller, error) {
	o = o.withDefaults()
	cfg := rest.CopyConfig(o.Source)
	cfg.QPS = -1                           // as often as there is something to write
	cfg.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated, and what Linkerd reads
	core, err := typedv1.NewForConfig(inProtobuf(cfg))
	if err != nil {
		return nil, fmt.Errorf("connect to the source: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the source: %w", err)
	}
	c := &Controller{
		options: o, core: core, metrics: newMetrics(&probe.Registrar{Registerer: o.Metrics}),
		services: workqueue.NewTypedRateLimitingQueue(backOff[types.NamespacedName]()),
		linkKeys: workqueue.NewTypedRateLimitingQueue(backOff[string]()),
		targets:  map[string]*target{}, led: map[string]bool{},
	}
	c.links = linkCache{client: dyn, namespace: o.Namespace, mirrors: o.mirrors, selector: o.Selector}
	c.source = newSource(core, o.Namespace, c)
	return c, nil
}

func backOff[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](20*time.Millisecond, time.Minute)
}

// Run keeps the mirrors until ctx ends. It then ends what is under way, and releases its Leases. It returns an error if the source has no Links.
func (c *Controller) Run(ctx context.Context) error {
	defer c.services.ShutDown()
	defer c.linkKeys.ShutDown()
	if err := c.links.discover(ctx, c.core.RESTClient()); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	// Watches end after the Leases are released, so that what is under way sees what it wrote.
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watches, work sync.WaitGroup
	defer watches.Wait()
	defer stop()
	c.source.run(watching, &watches, c.sourceFailed)
	c.links.run(watching, &watches, c.linkKeys.Add, c.sourceFailed)
	if !c.source.wait(ctx) || !c.links.wait(ctx) {
		return nil
	}
	c.warnOfMissing()
	if c.options.Local {
		work.Go(func() { c.hold(ctx, localLease, "") })
	}
	for range c.options.Workers {
		work.Go(func() { worker(ctx, c.services, c.reconcile) })
	}
	work.Go(func() { worker(ctx, c.linkKeys, c.reconcileLink) })
	<-ctx.Done()
	c.services.ShutDown()
	c.linkKeys.ShutDown()
	work.Wait()
	c.stopTargets()
	return nil
}

// warnOfMissing logs which links are expected and do not exist.
func (c *Controller) warnOfMissing() {
	for _, name := range c.options.Links {
		if _, found, _ := c.links.get(name); !found {
			c.options.Log.Warn("link not found: it is mirrored as soon as it exists", "link", name, "namespace", c.options.Namespace)
		}
	}
}

// sourceFailed notes why the source cannot be read. Several watches fail alike, again and again: it is reported once.
func (c *Controller) sourceFailed(err error) {
	c.mu.Lock()
	same := text(c.problem) == err.Error()
	c.problem = err
	c.mu.Unlock()
	if !same {
		c.options.Log.Warn("source cannot be read", "error", err)
	}
}

// Ready reports what is not read yet; nil: everything is, or does not answer.
func (c *Controller) Ready() error {
	if !c.source.hasSynced() || !c.links.hasSynced() {
		return errNotRead
	}
	for _, t := range c.all() {
		if t.isStarting() {
			return fmt.Errorf("%w: target %s", errNotRead, t.name)
		}
	}
	return nil
}

// worker is one worker of a queue.
func worker[T comparable](ctx context.Context, queue workqueue.TypedRateLimitingInterface[T], do func(context.Context, T) error) {
	for {
		key, end := queue.Get()
		if end {
			return
		}
		if ctx.Err() == nil {
			switch err := do(ctx, key); {
			case err == nil:
				queue.Forget(key)
			case errors.Is(err, errHandover):
				queue.Add(key) // nothing failed
			default:
				queue.AddRateLimited(key)
			}
		}
		queue.Done(key)
	}
}

// reconcileLink starts, changes and ends what is done for a link, and writes what is the link's own.
func (c *Controller) reconcileLink(ctx context.Context, name string) error {
	l, found, err := c.links.get(name)
	if err != nil {
		c.options.Log.Warn("link cannot be read", "link", name, "error", err)
		return nil // its next edit comes back
	}
	c.mu.Lock()
	t := c.targets[name]
	switch {
	case !found:
		delete(c.targets, name)
	case t == nil:
		t = newTarget(ctx, c, l)
		c.targets[name] = t
	}
	c.mu.Unlock()
	if !found {
		if t != nil {
			t.stop()
			c.metrics.forget(name)
		}
		return nil
	}
	t.set(l)
	return t.writeOwn(ctx)
}

func (c *Controller) all() []*target {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]*target, 0, len(c.targets))
	for _, t := range c.targets {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *target) int { return strings.Compare(a.name, b.name) })
	return out
}

func (c *Controller) stopTargets() {
	var stopped sync.WaitGroup
	for _, t := range c.all() {
		stopped.Go(t.stop)
	}
	stopped.Wait()
}

// hold leads by a Lease whenever it can be had: a link, or (link is empty) the source's own Services. A server that refuses is asked again.
func (c *Controller) hold(ctx context.Context, lease, link string) {
	for ctx.Err() == nil {
		err := c.options.Lease(lease).Hold(ctx, func(ctx context.Context, _ int64) error {
			c.lead(link, true)
			<-ctx.Done()
			c.lead(link, false)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			c.options.Log.Warn("lease cannot be held", "lease", lease, "error", err)
			pause(ctx, 5*time.Second)
		}
	}
}

// lead notes whether this process leads a link, once no write is under way.
func (c *Controller) lead(link string, yes bool) {
	c.handover.Add(1)
	c.leading.Lock()
	if yes {
		c.led[link] = true
	} else {
		delete(c.led, link)
	}
	c.handover.Add(-1)
	c.leading.Unlock()
	t := c.target(link)
	switch {
	case link == "" && yes:
		c.options.Log.Info("leads the source's own Services")
		c.enqueueLocal()
	case link == "":
		c.options.Log.Info("no longer leads the source's own Services")
	case t != nil:
		t.lead(yes)
	}
}

func (c *Controller) target(link string) *target {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.targets[link]
}

// leads reports whether this process leads a link. The caller holds leading.
func (c *Controller) leads(link string) bool { return c.led[link] }

// enqueueLocal has the source's own members of federated Services looked at.
func (c *Controller) enqueueLocal() {
	for _, key := range c.source.members() {
		c.services.Add(key)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// inProtobuf has built-in kinds sent in the encoding that takes least memory and time.
func inProtobuf(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType, cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	return cfg
}

// leaseOf is the name of the Lease that Linkerd's controller of a link leads by.
func leaseOf(link string) string { return linkerd.Lease(api.ClusterName(link)) }
