package testbed

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// headless makes the source follow the Endpoints of a headless Service: a
// headless mirror whose named addresses are Services of their own. Without a
// named address the mirror is an ordinary one.
func (w *watcher) headless(ctx context.Context, service *corev1.Service, endpoints *endpointsObject) error {
	if len(service.Spec.Ports) == 0 {
		return w.skipped(ctx, service, "Skipped mirroring service: object spec has no exposed ports")
	}
	mirror, err := w.localService(ctx, service.Namespace, w.link.mirrorName(service.Name))
	if err != nil {
		return err
	}
	if mirror == nil {
		if mirror, err = w.createHeadless(ctx, service, endpoints); err != nil || mirror == nil {
			return err
		}
	}
	have, err := w.localEndpoints(ctx, keyOf(mirror))
	if err != nil {
		return err
	}
	if mirror.Spec.ClusterIP != corev1.ClusterIPNone {
		if have == nil {
			return w.createEndpoints(ctx, service)
		}
		return nil
	}
	subsets, err := w.podSubsets(ctx, service, endpoints)
	if err != nil {
		return err
	}
	if have == nil {
		_, err = w.source.CoreV1().Endpoints(mirror.Namespace).Create(ctx, w.link.mirrorEndpoints(mirror, subsets), metav1.CreateOptions{})
		return wrap("create endpoints", err)
	}
	return errors.Join(w.deletePodServices(ctx, mirror, subsets), w.updateEndpoints(ctx, have, subsets))
}

// createHeadless waits for an address, which decides the kind of mirror.
func (w *watcher) createHeadless(ctx context.Context, service *corev1.Service, endpoints *endpointsObject) (*corev1.Service, error) {
	if len(endpoints.Subsets) == 0 || !w.lastState.namespaces[service.Namespace] {
		return nil, nil
	}
	mirror := w.link.mirrorService(service)
	if named(endpoints) {
		mirror.Spec.ClusterIP = corev1.ClusterIPNone
	}
	created, err := w.source.CoreV1().Services(mirror.Namespace).Create(ctx, mirror, metav1.CreateOptions{})
	return created, wrap("create mirror", err)
}

func named(endpoints *endpointsObject) bool {
	for _, subset := range endpoints.Subsets {
		for _, address := range subset.Addresses {
			if address.Hostname != "" {
				return true
			}
		}
	}
	return false
}

// podSubsets point at a Service for each named address, which it makes.
func (w *watcher) podSubsets(ctx context.Context, service *corev1.Service, endpoints *endpointsObject) ([]endpointsSubset, error) {
	var out []endpointsSubset
	for _, subset := range endpoints.Subsets {
		var addresses []endpointsAddress
		for _, address := range subset.Addresses {
			if address.Hostname == "" {
				continue
			}
			pod, err := w.podService(ctx, w.link.podService(service, address.Hostname, endpoints.ResourceVersion))
			if err != nil {
				return nil, err
			}
			addresses = append(addresses, endpointsAddress{Hostname: address.Hostname, IP: pod.Spec.ClusterIP})
		}
		if len(addresses) > 0 {
			out = append(out, endpointsSubset{Addresses: addresses, Ports: subset.Ports})
		}
	}
	return out, nil
}

// podService is there already, or is made with Endpoints at the gateway.
func (w *watcher) podService(ctx context.Context, want *corev1.Service) (*corev1.Service, error) {
	have, err := w.localService(ctx, want.Namespace, want.Name)
	if err != nil || have != nil {
		return have, err
	}
	addresses, err := w.addresses(ctx)
	if err != nil {
		return nil, err
	}
	made, err := w.source.CoreV1().Services(want.Namespace).Create(ctx, want, metav1.CreateOptions{})
	if err != nil {
		return nil, wrap("create mirror", err)
	}
	endpoints := w.link.mirrorEndpoints(made, w.subsets(made, addresses))
	_, err = w.source.CoreV1().Endpoints(made.Namespace).Create(ctx, endpoints, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return made, wrap("create endpoints", err)
}

// podServices are those that belong to a headless mirror.
func (w *watcher) podServices(ctx context.Context, mirror *corev1.Service) ([]corev1.Service, error) {
	list, err := w.source.CoreV1().Services(mirror.Namespace).List(ctx, metav1.ListOptions{LabelSelector: headlessNameKey + "=" + mirror.Name})
	if err != nil {
		return nil, wrap("list mirrors", err)
	}
	return list.Items, nil
}

// deletePodServices deletes the Services of addresses that are no more.
func (w *watcher) deletePodServices(ctx context.Context, mirror *corev1.Service, subsets []endpointsSubset) error {
	live := map[string]bool{}
	for _, subset := range subsets {
		for _, address := range subset.Addresses {
			live[w.link.mirrorName(address.Hostname)] = true
		}
	}
	pods, err := w.podServices(ctx, mirror)
	errs := []error{err}
	for _, pod := range pods {
		if !live[pod.Name] {
			errs = append(errs, w.remove(ctx, keyOf(&pod)))
		}
	}
	return errors.Join(errs...)
}
