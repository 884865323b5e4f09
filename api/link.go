package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LinkDoc is one document of kind Link.
type LinkDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta `json:"metadata"`
	Spec     Link `json:"spec"`
}

// Link is one direction: services of Target are mirrored into Source.
type Link struct {
	Source   ClusterName `json:"source"`
	Target   ClusterName `json:"target"`
	LinkSpec `json:",inline"`
}

// LinkSpec is what a Link and a Mesh's template share.
type LinkSpec struct {
	// Selector chooses services mirrored through the gateway; default mirror.linkerd.io/exported=true, and none without a gateway.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// RemoteDiscoverySelector chooses services whose endpoints are read from the target; default none.
	RemoteDiscoverySelector *metav1.LabelSelector `json:"remoteDiscoverySelector,omitempty"`
	// FederatedServiceSelector chooses services that join <name>-federated; default none.
	FederatedServiceSelector *metav1.LabelSelector `json:"federatedServiceSelector,omitempty"`
	// ExcludedLabels are not copied to mirrors: keys, or <prefix>/*.
	ExcludedLabels []string `json:"excludedLabels,omitempty"`
	// ExcludedAnnotations are not copied to mirrors: keys, or <prefix>/*.
	ExcludedAnnotations []string   `json:"excludedAnnotations,omitempty"`
	Controller          Controller `json:"controller,omitempty"`
}

// ControllerMode says who runs a link's service mirror controller.
type ControllerMode string

const (
	// PerLink is the default: linkwright renders the controller.
	PerLink ControllerMode = "PerLink"
	// External leaves it to the user's Helm chart.
	External ControllerMode = "External"
)

// Controller is the service mirror controller of one link.
type Controller struct {
	Mode ControllerMode `json:"mode,omitempty"`
	// Replicas defaults to 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// LogLevel defaults to info.
	LogLevel string `json:"logLevel,omitempty"`
	// Image defaults to cr.l5d.io/linkerd/controller:<Linkerd's version in the source>.
	Image string `json:"image,omitempty"`
	// Headless mirrors headless services as such.
	Headless  bool                        `json:"headless,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// PodAntiAffinity spreads replicas over nodes and zones and adds a PodDisruptionBudget.
	PodAntiAffinity bool `json:"podAntiAffinity,omitempty"`
}

// UsesRemoteDiscovery says that the source's control plane needs the credential too.
func (s LinkSpec) UsesRemoteDiscovery() bool {
	return selects(s.RemoteDiscoverySelector) || selects(s.FederatedServiceSelector)
}

// selects: nil and empty match nothing (Linkerd, pkg service-mirror cluster_watcher.go).
func selects(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}
