package mirror

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/render/linkerd"
)

// mirror returns what makes the mirror of one link right.
//
//	the target's Service                                            the source
//	is gone, or no selector selects it                              the mirror goes
//	cannot be mirrored, or nothing can be written in its namespace  what is there stays, and a status says why
//	is mirrored by remote discovery                                 a Service without Endpoints
//	is mirrored by the gateway                                      a Service, and Endpoints with the gateway's addresses
//	is headless, with named addresses, and Headless is set          a headless Service, and a Service for each of them
func (s State) mirror(l Link) Plan {
	name := l.mirrorName(s.Name.Name)
	if l.mode() == notMirrored {
		return s.removeMirror(l, name)
	}
	if status, ok := s.refuse(l, name); !ok {
		return Plan{Statuses: []Status{status}}
	}
	if l.isHeadless() {
		return s.mirrorHeadless(l, name)
	}
	return s.mirrorOrdinary(l, name)
}

// mirrorOrdinary returns what makes a mirror right that has a cluster IP.
func (s State) mirrorOrdinary(l Link, name string) Plan {
	p := Plan{Writes: writeService(s.Source.Services[name], s.mirrorService(l, name)), Statuses: []Status{{Link: l.Name, Reason: Mirrored, Local: name}}}
	live := s.Source.Endpoints[name]
	if l.mode() == viaDiscovery {
		if live != nil {
			p.Writes = append(p.Writes, Write{Delete, live})
		}
		return p
	}
	subsets, err := l.gatewaySubsets(l.Service.Spec.Ports, l.isReady())
	if err != nil {
		p.Statuses[0] = Status{Link: l.Name, Reason: Failed, Message: err.Error(), Local: name}
		return p
	}
	p.Writes = append(p.Writes, writeEndpoints(live, s.mirrorEndpoints(l, name, subsets))...)
	return p
}

// refuse returns why a Service cannot be mirrored; true: it can be. The checks are in the order in which a reader wants to know them.
func (s State) refuse(l Link, name string) (Status, bool) {
	status := Status{Link: l.Name, Skipped: true}
	switch {
	case !s.Source.Namespace:
		status.Reason, status.Message = MissingNamespace, "Namespace does not exist"
	case len(validation.IsDNS1035Label(name)) > 0:
		status.Reason, status.Message = InvalidService, fmt.Sprintf("The mirror's name %s is not valid: %s", name, validation.IsDNS1035Label(name)[0])
	case name == linkerd.Federated(s.Name.Name):
		status.Reason, status.Message = InvalidService, fmt.Sprintf("The mirror's name %s is that of the federated Service", name)
	case len(l.Service.Spec.Ports) == 0:
		status.Reason, status.Message = InvalidService, "Service has no exposed ports"
	case s.Source.Services[name] != nil && !s.isMirror(s.Source.Services[name], l):
		status.Reason, status.Message = ObjectExists, fmt.Sprintf("Service %s exists, and is no mirror of this Service", name)
	case s.isForeignEndpoints(name, l):
		status.Reason, status.Message = ObjectExists, fmt.Sprintf("Endpoints %s exist, and are not a mirror's", name)
	case l.mode() == viaGateway && l.Spec.GatewayAddress == "":
		status.Reason, status.Message = InvalidService, "The Link has no gateway, so it mirrors only Services with remote discovery"
	default:
		return Status{}, true
	}
	return status, false
}

// removeMirror returns what removes the mirror of a link, and what belongs to it. It takes only what the link's mirroring made.
func (s State) removeMirror(l Link, name string) (p Plan) {
	if name == linkerd.Federated(s.Name.Name) {
		return p
	}
	live := s.Source.Services[name]
	for _, part := range s.addressServices(l, name) {
		p.Writes = append(p.Writes, Write{Delete, part})
	}
	switch {
	case live != nil && s.isMirror(live, l):
		p.Writes = append(p.Writes, Write{Delete, live})
	case live == nil && s.Source.Endpoints[name] != nil && !s.isForeignEndpoints(name, l):
		p.Writes = append(p.Writes, Write{Delete, s.Source.Endpoints[name]}) // Kubernetes deletes those of a Service with it
	}
	return p
}

// isMirror reports whether an object is this link's mirror of the Service: its labels and its annotation say so, and it selects no pods.
func (s State) isMirror(live *corev1.Service, l Link) bool {
	return isOf(live, l) && live.Annotations[linkerd.RemoteServiceName] == l.fullName(s.Name.Namespace, s.Name.Name) && len(live.Spec.Selector) == 0
}

// isForeignEndpoints reports whether there are Endpoints that no mirroring of the link made.
func (s State) isForeignEndpoints(name string, l Link) bool {
	live := s.Source.Endpoints[name]
	return live != nil && !isOf(live, l)
}

// isOf reports whether an object's labels say that a link's mirroring made it.
func isOf(o metav1.Object, l Link) bool {
	return o.GetLabels()[linkerd.MirroredLabel] == "true" && o.GetLabels()[linkerd.ClusterNameLabel] == l.Name
}

// mirrorService is the mirror that a link makes of the Service.
func (s State) mirrorService(l Link, name string) *corev1.Service {
	out := l.copyOf(l.Service, name)
	out.Labels[linkerd.ClusterNameLabel] = l.Name
	out.Annotations[linkerd.RemoteServiceName] = l.fullName(s.Name.Namespace, s.Name.Name)
	out.Annotations[linkerd.RemoteResourceVersion] = l.Service.ResourceVersion
	if l.mode() == viaDiscovery {
		out.Labels[linkerd.RemoteDiscovery] = l.Name
		out.Labels[remoteService] = s.Name.Name
	}
	return out
}

// writeService returns the write that makes a Service as desired, or none.
func writeService(live, desired *corev1.Service) []Write {
	if live == nil {
		return []Write{{Create, desired}}
	}
	// Linkerd's injector adds this annotation to a Service that is created. It stays while the Service in the target is the same.
	same := live.Annotations[linkerd.RemoteResourceVersion] == desired.Annotations[linkerd.RemoteResourceVersion]
	if value, ok := live.Annotations[opaquePorts]; ok && same && desired.Annotations[opaquePorts] == "" {
		desired.Annotations[opaquePorts] = value
	}
	if maps.Equal(live.Labels, desired.Labels) && maps.Equal(live.Annotations, desired.Annotations) && slices.Equal(portsOf(live), desired.Spec.Ports) {
		return nil
	}
	updated := live.DeepCopy()
	updated.Labels, updated.Annotations, updated.Spec.Ports = desired.Labels, desired.Annotations, desired.Spec.Ports
	return []Write{{Update, updated}}
}

// namespace is the Service's namespace, as the first link creates it that needs it.
func (s State) namespace(first Link) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.Name.Namespace, Labels: map[string]string{linkerd.MirroredLabel: "true", linkerd.ClusterNameLabel: first.Name},
	}}
}
