package testbed

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// attempts at one event; then only the next resync comes back to it.
const attempts = 4

// watcher follows the target of one Link as it was when the watcher began.
type watcher struct {
	*replica
	link   link
	target kubernetes.Interface

	services   *listing[*corev1.ServiceList]
	endpoints  *listing[*endpointsList]
	namespaces *listing[*corev1.NamespaceList] // at home

	lastState *state // at the last turn; nil at the first
	queue     []task
	status    *status
	alive     bool // the gateway
	prober    *prober
	repairAt  time.Time
	resyncAt  time.Time
	repairing bool // the gateway came or went
}

// newWatcher begins to follow the target of a Link.
func newWatcher(r *replica, l link, target kubernetes.Interface, p *prober) *watcher {
	return &watcher{
		replica: r, link: l, target: target, alive: true, prober: p,
		services:   listingOf(target.CoreV1().Services(""), metav1.ListOptions{}),
		endpoints:  listingOf(target.CoreV1().Endpoints(""), metav1.ListOptions{}),
		namespaces: listingOf(r.source.CoreV1().Namespaces(), metav1.ListOptions{}),
	}
}

// end ends what it follows.
func (w *watcher) end() {
	w.services.end()
	w.endpoints.end()
	w.namespaces.end()
}

// state is what was seen of the target, and which namespaces are at home.
type state struct {
	services   map[types.NamespacedName]*corev1.Service
	endpoints  map[types.NamespacedName]*endpointsObject
	namespaces map[string]bool
}

// task is what one event asks for.
type task struct {
	do    func(context.Context) error
	tries int
}

// reconcile handles what happened since the last one. A reading that fails writes
// nothing; what fails to be written does not keep the rest back.
func (w *watcher) reconcile(ctx context.Context) error {
	now, err := w.read(ctx)
	if err != nil {
		return err
	}
	if w.status == nil {
		if w.status, err = w.readStatus(ctx); err != nil {
			return err
		}
	}
	w.enqueue(now)
	w.lastState = now
	return errors.Join(w.work(ctx), w.watchGateway(ctx), w.report(ctx))
}

func (w *watcher) read(ctx context.Context) (*state, error) {
	out := &state{
		services:  map[types.NamespacedName]*corev1.Service{},
		endpoints: map[types.NamespacedName]*endpointsObject{}, namespaces: map[string]bool{},
	}
	services, err := w.services.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read target: %w", err)
	}
	for i := range services.Items {
		out.services[keyOf(&services.Items[i])] = &services.Items[i]
	}
	endpoints, err := w.endpoints.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read target: %w", err)
	}
	for i := range endpoints.Items {
		out.endpoints[keyOf(&endpoints.Items[i])] = &endpoints.Items[i]
	}
	namespaces, err := w.namespaces.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	for _, namespace := range namespaces.Items {
		out.namespaces[namespace.Name] = true
	}
	return out, nil
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// enqueue compares two readings. At the first one, and at a resync, everything
// is news; at the first one the mirrors of what vanished meanwhile go.
func (w *watcher) enqueue(now *state) {
	was, all := w.lastState, w.lastState == nil || time.Now().After(w.resyncAt)
	if was == nil {
		was = &state{}
		w.add(w.deleteOrphans)
	}
	if all {
		w.resyncAt = time.Now().Add(w.opts.Resync)
	}
	for key, service := range now.services {
		old := was.services[key]
		arrived := now.namespaces[key.Namespace] && !was.namespaces[key.Namespace]
		if all || arrived || old == nil || old.ResourceVersion != service.ResourceVersion {
			w.add(func(ctx context.Context) error { return w.changed(ctx, service) })
		}
	}
	for key, service := range was.services {
		if now.services[key] == nil {
			w.add(func(ctx context.Context) error { return w.deleted(ctx, service) })
		}
	}
	for key, endpoints := range now.endpoints {
		if old := was.endpoints[key]; all || old == nil || old.ResourceVersion != endpoints.ResourceVersion {
			w.add(func(ctx context.Context) error { return w.endpointsChanged(ctx, endpoints) })
		}
	}
}

func (w *watcher) add(do func(context.Context) error) { w.queue = append(w.queue, task{do: do}) }

// work does what is queued, in order. What fails is tried again at the next turn.
func (w *watcher) work(ctx context.Context) error {
	queue := w.queue
	w.queue = nil
	var errs []error
	for _, t := range queue {
		err := t.do(ctx)
		if t.tries++; err != nil && t.tries < attempts {
			w.queue = append(w.queue, t)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// changed makes the source follow one Service of the target.
func (w *watcher) changed(ctx context.Context, service *corev1.Service) error {
	var errs []error
	if !w.flags.local {
		if w.link.mode(service) == unmatched {
			errs = append(errs, w.unexport(ctx, service, true))
		} else {
			errs = append(errs, w.export(ctx, service))
		}
	}
	if w.link.federated(service) {
		errs = append(errs, w.join(ctx, service))
	} else {
		errs = append(errs, w.leave(ctx, service))
	}
	return errors.Join(errs...)
}

// deleted takes back what stood for a Service, by its last labels. Linkerd does
// not look at whose the Service of the mirror's name is.
func (w *watcher) deleted(ctx context.Context, service *corev1.Service) error {
	var errs []error
	if w.link.mode(service) != unmatched {
		errs = append(errs, w.unexport(ctx, service, false))
	}
	if w.link.federated(service) {
		errs = append(errs, w.leave(ctx, service))
	}
	return errors.Join(errs...)
}
