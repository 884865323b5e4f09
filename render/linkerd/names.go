// Package linkerd knows Linkerd: its names, labels and versions, and the facts that a live cluster's objects show.
// Names are those of linkerd2 at version 2.20 (multicluster/charts, pkg/k8s/labels.go).
package linkerd

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Labels and annotations.
const (
	ExtensionLabel   = "linkerd.io/extension"
	Extension        = "multicluster"
	ComponentLabel   = "component"
	Component        = "controller"
	LegacyComponent  = "linkerd-service-mirror" // of the pods of `linkerd multicluster link`
	ClusterNameLabel = "mirror.linkerd.io/cluster-name"
	GatewayLabel     = "mirror.linkerd.io/mirrored-gateway"
	MirroredLabel    = "mirror.linkerd.io/mirrored-service"
	ExportedLabel    = "mirror.linkerd.io/exported"

	// MirrorLabel marks the Links that a shared controller mirrors, and its pods. Its value is the owner of the installation.
	MirrorLabel = object.Prefix + "mirror"
	// HeadlessAnnotation with the value "true" on such a Link mirrors headless services as such.
	HeadlessAnnotation = object.Prefix + "enable-headless-services"

	// RemoteClusterLabel marks the control plane's secret; the destination controller lists by it.
	RemoteClusterLabel = "multicluster.linkerd.io/cluster-name"
	TrustDomain        = "multicluster.linkerd.io/trust-domain"
	ClusterDomain      = "multicluster.linkerd.io/cluster-domain"
	// RemoteDiscovery is a label on mirrors (value: cluster) and an annotation on federated services (svc@cluster, …).
	RemoteDiscovery = "multicluster.linkerd.io/remote-discovery"
	LocalDiscovery  = "multicluster.linkerd.io/local-discovery"

	gatewayIdentity = "mirror.linkerd.io/gateway-identity"
	probePath       = "mirror.linkerd.io/probe-path"
	probePeriod     = "mirror.linkerd.io/probe-period"

	// KubeconfigSecretType is the type of both credential secrets.
	KubeconfigSecretType = "mirror.linkerd.io/remote-kubeconfig"
	// KubeconfigKey is their only data key.
	KubeconfigKey = "kubeconfig"
)

// Names of shared objects.
const (
	// LocalAccessRole is the ClusterRole that all controllers of a source share.
	LocalAccessRole = "linkerd-multicluster-controller-access-local-resources"
	// RemoteAccessRole is the ClusterRole of what a source may read in a target.
	RemoteAccessRole = "linkerd-service-mirror-remote-access-default"
	// Group and LinkVersion of the Linkerd Link; v1alpha3 since 2.18.
	Group       = "multicluster.linkerd.io"
	LinkVersion = "v1alpha3"
	// Registry has Linkerd's own images.
	Registry = "cr.l5d.io/linkerd"
	// ControllerImage without its tag, which is Linkerd's version in the source.
	ControllerImage = Registry + "/controller"
	// AdminPort is the controller's port for metrics and readiness.
	AdminPort = 9999
	// DefaultProbePort is the gateway's mc-probe port.
	DefaultProbePort = 4191

	portGateway = "mc-gateway"
	portProbe   = "mc-probe"
	config      = "linkerd-config"
	rootCA      = "kube-root-ca.crt"
	trustRoots  = "linkerd-identity-trust-roots"
	kubeSystem  = "kube-system"

	trustRootsKey = "ca-bundle.crt"
)

// ProbePortName names the only port of the probe Service and its Endpoints.
const ProbePortName = portProbe

// Controller is the name of a link's Deployment, account and disruption budget.
func Controller(target api.ClusterName) string { return "controller-" + string(target) }

// ProbeService is the name of a link's probe Service and Endpoints.
func ProbeService(target api.ClusterName) string { return "probe-" + string(target) }

// LegacyController is the name of the Deployment of a controller that `linkerd multicluster link` made.
func LegacyController(target api.ClusterName) string {
	return "linkerd-service-mirror-" + string(target)
}

