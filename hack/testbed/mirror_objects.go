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
	headlessNameKey   = "mirror.linkerd.io/headless-mirror-svc-name"
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

// federated reports whether a Service asks to be a member.
func (l link) federated(service *corev1.Service) bool {
	return matches(l.spec.FederatedServiceSelector, service.Labels)
}

// mirrorName is the name of a mirror in the source.
func (l link) mirrorName(name string) string { return name + "-" + l.cluster() }

func (l link) fullName(service *corev1.Service) string {
	return service.Name + "." + service.Namespace + ".svc." + l.spec.TargetClusterDomain
}

// mirrorService is the Service that stands in the source for one of the target.
func (l link) mirrorService(service *corev1.Service) *corev1.Service {
	out := l.copyOf(service, l.mirrorName(service.Name))
	out.Labels[clusterLabel] = l.cluster()
	out.Annotations[remoteNameKey] = l.fullName(service)
	out.Annotations[remoteVersionKey] = service.ResourceVersion
	if l.mode(service) == viaDiscovery {
		out.Labels[discoveryKey] = l.cluster()
		out.Labels[remoteServiceKey] = service.Name
	}
	return out
}

// podService stands for one named address of a headless Service; version is
// that of the Endpoints which name it.
func (l link) podService(service *corev1.Service, host, version string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: l.mirrorName(host), Namespace: service.Namespace,
			Labels:      map[string]string{mirroredLabel: "true", clusterLabel: l.cluster(), headlessNameKey: l.mirrorName(service.Name)},
			Annotations: map[string]string{remoteNameKey: host + "." + l.fullName(service), remoteVersionKey: version},
		},
		Spec: corev1.ServiceSpec{Ports: portsOf(service)},
	}
}

// federatedService is the one that a first member makes.
func (l link) federatedService(service *corev1.Service) *corev1.Service {
	out := l.copyOf(service, service.Name+"-federated")
	l.joinTo(out, service)
	return out
}

// copyOf takes over labels, annotations and ports as the Link allows.
func (l link) copyOf(service *corev1.Service, name string) *corev1.Service {
	out := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: service.Namespace,
		Labels: map[string]string{}, Annotations: map[string]string{},
	}}
	maps.Copy(out.Labels, service.Labels)
	maps.Copy(out.Annotations, service.Annotations)
	maps.DeleteFunc(out.Labels, func(key, _ string) bool {
		return strings.HasPrefix(key, "mirror.linkerd.io") || excluded(key, l.spec.ExcludedLabels)
	})
	maps.DeleteFunc(out.Annotations, func(key, _ string) bool {
		topology := key == "service.kubernetes.io/topology-aware-hints" || key == "service.kubernetes.io/topology-mode"
		return topology || key != "config.linkerd.io/opaque-ports" && excluded(key, l.spec.ExcludedAnnotations)
	})
	out.Labels[mirroredLabel] = "true"
	out.Spec.Ports = portsOf(service)
	return out
}

func portsOf(service *corev1.Service) []corev1.ServicePort {
	var out []corev1.ServicePort
	for _, port := range service.Spec.Ports {
		out = append(out, corev1.ServicePort{Name: port.Name, Protocol: port.Protocol, Port: port.Port, TargetPort: port.TargetPort})
	}
	return out
}

// mirrorEndpoints are those of a mirror; which labels they get is of Linkerd's version.
func (l link) mirrorEndpoints(mirror *corev1.Service, subsets []endpointsSubset) *endpointsObject {
	labels := map[string]string{mirroredLabel: "true", clusterLabel: l.cluster()}
	if l.labelled {
		labels = maps.Clone(mirror.Labels)
		delete(labels, discoveryKey)
		delete(labels, remoteServiceKey)
	}
	out := &endpointsObject{
		ObjectMeta: metav1.ObjectMeta{
			Name: mirror.Name, Namespace: mirror.Namespace, Labels: labels,
			Annotations: map[string]string{remoteNameKey: mirror.Annotations[remoteNameKey]},
		},
		Subsets: subsets,
	}
	if l.spec.GatewayIdentity != "" {
		out.Annotations[remoteIdentityKey] = l.spec.GatewayIdentity
	}
	return out
}

// gatewayPorts are a mirror's, all at the port of the gateway.
func (l link) gatewayPorts(service *corev1.Service) []endpointsPort {
	var out []endpointsPort
	for _, port := range service.Spec.Ports {
		out = append(out, endpointsPort{Name: port.Name, Protocol: port.Protocol, Port: number(l.spec.GatewayPort)})
	}
	slices.SortFunc(out, func(a, b endpointsPort) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// number is 0, which the API refuses, for what is none.
func number(s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}
