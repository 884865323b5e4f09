package api

import (
	"io/fs"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ClusterDoc declares a Kubernetes cluster that may take part in links: how to reach it, and what differs there from an
// ordinary installation of Linkerd.
type ClusterDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta    `json:"metadata"`
	Spec     Cluster `json:"spec"`
}

// TypeMeta says what a document is.
type TypeMeta struct {
	// APIVersion is linkwright.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind says what is declared.
	Kind string `json:"kind"`
}

// Meta names a declaration.
type Meta struct {
	// Name is unique among declarations of one kind. That of a cluster is an RFC 1035 label of at most 52 characters, and
	// not "federated", since Linkerd makes other names of it.
	Name string `json:"name"`
	// Labels of a Cluster are what a Mesh chooses its members by; those of other kinds mean nothing.
	Labels map[string]string `json:"labels,omitempty"`
}

// Cluster is what is declared of a Kubernetes cluster.
type Cluster struct {
	// Access is how linkwright reaches the cluster. It is required, except with sameAs.
	Access Access `json:"access,omitzero"`
	// SameAs makes this a second name of another declared cluster. Links can have it as their target, and not as their source.
	// It has a gateway and labels of its own, and nothing else: all other fields are those of that cluster.
	SameAs ClusterName `json:"sameAs,omitempty"`
	// APIServer is the https URL that peers use; left out, it is that of the access. It must be declared for inCluster
	// and for loopback addresses.
	APIServer string  `json:"apiServer,omitempty"`
	Linkerd   Linkerd `json:"linkerd,omitzero"`
	Gateway   Gateway `json:"gateway,omitzero"`
	// Overlay is a directory of this tree that holds a kustomize Component. It is applied to each end in this cluster:
	// labels and annotations, and the few fields of workloads that people tune. Its own resources are applied once.
	Overlay string `json:"overlay,omitempty"`
	// State says whether the cluster takes part in links.
	State ClusterState `json:"state,omitempty"`
	// Suspend keeps everything in the cluster as it is: nothing is written there, nothing deleted. Removals of links to
	// and from it do not begin at the other end either. That is told, and no failure.
	Suspend bool `json:"suspend,omitempty"`
}

// ClusterState says whether a cluster takes part in links.
type ClusterState string

const (
	// Active lets it take part. It is the default.
	Active ClusterState = "Active"
	// Leaving removes every link to and from the cluster at both ends, as if none were declared, and what its overlay
	// brought in; the limits of spec.prune do not count that. Once the report says that nothing is left, cluster and
	// declaration can go, in any order.
	Leaving ClusterState = "Leaving"
)

// Access is how linkwright reaches the cluster: exactly one of its fields is declared.
type Access struct {
	// KubeconfigSecret is a Secret with a kubeconfig, in linkwright's own namespace of the management cluster.
	KubeconfigSecret *SecretKey `json:"kubeconfigSecret,omitempty"`
	// Kubeconfig is a file beside the process; only where --allow-kubeconfig-paths is given, as people and tests do.
	Kubeconfig *KubeconfigFile `json:"kubeconfig,omitempty"`
	// InCluster says that this is the cluster linkwright runs in.
	InCluster bool `json:"inCluster,omitempty"`
}

// SecretKey points at one value of a Secret.
type SecretKey struct {
	// Name of the Secret.
	Name string `json:"name"`
	// Key of the value in it.
	Key string `json:"key,omitempty"`
}

// KubeconfigFile points at one context of a kubeconfig file.
type KubeconfigFile struct {
	// Path of the file on the machine that linkwright runs on.
	Path string `json:"path"`
	// Context in the file; left out, it is the file's current context.
	Context string `json:"context,omitempty"`
}

// Linkerd says where Linkerd lives in a cluster. Version, domains and trust are read live.
type Linkerd struct {
	// Namespace of the control plane.
	Namespace string `json:"namespace,omitempty"`
	// MulticlusterNamespace of gateway, links and controllers.
	MulticlusterNamespace string `json:"multiclusterNamespace,omitempty"`
}