// LegacyProbeService is the name of the probe Service and Endpoints of such a controller.
func LegacyProbeService(target api.ClusterName) string { return "probe-gateway-" + string(target) }

// Credentials is the name of both credential secrets.
func Credentials(target api.ClusterName) string { return "cluster-credentials-" + string(target) }

// ReadCredentials is the name of the Role and RoleBinding that let a controller read its secret.
func ReadCredentials(target api.ClusterName) string {
	return "controller-read-remote-creds-" + string(target)
}

// SharedBinding is the key of the RoleBinding that lets a source's shared controller mirror a link. Only links that it mirrors have one.
func SharedBinding(l api.Linkerd, target api.ClusterName) object.Key {
	return object.Key{Group: rbacGroup, Kind: "RoleBinding", Namespace: l.MulticlusterNamespace, Name: sharedBinding(target)}
}

func sharedBinding(target api.ClusterName) string { return ReadCredentials(target) + SharedSuffix }

// SharedSuffix ends the name of a SharedBinding. No name of a cluster has a dot.
const SharedSuffix = ".shared"

// IsSharedBinding reports whether a key is that of the SharedBinding of any link.
func IsSharedBinding(l api.Linkerd, k object.Key) bool {
	target, ok := TargetOf(l, k)
	return ok && k == SharedBinding(l, target)
}

// Shared is the name of a source's shared controller: of its Deployment, account, rights and disruption budget.
func Shared(owner string) string { return owner + "-mirror" }

// LocalAccess is the name of the binding of a controller to LocalAccessRole.
func LocalAccess(target api.ClusterName) string { return LocalAccessRole + "-" + string(target) }

// Lease is the name of the lease that a link's controllers lead by.
func Lease(target api.ClusterName) string { return "service-mirror-write-" + string(target) }

// LeaseKey is the key of that lease in a source with this installation.
func LeaseKey(l api.Linkerd, target api.ClusterName) object.Key {
	return object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: l.MulticlusterNamespace, Name: Lease(target)}
}

// TargetOf returns the target of the link that an object in a source belongs to by its name; false: it belongs to none.
func TargetOf(l api.Linkerd, k object.Key) (api.ClusterName, bool) {
	prefix, namespaces := "", []string{l.MulticlusterNamespace}
	switch k.Kind {
	case "Link":
	case "Deployment", "PodDisruptionBudget", "ServiceAccount":
		prefix = Controller("")
	case "Service":
		prefix = ProbeService("")
	case "Secret":
		prefix, namespaces = Credentials(""), append(namespaces, l.Namespace)
	case "Role", "RoleBinding":
		prefix = ReadCredentials("")
		if k.Kind == "RoleBinding" {
			k.Name = strings.TrimSuffix(k.Name, SharedSuffix)
		}
	case "ClusterRoleBinding":
		prefix, namespaces = LocalAccess(""), []string{""}
	default:
		return "", false
	}
	name, ok := strings.CutPrefix(k.Name, prefix)
	target := api.ClusterName(name)
	return target, ok && slices.Contains(namespaces, k.Namespace) && api.CheckClusterName(target) == nil
}

// Keys of Linkerd's own kinds.
func linkKey(ns string, target api.ClusterName) object.Key {
	return object.Key{Group: Group, Kind: "Link", Namespace: ns, Name: string(target)}
}

// ControlPlaneSecret is the key of the destination controller's credential for target.
func ControlPlaneSecret(l api.Linkerd, target api.ClusterName) object.Key {
	return object.Key{Kind: "Secret", Namespace: l.Namespace, Name: Credentials(target)}
}

// MirrorSecret is the key of the service mirror's credential for target.
func MirrorSecret(l api.Linkerd, target api.ClusterName) object.Key {
	return object.Key{Kind: "Secret", Namespace: l.MulticlusterNamespace, Name: Credentials(target)}
}

// LinkKey is the key of the Linkerd Link for target: always named after it.
func LinkKey(l api.Linkerd, target api.ClusterName) object.Key {
	return linkKey(l.MulticlusterNamespace, target)
}
