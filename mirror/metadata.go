package mirror

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/render/linkerd"
)

// Labels and annotations of Linkerd that only mirroring has to do with (linkerd2 pkg/k8s/labels.go).
const (
	opaquePorts     = "config.linkerd.io/opaque-ports"
	remoteService   = "multicluster.linkerd.io/remote-service"     // on a mirror with remote discovery: the Service's name in the target
	headlessMirror  = "mirror.linkerd.io/headless-mirror-svc-name" // on the Service of one address: the name of the headless mirror
	federatedLabel  = "mirror.linkerd.io/federated"
	federatedMember = "member" // its value on a Service that joins the federated Service
)

// copyOf returns a Service of the source with the labels, annotations and ports of another one, as far as the Link lets them through.
func (l Link) copyOf(service *corev1.Service, name string) *corev1.Service {
	out := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: service.Namespace, Labels: map[string]string{}, Annotations: map[string]string{}}}
	maps.Copy(out.Labels, service.Labels)
	maps.DeleteFunc(out.Labels, func(key, _ string) bool {
		return strings.HasPrefix(key, "mirror.linkerd.io") || excludes(l.Spec.ExcludedLabels, key)
	})
	maps.Copy(out.Annotations, service.Annotations)
	maps.DeleteFunc(out.Annotations, func(key, _ string) bool {
		return topology(key) || key != opaquePorts && excludes(l.Spec.ExcludedAnnotations, key)
	})
	out.Labels[linkerd.MirroredLabel] = "true"
	out.Spec.Ports = portsOf(service)
	return out
}

// topology reports whether an annotation asks for addresses near the client. Those of a mirror are all at the gateway.
func topology(key string) bool {
	return key == "service.kubernetes.io/topology-aware-hints" || key == "service.kubernetes.io/topology-mode"
}

// portsOf are the ports of a Service without what only its own cluster gives them.
func portsOf(service *corev1.Service) (out []corev1.ServicePort) {
	for _, p := range service.Spec.Ports {
		out = append(out, corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port, TargetPort: p.TargetPort})
	}
	return out
}
