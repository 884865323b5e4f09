package testbed

import (
	"context"
	"fmt"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// MirrorObserver sees what a source's clients would notice while links are moved or
// taken over: what becomes of mirrors, and who leads their controllers.
type MirrorObserver struct {
	client  kubernetes.Interface
	watches []watch.Interface
	ended   sync.WaitGroup

	mu      sync.Mutex
	mirrors map[string]types.UID // as they were at first
	lost    []string
	leaders map[string][]string // by the name of a Lease
}

const mirrored = "mirror.linkerd.io/mirrored-service=true"

// NewWitness watches a cluster from now on, until End.
func NewWitness(ctx context.Context, cfg *rest.Config) (*MirrorObserver, error) {
	client, err := kubernetes.NewForConfig(as(cfg, "testbed-witness"))
	if err != nil {
		return nil, err
	}
	w := &MirrorObserver{client: client, leaders: map[string][]string{}}
	if w.mirrors, err = w.mirrorUIDs(ctx); err != nil {
		return nil, err
	}
	services, err := client.CoreV1().Services("").Watch(ctx, metav1.ListOptions{LabelSelector: mirrored})
	if err != nil {
		return nil, fmt.Errorf("watch mirrors: %w", err)
	}
	w.follow(services, w.mirror)
	endpoints, err := client.CoreV1().Endpoints("").Watch(ctx, metav1.ListOptions{LabelSelector: mirrored})
	if err != nil {
		return nil, fmt.Errorf("watch endpoints of mirrors: %w", err)
	}
	w.follow(endpoints, w.addresses)
	leases, err := client.CoordinationV1().Leases("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("watch leases: %w", err)
	}
	w.follow(leases, w.leads)
	return w, nil
}

// follow reads at once what a watch tells: it waits for its reader, and what
// was not read when it is stopped is lost.
func (w *MirrorObserver) follow(events watch.Interface, see func(watch.Event)) {
	w.watches = append(w.watches, events)
	w.ended.Go(func() {
		for e := range events.ResultChan() {
			w.mu.Lock()
			see(e)
			w.mu.Unlock()
		}
	})
}

func (w *MirrorObserver) mirror(e watch.Event) {
	s, ok := e.Object.(*corev1.Service)
	if ok && e.Type == watch.Deleted && w.mirrors[s.Name] == s.UID {
		w.lost = append(w.lost, s.Name)
	}
}

// addresses sees mirrors that lead nowhere for a while. One without a selector
// of remote discovery has Endpoints; they go with their Service, or before it.
func (w *MirrorObserver) addresses(e watch.Event) {
	p, ok := e.Object.(*corev1.Endpoints) //nolint:staticcheck // mirrors have these
	if !ok || w.mirrors[p.Name] == "" || slices.Contains(w.lost, p.Name) {
		return
	}
	ready := slices.ContainsFunc(p.Subsets, func(s corev1.EndpointSubset) bool { return len(s.Addresses) > 0 }) //nolint:staticcheck // as above
	if e.Type == watch.Deleted || !ready {
		w.lost = append(w.lost, p.Name)
	}
}

func (w *MirrorObserver) leads(e watch.Event) {
	l, ok := e.Object.(*coordinationv1.Lease)
	if !ok || e.Type == watch.Deleted || holderOf(l) == "" {
		return
	}
	if now := l.Namespace + "/" + holderOf(l); !slices.Contains(w.leaders[l.Name], now) {
		w.leaders[l.Name] = append(w.leaders[l.Name], now)
	}
}

func (w *MirrorObserver) mirrorUIDs(ctx context.Context) (map[string]types.UID, error) {
	list, err := w.client.CoreV1().Services("").List(ctx, metav1.ListOptions{LabelSelector: mirrored})
	if err != nil {
		return nil, fmt.Errorf("list mirrors: %w", err)
	}
	out := map[string]types.UID{}
	for _, s := range list.Items {
		out[s.Name] = s.UID
	}
	return out, nil
}

// Lost returns the mirrors there were at first that were deleted, made anew, or
// led nowhere at any moment until now, in order.
func (w *MirrorObserver) Lost(ctx context.Context) ([]string, error) {
	now, err := w.mirrorUIDs(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := slices.Clone(w.lost)
	for name, uid := range w.mirrors {
		if now[name] != uid {
			lost = append(lost, name)
		}
	}
	slices.Sort(lost)
	return slices.Compact(lost), nil
}

// Leaders returns all who held the Lease of a link so far, in order, as
// NAMESPACE/POD.
func (w *MirrorObserver) Leaders(link string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.leaders["service-mirror-write-"+link])
}

// End ends it.
func (w *MirrorObserver) End() {
	for _, e := range w.watches {
		e.Stop()
	}
	w.ended.Wait()
}

// holderOf a Lease, "" for nobody.
func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}