// Gateway is the target's gateway. What is declared wins; the rest is read from the gateway's Service.
type Gateway struct {
	// Enabled says whether there is a gateway; without one only remote discovery and federated services work.
	Enabled *bool `json:"enabled,omitempty"`
	// Name of the Service in the multicluster namespace.
	Name string `json:"name,omitempty"`
	// Addresses are IPs or host names that peers use; left out, they are read live.
	Addresses []string `json:"addresses,omitempty"`
	// Port that peers use for the gateway's mc-gateway port; left out, it is read live.
	Port int32 `json:"port,omitempty"`
	// Identity is the gateway's TLS identity; left out, it is read live.
	Identity string `json:"identity,omitempty"`
	Probe    Probe  `json:"probe,omitzero"`
}

// Probe is how a source asks whether the gateway lives. What is left out is read live.
type Probe struct {
	// Path of the request, beginning with /.
	Path string `json:"path,omitempty"`
	// Port of the gateway that answers.
	Port int32 `json:"port,omitempty"`
	// Period between requests: a duration above zero, such as 3s.
	Period string `json:"period,omitempty"`
}

// On says whether the gateway takes part.
func (g Gateway) On() bool { return g.Enabled == nil || *g.Enabled }

// Check gives what is wrong with the values of the declaration.
func (d ClusterDoc) Check() []Finding {
	return slices.Concat(
		under("metadata", under("name", checkClusterName(d.Metadata.Name))),
		under("metadata", under("labels", checkLabels(d.Metadata.Labels))),
		under("spec", d.Spec.check()),
	)
}

func checkClusterName(name string) []Finding {
	if name == "" {
		return nil
	}
	if err := CheckClusterName(ClusterName(name)); err != nil {
		return fault("%v", err)
	}
	return nil
}

func (c Cluster) check() []Finding {
	if c.SameAs != "" {
		return c.checkSecondName()
	}
	return slices.Concat(
		under("access", c.Access.check()),
		under("access", c.checkReachable()),
		under("apiServer", checkAPIServer(c.APIServer)),
		under("linkerd", c.Linkerd.check()),
		under("gateway", c.Gateway.check()),
		under("overlay", checkOverlay(c.Overlay)),
		under("state", oneOf(c.State)),
	)
}

// checkSecondName: all but the gateway is declared of the cluster that it is a second name of.
func (c Cluster) checkSecondName() []Finding {
	var out []Finding
	for _, field := range []struct {
		name     string
		declared bool
	}{
		{"access", c.Access != Access{}},
		{"apiServer", c.APIServer != ""},
		{"linkerd", c.Linkerd != Linkerd{}},
		{"overlay", c.Overlay != ""},
		{"state", c.State != ""},
		{"suspend", c.Suspend},
	} {
		if field.declared {
			out = append(out, under(field.name, faultHint("declare it there, or leave sameAs out",
				"a second name has the %s of cluster %s", field.name, c.SameAs))...)
		}
	}
	return append(out, under("gateway", c.Gateway.check())...)
}

