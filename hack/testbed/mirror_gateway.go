package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// watchGateway probes and repairs when either is due. Without an address there
// is nothing to repair.
func (w *watcher) watchGateway(ctx context.Context) error {
	if w.flags.local {
		return nil
	}
	if changed := w.prober.probe(ctx, w.opts.Probe); changed {
		w.alive, w.repairing = w.prober.alive, true
	}
	if w.link.spec.GatewayAddress == "" || !w.repairing && time.Now().Before(w.repairAt) {
		return nil
	}
	w.repairing, w.repairAt = false, time.Now().Add(orTime(w.flags.repair, w.opts.Repair))
	return wrap("repair endpoints", w.repair(ctx))
}

// repair writes the probe's Endpoints, and those of mirrors that have any.
func (w *watcher) repair(ctx context.Context) error {
	addresses, err := w.addresses(ctx)
	if err != nil {
		return err
	}
	errs := []error{w.writeProbe(ctx, addresses)}
	mirrors, err := w.mirrors(ctx)
	if err != nil {
		return err
	}
	for i := range mirrors {
		if mirror := &mirrors[i]; mirror.Spec.ClusterIP != corev1.ClusterIPNone && mirror.Labels[discoveryKey] == "" {
			errs = append(errs, w.repairMirror(ctx, mirror, addresses))
		}
	}
	return errors.Join(errs...)
}

func (w *watcher) repairMirror(ctx context.Context, mirror *corev1.Service, addresses []endpointsAddress) error {
	have, err := w.localEndpoints(ctx, keyOf(mirror))
	if err != nil || have == nil {
		return err
	}
	target := types.NamespacedName{Namespace: mirror.Namespace, Name: strings.TrimSuffix(mirror.Name, "-"+w.link.cluster())}
	if mirror.Labels[headlessNameKey] == "" && !ready(w.lastState.endpoints[target]) {
		addresses = nil
	}
	return w.updateEndpoints(ctx, have, w.subsets(mirror, addresses))
}

// writeProbe never marks an address as not ready: the probe has to reach it.
func (w *watcher) writeProbe(ctx context.Context, addresses []endpointsAddress) error {
	ns := w.pod.Namespace
	want := &endpointsObject{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.flags.probe, Namespace: ns, Labels: map[string]string{clusterLabel: w.link.cluster()},
			Annotations: map[string]string{remoteIdentityKey: w.link.spec.GatewayIdentity},
		},
		Subsets: []endpointsSubset{{
			Addresses: addresses,
			Ports:     []endpointsPort{{Name: "mc-probe", Protocol: corev1.ProtocolTCP, Port: number(w.link.spec.ProbeSpec.Port)}},
		}},
	}
	have, err := w.localEndpoints(ctx, keyOf(want))
	if err != nil {
		return err
	}
	if have == nil {
		_, err = w.source.CoreV1().Endpoints(ns).Create(ctx, want, metav1.CreateOptions{})
	} else {
		_, err = w.source.CoreV1().Endpoints(ns).Update(ctx, want, metav1.UpdateOptions{})
	}
	return wrap("write probe", err)
}

// createEndpoints of a mirror. When that fails the mirror goes again, so that
// the next attempt begins from nothing.
func (w *watcher) createEndpoints(ctx context.Context, service *corev1.Service) error {
	mirror := w.link.mirrorService(service)
	addresses, err := w.addresses(ctx)
	if err != nil {
		return err
	}
	if !ready(w.lastState.endpoints[keyOf(service)]) {
		addresses = nil
	}
	want := w.link.mirrorEndpoints(mirror, w.subsets(mirror, addresses))
	if _, err := w.source.CoreV1().Endpoints(want.Namespace).Create(ctx, want, metav1.CreateOptions{}); err != nil {
		return errors.Join(wrap("create endpoints", err), w.remove(ctx, keyOf(mirror)))
	}
	return nil
}

