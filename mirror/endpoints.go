package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

// gatewaySubsets are the addresses of a mirror: those of the gateway, each port of the Service at the gateway's port. They are not ready while the
// gateway does not answer. A Service without a ready address has none.
func (l Link) gatewaySubsets(ports []corev1.ServicePort, ready bool) ([]subset, error) {
	port, err := strconv.ParseUint(l.Spec.GatewayPort, 10, 16)
	switch {
	case err != nil || port == 0:
		return nil, fmt.Errorf("the Link's gatewayPort %q is not a port", l.Spec.GatewayPort)
	case l.Gateway.Err != nil:
		return nil, fmt.Errorf("failed to resolve the gateway's address: %w", l.Gateway.Err)
	case !ready || len(l.Gateway.Addresses) == 0:
		return nil, nil
	}
	var out subset
	for _, p := range ports {
		out.Ports = append(out.Ports, corev1.EndpointPort{Name: p.Name, Protocol: p.Protocol, Port: int32(port)})
	}
	addresses := &out.Addresses
	if l.Gateway.Dead {
		addresses = &out.NotReadyAddresses
	}
	for _, ip := range l.Gateway.Addresses {
		*addresses = append(*addresses, corev1.EndpointAddress{IP: ip})
	}
	return []subset{out}, nil
}

// mirrorEndpoints are those of a mirror.
func (s State) mirrorEndpoints(l Link, name string, subsets []subset) *endpoints {
	labels := s.mirrorService(l, name).Labels
	delete(labels, linkerd.RemoteDiscovery)
	delete(labels, remoteService)
	return l.endpointsOf(name, s.Name.Namespace, l.fullName(s.Name.Namespace, s.Name.Name), labels, subsets)
}

func (l Link) endpointsOf(name, namespace, fullName string, labels map[string]string, subsets []subset) *endpoints {
	out := &endpoints{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels, Annotations: map[string]string{linkerd.RemoteServiceName: fullName}},
		Subsets:    subsets,
	}
	if l.Spec.GatewayIdentity != "" {
		out.Annotations[linkerd.RemoteIdentity] = l.Spec.GatewayIdentity
	}
	return out
}

// writeEndpoints returns the write that makes Endpoints as desired, or none.
func writeEndpoints(live, desired *endpoints) []Write {
	if live == nil {
		return []Write{{Create, desired}}
	}
	same := equality.Semantic.DeepEqual(ordered(live.Subsets), ordered(desired.Subsets))
	if same && maps.Equal(live.Labels, desired.Labels) && maps.Equal(live.Annotations, desired.Annotations) {
		return nil
	}
	updated := live.DeepCopy()
	updated.Labels, updated.Annotations, updated.Subsets = desired.Labels, desired.Annotations, desired.Subsets
	return []Write{{Update, updated}}
}

// ordered are subsets whose addresses and ports are in order: the API server keeps that of whoever wrote them.
func ordered(all []subset) []subset {
	out := make([]subset, len(all))
	for i, one := range all {
		out[i] = *one.DeepCopy()
		slices.SortFunc(out[i].Ports, func(a, b corev1.EndpointPort) int { return strings.Compare(a.Name, b.Name) })
		byIP := func(a, b corev1.EndpointAddress) int { return strings.Compare(a.IP, b.IP) }
		slices.SortFunc(out[i].Addresses, byIP)
		slices.SortFunc(out[i].NotReadyAddresses, byIP)
	}
	return out
}