// checkOverlay: a directory of the tree, below its root; which one, and what is in it, is a question to the tree.
func checkOverlay(dir string) []Finding {
	if dir == "" || dir != "." && fs.ValidPath(dir) && !strings.ContainsAny(dir, `:\`) {
		return nil
	}
	if plain := path.Clean(dir); plain != "." && fs.ValidPath(plain) && !strings.ContainsAny(plain, `:\`) {
		return faultHint("write it as "+plain, "%q is no plain path", dir)
	}
	return faultHint("such as overlays/east, from the root of the declarations", "%q is no directory of this tree", dir)
}

// checkReachable: the address of an in-cluster access means nothing to peers.
func (c Cluster) checkReachable() []Finding {
	if !c.Access.InCluster || c.APIServer != "" {
		return nil
	}
	return under("inCluster", faultHint("add spec.apiServer, the https URL that peers use",
		"apiServer must be declared, too: peers cannot use the address inside the cluster"))
}

func (a Access) check() []Finding {
	var ways []string
	if a.KubeconfigSecret != nil {
		ways = append(ways, "kubeconfigSecret")
	}
	if a.Kubeconfig != nil {
		ways = append(ways, "kubeconfig")
	}
	if a.InCluster {
		ways = append(ways, "inCluster")
	}
	switch len(ways) {
	case 0:
		return faultHint("declare kubeconfigSecret, kubeconfig or inCluster: true; or spec.sameAs, for a second name of a declared cluster", "there is no way of access")
	case 1:
		return a.KubeconfigSecret.check()
	}
	return faultHint("leave out all but one", "there are %d ways of access: %s", len(ways), strings.Join(ways, ", "))
}

func (s *SecretKey) check() []Finding {
	if s == nil {
		return nil
	}
	return under("kubeconfigSecret", slices.Concat(
		under("name", syntax(s.Name, checkDNSName)),
		under("key", syntax(s.Key, validation.IsConfigMapKey)),
	))
}

func checkAPIServer(server string) []Finding {
	if server == "" {
		return nil
	}
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return faultHint("such as https://east.example.com:6443", "%q is no https URL", server)
	case strings.ContainsFunc(server, func(r rune) bool { return r <= ' ' || r > '~' }):
		return faultHint("write a name of other scripts in its ASCII form, such as https://xn--mnchen-3ya.example.com", "%q is not printable ASCII without blanks", server)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fault("%q has more than host, port and path", server)
	case u.Port() != "":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || port == 0 {
			return fault("%q has no port between 1 and 65535", server)
		}
	}
	return nil
}

func (l Linkerd) check() []Finding {
	return slices.Concat(
		under("namespace", syntax(l.Namespace, validation.IsDNS1123Label)),
		under("multiclusterNamespace", syntax(l.MulticlusterNamespace, validation.IsDNS1123Label)),
	)
}

func (g Gateway) check() []Finding {
	found := slices.Concat(
		under("name", syntax(g.Name, validation.IsDNS1035Label)),
		under("port", checkPort(g.Port)),
		under("identity", syntax(g.Identity, checkDNSName)),
		under("probe", g.Probe.check()),
	)
	for i, address := range g.Addresses {
		found = append(found, under("addresses", under(strconv.Itoa(i), checkAddress(address)))...)
	}
	return found
}

// checkAddress: a host name, or an IP that the API server takes for Endpoints
// (k8s.io/kubernetes pkg/apis/core/validation, ValidateEndpointIP).
func checkAddress(address string) []Finding {
	ip, err := netip.ParseAddr(address)
	switch {
	case strings.ContainsAny(address, " ,\t\n"):
		return faultHint("one list item for each address", "%q is more than one address", address)
	case err != nil && (len(checkDNSName(address)) > 0 || endsInDigits(address)):
		return fault("%q is neither an IP nor a host name", address)
	case err == nil && ip.Zone() != "":
		return fault("%q has a zone, which means nothing to peers", address)
	case err == nil && (ip.IsUnspecified() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast()):
		return fault("%q cannot be reached by peers: it is unspecified, loopback or link-local", address)
	}
	return nil
}

// endsInDigits: no top-level domain is a number, so 300.1.1.1 is a mistyped IP.
func endsInDigits(name string) bool {
	last := name[strings.LastIndex(name, ".")+1:]
	return strings.Trim(last, "0123456789") == ""
}

func (p Probe) check() []Finding {
	var found []Finding
	if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
		found = under("path", fault("%q does not begin with /", p.Path))
	}
	found = append(found, under("port", checkPort(p.Port))...)
	return append(found, under("period", checkDuration(p.Period, time.Nanosecond))...)
}