// rewriteEndpoints goes before the rewriting of a mirror.
func (w *watcher) rewriteEndpoints(ctx context.Context, service *corev1.Service) error {
	have, err := w.localEndpoints(ctx, types.NamespacedName{Namespace: service.Namespace, Name: w.link.mirrorName(service.Name)})
	if err != nil {
		return err
	}
	if w.link.mode(service) == viaDiscovery {
		if have == nil {
			return nil
		}
		return wrap("delete endpoints", w.source.CoreV1().Endpoints(have.Namespace).Delete(ctx, have.Name, metav1.DeleteOptions{}))
	}
	if have == nil {
		return w.createEndpoints(ctx, service)
	}
	if w.flags.headless && service.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil // they point at the mirrors of pods
	}
	addresses, err := w.addresses(ctx)
	if err != nil {
		return err
	}
	return w.updateEndpoints(ctx, have, w.subsets(service, addresses))
}

// endpointsChanged empties or fills the Endpoints of a mirror as the target's
// have no ready address any more, or one again.
func (w *watcher) endpointsChanged(ctx context.Context, endpoints *endpointsObject) error {
	service := w.lastState.services[keyOf(endpoints)]
	if w.flags.local || service == nil || !matches(w.link.spec.Selector, endpoints.Labels) || matches(w.link.spec.RemoteDiscoverySelector, endpoints.Labels) {
		return nil
	}
	if service.Spec.ClusterIP == corev1.ClusterIPNone && w.flags.headless {
		return w.headless(ctx, service, endpoints)
	}
	have, err := w.localEndpoints(ctx, types.NamespacedName{Namespace: endpoints.Namespace, Name: w.link.mirrorName(endpoints.Name)})
	if err != nil || have == nil || len(have.Subsets) > 0 == ready(endpoints) {
		return err
	}
	var addresses []endpointsAddress
	if ready(endpoints) {
		if addresses, err = w.addresses(ctx); err != nil {
			return err
		}
	}
	return w.updateEndpoints(ctx, have, w.subsets(service, addresses))
}

// updateEndpoints replaces what they point at, and the gateway's identity.
func (w *watcher) updateEndpoints(ctx context.Context, have *endpointsObject, subsets []endpointsSubset) error {
	have.Subsets = subsets
	if have.Annotations == nil {
		have.Annotations = map[string]string{}
	}
	have.Annotations[remoteIdentityKey] = w.link.spec.GatewayIdentity
	_, err := w.source.CoreV1().Endpoints(have.Namespace).Update(ctx, have, metav1.UpdateOptions{})
	return wrap("update endpoints", err)
}

// subsets of a mirror: none without addresses, not ready while the gateway is dead.
func (w *watcher) subsets(service *corev1.Service, addresses []endpointsAddress) []endpointsSubset {
	switch {
	case len(addresses) == 0:
		return nil
	case !w.alive:
		return []endpointsSubset{{NotReadyAddresses: addresses, Ports: w.link.gatewayPorts(service)}}
	}
	return []endpointsSubset{{Addresses: addresses, Ports: w.link.gatewayPorts(service)}}
}

// localEndpoints are nil when there are none.
func (w *watcher) localEndpoints(ctx context.Context, key types.NamespacedName) (*endpointsObject, error) {
	endpoints, err := w.source.CoreV1().Endpoints(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("read endpoints", err)
	}
	return endpoints, nil
}

// addresses of the gateway, sorted. One that does not resolve is left out; it
// is an error when none does.
func (w *watcher) addresses(ctx context.Context) ([]endpointsAddress, error) {
	var ips []string
	errs := []error{errors.New("no address of the gateway is known")}
	for host := range strings.SplitSeq(w.link.spec.GatewayAddress, ",") {
		resolved, err := w.resolve(ctx, host)
		ips, errs = append(ips, resolved...), append(errs, err)
	}
	if len(ips) == 0 {
		return nil, errors.Join(errs...)
	}
	slices.Sort(ips)
	var out []endpointsAddress
	for _, ip := range slices.Compact(ips) {
		out = append(out, endpointsAddress{IP: ip})
	}
	return out, nil
}

// resolve does not trim: a space after a comma is part of the name.
func (w *watcher) resolve(ctx context.Context, host string) ([]string, error) {
	if net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	if w.opts.Resolve == nil {
		return nil, fmt.Errorf("resolve %q: nothing here asks the network", host)
	}
	return w.opts.Resolve(ctx, host)
}
