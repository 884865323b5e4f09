package api

// ClusterDoc is one document of kind Cluster.
type ClusterDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta    `json:"metadata"`
	Spec     Cluster `json:"spec"`
}

// TypeMeta says what a document is.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Meta names a declaration; labels are what a Mesh chooses by.
type Meta struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Cluster is the spec of a Kubernetes cluster that takes part in links.
type Cluster struct {
	Access Access `json:"access"`
	// APIServer is the https URL that peers use; default: the URL of the access.
	// It must be declared for inCluster and for loopback addresses.
	APIServer string  `json:"apiServer,omitempty"`
	Linkerd   Linkerd `json:"linkerd,omitempty"`
	Gateway   Gateway `json:"gateway,omitempty"`
}

// Access is how linkwright reaches the cluster: exactly one field.
type Access struct {
	// KubeconfigSecret is a Secret in linkwright's own namespace of the home cluster.
	KubeconfigSecret *SecretKey `json:"kubeconfigSecret,omitempty"`
	// Kubeconfig is a file beside the process; only where --allow-kubeconfig-paths is given (the commands for people and tests).
	Kubeconfig *KubeconfigFile `json:"kubeconfig,omitempty"`
	// InCluster is the cluster linkwright runs in.
	InCluster bool `json:"inCluster,omitempty"`
}

// SecretKey points at one value of a Secret.
type SecretKey struct {
	Name string `json:"name"`
	// Key defaults to "kubeconfig".
	Key string `json:"key,omitempty"`
}

// KubeconfigFile points at one context of a kubeconfig file.
type KubeconfigFile struct {
	Path string `json:"path"`
	// Context defaults to the file's current context.
	Context string `json:"context,omitempty"`
}

// Linkerd says where Linkerd lives in a cluster. Version, domains and trust are read live.
type Linkerd struct {
	// Namespace of the control plane; default "linkerd".
	Namespace string `json:"namespace,omitempty"`
	// MulticlusterNamespace of gateway, links and controllers; default "linkerd-multicluster".
	MulticlusterNamespace string `json:"multiclusterNamespace,omitempty"`
}

// Gateway is the target's gateway. What is declared wins; the rest is read from the gateway's Service.
type Gateway struct {
	// Enabled defaults to true; without a gateway only remote discovery and federated services work.
	Enabled *bool `json:"enabled,omitempty"`
	// Name of the Service in the multicluster namespace; default "linkerd-gateway".
	Name string `json:"name,omitempty"`
	// Addresses are IPs or host names that peers use.
	Addresses []string `json:"addresses,omitempty"`
	// Port that peers use for the gateway's mc-gateway port.
	Port int32 `json:"port,omitempty"`
	// Identity is the gateway's TLS identity.
	Identity string `json:"identity,omitempty"`
	Probe    Probe  `json:"probe,omitempty"`
}

// Probe is how a source asks whether the gateway lives.
type Probe struct {
	Path string `json:"path,omitempty"`
	Port int32  `json:"port,omitempty"`
	// Period is a Go duration above zero, such as "3s".
	Period string `json:"period,omitempty"`
}

// On says whether the gateway takes part.
func (g Gateway) On() bool { return g.Enabled == nil || *g.Enabled }
