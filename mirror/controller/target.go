package controller

import (
	"context"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/mirror"
	"github.com/linkwright/linkwright/mirror/probe"
)

// target is what is done for one link: its Lease is held, its target is watched, its gateway is resolved and probed. It goes on while the Link exists.
type target struct {
	*Controller
	name   string
	prober *probe.Prober
	cancel context.CancelFunc
	work   sync.WaitGroup

	edited chan struct{} // the Link, or its Secret, changed
	moved  chan struct{} // the Link's gateway changed

	mu       sync.Mutex
	link     link
	watches  string // the label selectors of link, as a connection has them; written with link
	isLeader bool
	gateway  gateway
	services *connection // what is known of the target; nil: nothing yet
	problem  error       // why the target cannot be read
	results  map[types.NamespacedName][]mirror.Status
	// unwritten is since when results are not in the Link's status; zero: all are.
	unwritten time.Time
}

func newTarget(ctx context.Context, c *Controller, l link) *target {
	t := &target{
		Controller: c, name: l.Metadata.Name, link: l, watches: l.watched(c.options).String(), edited: make(chan struct{}, 1), moved: make(chan struct{}, 1),
		results: map[types.NamespacedName][]mirror.Status{},
	}
	t.prober = probe.New(c.options.Transport, c.metrics.probes.Of(t.name), t.gatewayChanged)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the workers do
	t.cancel = cancel
	t.work.Go(func() { t.prober.Run(ctx) })
	t.work.Go(func() { t.resolveGateway(ctx) })
	t.work.Go(func() { t.connect(ctx) })
	t.work.Go(func() { c.hold(ctx, leaseOf(t.name), t.name) })
	signal(t.edited)
	signal(t.moved)
	return t
}

// stop ends all work, and releases the Lease.
func (t *target) stop() {
	t.cancel()
	t.work.Wait()
}

// signal wakes whoever waits for a channel, once.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// set takes over an edit of the Link.
func (t *target) set(l link) {
	t.mu.Lock()
	was := t.link
	if was.Metadata.UID == l.Metadata.UID && version(&l.Metadata) < version(&was.Metadata) {
		t.mu.Unlock()
		return // the status was written since
	}
	edited := !reflect.DeepEqual(was.Spec, l.Spec) || was.Metadata.UID != l.Metadata.UID || was.isHeadless(t.options) != l.isHeadless(t.options)
	t.link = l
	if !edited {
		added := t.addedByOthers(was.Status, l.Status)
		t.mu.Unlock()
		for _, key := range added {
			t.Controller.services.Add(key)
		}
		return
	}
	t.watches = l.watched(t.options).String()
	t.mu.Unlock()
	signal(t.edited)
	signal(t.moved)
	t.probe()
	t.enqueue()
}

// lead follows a change of leadership: only the leader probes and writes.
func (t *target) lead(yes bool) {
	t.mu.Lock()
	t.isLeader = yes
	clear(t.results) // another process may have written since
	t.mu.Unlock()
	if yes {
		t.options.Log.Info("leads the link", "link", t.name)
		t.presume()
	} else {
		t.options.Log.Info("no longer leads the link", "link", t.name)
	}
	t.probe()
	if yes {
		t.enqueue()
	}
}

// probe has the gateway probed as the Link says, if this process leads.
func (t *target) probe() {
	t.mu.Lock()
	defer t.mu.Unlock()
	var spec probe.Spec
	if t.isLeader && t.link.Spec.GatewayAddress != "" {
		var err error
		if spec, err = probe.ParseSpec(t.options.ProbeService(t.name), t.link.Spec.ProbeSpec); err != nil {
			t.options.Log.Warn("gateway is not probed", "link", t.name, "error", err)
		}
	}
	t.prober.Set(spec)
}

// gatewayChanged has all that depends on the gateway written.
func (t *target) gatewayChanged() {
	t.metrics.repairs.WithLabelValues(t.name).Inc()
	t.enqueue()
}

// enqueue has everything looked at that concerns the link: what its target exports, what the source holds of it, and what its Link's status lists.
func (t *target) enqueue() {
	t.mu.Lock()
	services, listed := t.services, t.link.Status.services()
	t.mu.Unlock()
	if services != nil {
		services.each(t.Controller.services.Add)
	}
	for _, key := range append(t.source.of(t.name), listed...) {
		t.Controller.services.Add(key)
	}
	t.linkKeys.Add(t.name)
}

// addedByOthers are the Services that another process added to the Link's status, which may not be mirrored any more. t.mu is held.
func (t *target) addedByOthers(was, is linkStatus) (out []types.NamespacedName) {
	for _, key := range is.services() {
		if _, known := t.results[key]; !known && !was.lists(key) {
			out = append(out, key)
		}
	}
	return out
}

// enqueueNamespace has the Services of a namespace looked at: it exists now, or no more.
func (t *target) enqueueNamespace(name string) {
	t.mu.Lock()
	services := t.services
	t.mu.Unlock()
	if services == nil {
		return
	}
	services.each(func(key types.NamespacedName) {
		if key.Namespace == name {
			t.Controller.services.Add(key)
		}
	})
}

// state is what is known of an exported Service in the target.
func (t *target) state(key types.NamespacedName) mirror.Link {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := mirror.Link{
		Name: t.name, Created: t.link.Metadata.CreationTimestamp.Time, Spec: t.link.Spec.LinkSpec, Headless: t.link.isHeadless(t.options), Gateway: t.gateway.Gateway,
	}
	out.Gateway.Dead = t.prober.Dead() != nil
	if !t.gateway.isOf(t.link) || t.services == nil || t.services.selectors != t.watches {
		return out
	}
	out.Service, out.Endpoints, out.Synced = t.services.get(key)
	return out
}

// isStarting reports whether the target was not read yet, and may still be: nothing is wrong so far.
func (t *target) isStarting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.services == nil && t.problem == nil
}

// record notes how an exported Service is mirrored, which the Link's status then says.
func (t *target) record(key types.NamespacedName, service *corev1.Service, statuses []mirror.Status) {
	t.mu.Lock()
	was, known := t.results[key]
	notMirrored := len(statuses) == 0 && !t.link.Status.lists(key) // nor listed: of most Services that targets of other links export
	if known && reflect.DeepEqual(was, statuses) || !known && notMirrored {
		t.mu.Unlock()
		return
	}
	t.results[key] = statuses
	if t.unwritten.IsZero() {
		t.unwritten = time.Now()
	}
	before := t.link.Status
	services := t.services
	t.mu.Unlock()
	t.linkKeys.AddAfter(t.name, statusDelay)
	if service != nil && services != nil {
		services.announce(service, statuses, before)
	}
}
