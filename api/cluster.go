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

// TypeMeta is the apiVersion and kind of a document.
type TypeMeta struct {
	// APIVersion is linkwright.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the declaration.
	Kind string `json:"kind"`
}

// Meta names a declaration.
type Meta struct {
	// Name is unique among declarations of one kind. That of a cluster is an RFC 1035 label of at most 52 characters, and
	// not "federated", because Linkerd builds other names from it.
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
	// APIServer is the https URL that other clusters use. The default is that of the access. inCluster and loopback
	// addresses require it.
	APIServer string  `json:"apiServer,omitempty"`
	Linkerd   Linkerd `json:"linkerd,omitzero"`
	Gateway   Gateway `json:"gateway,omitzero"`
	// Overlay is a directory of this tree that holds a kustomize Component. It is applied to each end in this cluster:
	// labels and annotations, and the few fields of workloads that people tune. Its own resources are applied once.
	Overlay string `json:"overlay,omitempty"`
	// State sets whether the cluster takes part in links.
	State ClusterState `json:"state,omitempty"`
	// Suspend keeps everything in the cluster as it is: linkwright only records whether
	// its links work. Removals of links to and from it do not begin at the other end either. Reports show it, and it is no failure.
	Suspend bool `json:"suspend,omitempty"`
}

// ClusterState sets whether a cluster takes part in links.
type ClusterState string

const (
	// Active lets it take part. It is the default.
	Active ClusterState = "Active"
	// Leaving removes every link to and from the cluster at both ends, as if none were declared, and what its overlay added;
	// the limits of spec.prune do not count that. When the report shows CleanupComplete, you can remove cluster and
	// declaration, in any order.
	Leaving ClusterState = "Leaving"
)

// Access is how linkwright reaches the cluster: exactly one of its fields is declared.
type Access struct {
	// KubeconfigSecret is a Secret with a kubeconfig, in linkwright's own namespace of the management cluster.
	KubeconfigSecret *SecretKey `json:"kubeconfigSecret,omitempty"`
	// Kubeconfig is a file on linkwright's machine. It needs --allow-kubeconfig-paths, and is for people and tests.
	Kubeconfig *KubeconfigFile `json:"kubeconfig,omitempty"`
	// InCluster means that linkwright runs in this cluster. A command that you run elsewhere reaches it as the management cluster.
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

// Linkerd is where Linkerd is installed in a cluster. Version, domains and trust are read live.
type Linkerd struct {
	// Namespace of the control plane.
	Namespace string `json:"namespace,omitempty"`
	// MulticlusterNamespace of gateway, links and controllers.
	MulticlusterNamespace string `json:"multiclusterNamespace,omitempty"`
}

// Gateway is the target's gateway. What is declared wins; the rest is read from the gateway's Service.
type Gateway struct {
	// Enabled sets whether there is a gateway; without one only remote discovery and federated services work.
	Enabled *bool `json:"enabled,omitempty"`
	// Name of the Service in the multicluster namespace.
	Name string `json:"name,omitempty"`
	// Addresses are IPs or host names that other clusters use; left out, they are read live.
	Addresses []string `json:"addresses,omitempty"`
	// Port that other clusters use for the gateway's mc-gateway port; left out, it is read live.
	Port int32 `json:"port,omitempty"`
	// Identity is the gateway's TLS identity; left out, it is read live.
	Identity string `json:"identity,omitempty"`
	Probe    Probe  `json:"probe,omitzero"`
}

// Probe is how a source checks that the gateway is alive. Fields that are left out are read live.
type Probe struct {
	// Path of the request, beginning with /.
	Path string `json:"path,omitempty"`
	// Port of the gateway that answers.
	Port int32 `json:"port,omitempty"`
	// Period between requests: a duration above zero, such as 3s.
	Period string `json:"period,omitempty"`
}

// On reports whether the gateway takes part.
func (g Gateway) On() bool { return g.Enabled == nil || *g.Enabled }

// Check returns what is wrong with the values of the declaration.
func (d ClusterDoc) Check() []Finding {
	return slices.Concat(
		prefixed("metadata", prefixed("name", checkClusterName(d.Metadata.Name))),
		prefixed("metadata", prefixed("labels", checkLabels(d.Metadata.Labels))),
		prefixed("spec", d.Spec.check()),
	)
}

func checkClusterName(name string) []Finding {
	if name == "" {
		return nil
	}
	if err := CheckClusterName(ClusterName(name)); err != nil {
		return finding("%v", err)
	}
	return nil
}

func (c Cluster) check() []Finding {
	if c.SameAs != "" {
		return c.checkSecondName()
	}
	return slices.Concat(
		prefixed("access", c.Access.check()),
		prefixed("access", c.checkReachable()),
		prefixed("apiServer", checkAPIServer(c.APIServer)),
		prefixed("linkerd", c.Linkerd.check()),
		prefixed("gateway", c.Gateway.check()),
		prefixed("overlay", checkOverlay(c.Overlay)),
		prefixed("state", checkWord(c.State)),
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
			out = append(out, prefixed(field.name, findingWithHint("declare it in that cluster, or remove sameAs",
				"a second name uses the %s of cluster %s", field.name, c.SameAs))...)
		}
	}
	return append(out, prefixed("gateway", c.Gateway.check())...)
}

