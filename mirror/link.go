package mirror

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// mode is how a Service of the target is mirrored.
type mode int

const (
	notMirrored  mode = iota
	viaGateway        // its mirror's Endpoints are the gateway's addresses
	viaDiscovery      // the control plane asks the target for its addresses
)

// mode returns how the target's Service is mirrored. The selector for remote discovery wins.
func (l Link) mode() mode {
	switch {
	case l.Service == nil:
		return notMirrored
	case selects(l.Spec.RemoteDiscoverySelector, l.Service):
		return viaDiscovery
	case selects(l.Spec.Selector, l.Service):
		return viaGateway
	}
	return notMirrored
}

// isMember reports whether the target's Service is to be a member of the federated Service.
func (l Link) isMember() bool {
	return l.Service != nil && selects(l.Spec.FederatedServiceSelector, l.Service)
}

// isSelected reports whether the target was read, and a selector of the link selects its Service.
func (l Link) isSelected() bool { return l.Synced && (l.mode() != notMirrored || l.isMember()) }

// selects reports whether a selector of a Link selects a Service. Other than in Kubernetes, an empty selector selects nothing.
func selects(selector *metav1.LabelSelector, service *corev1.Service) bool {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return false
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(service.Labels))
}

// excludes reports whether a list of a Link has a key, or the beginning of it: "example.com/*" stands for all keys that begin with "example.com".
func excludes(list []string, key string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, ok := strings.CutSuffix(entry, "/*")
		return entry == key || ok && strings.HasPrefix(key, prefix)
	})
}

// mirrorName is the name of the mirror in the source.
func (l Link) mirrorName(service string) string { return service + "-" + l.Name }

// fullName is the DNS name of a Service in the target.
func (l Link) fullName(namespace, service string) string {
	return service + "." + namespace + ".svc." + l.Spec.TargetClusterDomain
}

// isReady reports whether the target's Service has an address that is ready.
func (l Link) isReady() bool {
	return l.Endpoints != nil && slices.ContainsFunc(l.Endpoints.Subsets, func(s subset) bool { return len(s.Addresses) > 0 })
}

// isHeadless reports whether the named addresses of the Service are mirrored one by one.
func (l Link) isHeadless() bool {
	return l.Headless && l.Service.Spec.ClusterIP == corev1.ClusterIPNone
}
