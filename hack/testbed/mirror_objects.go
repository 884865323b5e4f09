package testbed

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Linkerd writes Endpoints; Kubernetes mirrors them into EndpointSlices.
type (
	endpointsObject  = corev1.Endpoints       //nolint:staticcheck // what Linkerd writes
	endpointsList    = corev1.EndpointsList   //nolint:staticcheck // what Linkerd writes
	endpointsSubset  = corev1.EndpointSubset  //nolint:staticcheck // what Linkerd writes
	endpointsAddress = corev1.EndpointAddress //nolint:staticcheck // what Linkerd writes
	endpointsPort    = corev1.EndpointPort
)

// Linkerd's keys.
const (
	mirroredLabel     = "mirror.linkerd.io/mirrored-service"
	clusterLabel      = "mirror.linkerd.io/cluster-name"
	remoteNameKey     = "mirror.linkerd.io/remote-svc-fq-name"
	remoteVersionKey  = "mirror.linkerd.io/remote-resource-version"
	remoteIdentityKey = "mirror.linkerd.io/remote-gateway-identity"
	discoveryKey      = "multicluster.linkerd.io/remote-discovery"
	remoteServiceKey  = "multicluster.linkerd.io/remote-service"
	localDiscoveryKey = "multicluster.linkerd.io/local-discovery"
)

// mode is how a Service of the target comes into the source.
type mode int

const (
	unmatched mode = iota
	viaGateway
	viaDiscovery
)

// mode of a Service; remote discovery wins.
func (l link) mode(service *corev1.Service) mode {
	if matches(l.spec.RemoteDiscoverySelector, service.Labels) {
		return viaDiscovery
	}
	if matches(l.spec.Selector, service.Labels) {
		return viaGateway
	}
	return unmatched
}

func (l link) federated(service *corev1.Service) bool {
	return matches(l.spec.FederatedServiceSelector, service.Labels) && service.Spec.ClusterIP != corev1.ClusterIPNone
}

// member is how a federated Service lists one of the target.
func (l link) member(service *corev1.Service) string { return service.Name + "@" + l.name }

func (l link) fullName(service *corev1.Service) string {
	return service.Name + "." + service.Namespace + ".svc." + l.spec.TargetClusterDomain
}

// mirrorService is the Service that stands in the source for one of the target.
func (l link) mirrorService(service *corev1.Service) *corev1.Service {
	out := l.copyOf(service, service.Name+"-"+l.name)
	out.Labels[clusterLabel] = l.name
	out.Annotations[remoteNameKey] = l.fullName(service)
	out.Annotations[remoteVersionKey] = service.ResourceVersion
	if l.mode(service) == viaDiscovery {
		out.Labels[discoveryKey] = l.name
		out.Labels[remoteServiceKey] = service.Name
	}
	return out
}

// federatedService is the one that a first member makes.
func (l link) federatedService(service *corev1.Service) *corev1.Service {
	out := l.copyOf(service, service.Name+"-federated")
	out.Annotations[discoveryKey] = l.member(service)
	return out
}

// copyOf takes over labels, annotations and ports as the Link allows.
func (l link) copyOf(service *corev1.Service, name string) *corev1.Service {
	out := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: service.Namespace,
		Labels: maps.Clone(service.Labels), Annotations: maps.Clone(service.Annotations),
	}}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	maps.DeleteFunc(out.Labels, func(key, _ string) bool {
		return strings.HasPrefix(key, "mirror.linkerd.io") || excluded(key, l.spec.ExcludedLabels)
	})
	maps.DeleteFunc(out.Annotations, func(key, _ string) bool {
		topology := key == "service.kubernetes.io/topology-aware-hints" || key == "service.kubernetes.io/topology-mode"
		return topology || key != "config.linkerd.io/opaque-ports" && excluded(key, l.spec.ExcludedAnnotations)
	})
	out.Labels[mirroredLabel] = "true"
	for _, port := range service.Spec.Ports {
		out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{
			Name: port.Name, Protocol: port.Protocol, Port: port.Port, TargetPort: port.TargetPort,
		})
	}
	return out
}

// mirrorEndpoints point every port at the gateway, or nowhere when the target
// has no ready address.
func (l link) mirrorEndpoints(service *corev1.Service, ready bool) *endpointsObject {
	mirror := l.copyOf(service, service.Name+"-"+l.name)
	out := &endpointsObject{ObjectMeta: metav1.ObjectMeta{
		Name: mirror.Name, Namespace: mirror.Namespace, Labels: mirror.Labels,
		Annotations: map[string]string{remoteNameKey: l.fullName(service), remoteIdentityKey: l.spec.GatewayIdentity},
	}}
	out.Labels[clusterLabel] = l.name
	if ready {
		var ports []endpointsPort
		for _, port := range service.Spec.Ports {
			ports = append(ports, endpointsPort{Name: port.Name, Protocol: port.Protocol, Port: number(l.spec.GatewayPort)})
		}
		out.Subsets = l.subsets(ports)
	}
	return out
}

// probeEndpoints are where the gateway answers probes.
func (l link) probeEndpoints(namespace string) *endpointsObject {
	return &endpointsObject{
		ObjectMeta: metav1.ObjectMeta{
			Name: "probe-" + l.name, Namespace: namespace, Labels: map[string]string{clusterLabel: l.name},
			Annotations: map[string]string{remoteIdentityKey: l.spec.GatewayIdentity},
		},
		Subsets: l.subsets([]endpointsPort{{Name: "mc-probe", Protocol: corev1.ProtocolTCP, Port: number(l.spec.ProbeSpec.Port)}}),
	}
}

// subsets are none while no address of the gateway is an IP address.
func (l link) subsets(ports []endpointsPort) []endpointsSubset {
	var addresses []endpointsAddress
	for _, ip := range l.spec.gatewayIPs() {
		addresses = append(addresses, endpointsAddress{IP: ip})
	}
	if addresses == nil {
		return nil
	}
	slices.SortFunc(ports, func(a, b endpointsPort) int { return strings.Compare(a.Name, b.Name) })
	return []endpointsSubset{{Addresses: addresses, Ports: ports}}
}

// number is 0, which the API refuses, for what is none.
func number(s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// members of a federated Service in another cluster, in its own order.
func members(service *corev1.Service) []string {
	return strings.FieldsFunc(service.Annotations[discoveryKey], func(r rune) bool { return r == ',' })
}