// checkOverlay: a directory of the tree, below its root; which one, and what is in it, is a question to the tree.
func checkOverlay(dir string) []Finding {
	if dir == "" || dir != "." && fs.ValidPath(dir) && !strings.ContainsAny(dir, `:\`) {
		return nil
	}
	if plain := path.Clean(dir); plain != "." && fs.ValidPath(plain) && !strings.ContainsAny(plain, `:\`) {
		return findingWithHint("write it as "+plain, "%q is not a plain path", dir)
	}
	return findingWithHint("write a path from the root of the declarations, such as overlays/east", "%q is not a directory of this tree", dir)
}

// checkReachable: the address of an in-cluster access means nothing to peers.
func (c Cluster) checkReachable() []Finding {
	if !c.Access.InCluster || c.APIServer != "" {
		return nil
	}
	return prefixed("inCluster", findingWithHint("add spec.apiServer, the https URL that other clusters use",
		"inCluster needs spec.apiServer, because other clusters cannot use the address inside the cluster"))
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
		return []Finding{{
			Message: "no access is declared", Absent: true,
			Hint: "declare kubeconfigSecret, kubeconfig or inCluster: true; or spec.sameAs, for a second name of a declared cluster",
		}}
	case 1:
		return a.KubeconfigSecret.check()
	}
	return findingWithHint("keep one", "%d kinds of access are declared: %s", len(ways), strings.Join(ways, ", "))
}

func (s *SecretKey) check() []Finding {
	if s == nil {
		return nil
	}
	return prefixed("kubeconfigSecret", slices.Concat(
		prefixed("name", checkSyntax(s.Name, checkDNSName)),
		prefixed("key", checkSyntax(s.Key, validation.IsConfigMapKey)),
	))
}

func checkAPIServer(server string) []Finding {
	if server == "" {
		return nil
	}
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return findingWithHint("write a URL such as https://east.example.com:6443", "%q is not an https URL", server)
	case strings.ContainsFunc(server, func(r rune) bool { return r <= ' ' || r > '~' }):
		return findingWithHint("write an internationalized name in its ASCII form, such as https://xn--mnchen-3ya.example.com", "%q has spaces, or characters that are not printable ASCII", server)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return finding("%q has more than a host, a port and a path: remove the rest", server)
	case u.Port() != "":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || port == 0 {
			return finding("the port of %q is not between 1 and 65535", server)
		}
	}
	return nil
}

func (l Linkerd) check() []Finding {
	return slices.Concat(
		prefixed("namespace", checkSyntax(l.Namespace, validation.IsDNS1123Label)),
		prefixed("multiclusterNamespace", checkSyntax(l.MulticlusterNamespace, validation.IsDNS1123Label)),
	)
}

func (g Gateway) check() []Finding {
	found := slices.Concat(
		prefixed("name", checkSyntax(g.Name, validation.IsDNS1035Label)),
		prefixed("port", checkPort(g.Port)),
		prefixed("identity", checkSyntax(g.Identity, checkDNSName)),
		prefixed("probe", g.Probe.check()),
	)
	for i, address := range g.Addresses {
		found = append(found, prefixed("addresses", prefixed(strconv.Itoa(i), checkAddress(address)))...)
	}
	return found
}

// checkAddress: a host name, or an IP that the API server takes for Endpoints
// (k8s.io/kubernetes pkg/apis/core/validation, ValidateEndpointIP).
func checkAddress(address string) []Finding {
	ip, err := netip.ParseAddr(address)
	switch {
	case strings.ContainsAny(address, " ,\t\n"):
		return findingWithHint("write one list item for each address", "%q is more than one address", address)
	case err != nil && (len(checkDNSName(address)) > 0 || endsInDigits(address)):
		return finding("%q is neither an IP address nor a host name", address)
	case err == nil && ip.Zone() != "":
		return finding("%q has a zone, which means nothing to other clusters", address)
	case err == nil && (ip.IsUnspecified() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast()):
		return finding("other clusters cannot reach %q, because it is unspecified, loopback or link-local", address)
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
		found = prefixed("path", finding("%q does not begin with /", p.Path))
	}
	found = append(found, prefixed("port", checkPort(p.Port))...)
	return append(found, prefixed("period", checkDuration(p.Period, time.Nanosecond))...)
}
