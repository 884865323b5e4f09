package linkerd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Facts are the public properties of a cluster that other clusters' objects are rendered from. They hold no secret.
// Missing lists what could not be read, with the role that needs it.
type Facts struct {
	UID     string    `json:"uid,omitempty"` // of kube-system: the cluster's identity
	Version string    `json:"version,omitempty"`
	Links   string    `json:"links,omitempty"` // version of Linkerd Links that the API serves; empty: that of Version's release
	Domains Domains   `json:"domains"`
	Gateway Gateway   `json:"gateway"`
	API     Endpoint  `json:"api"`
	Anchors []Anchor  `json:"anchors,omitempty"` // by fingerprint; empty: they could not be read
	Missing []Missing `json:"-"`
}

// Domains of a cluster: its DNS domain and its trust domain.
type Domains struct {
	Cluster string `json:"cluster,omitempty"`
	Trust   string `json:"trust,omitempty"`
}

// Gateway is how other clusters reach a cluster's gateway. Disabled: it is not rendered.
type Gateway struct {
	Disabled  bool     `json:"disabled,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Port      string   `json:"port,omitempty"`
	Identity  string   `json:"identity,omitempty"`
	Probe     Probe    `json:"probe"`
}

// Probe is how other clusters probe the gateway; Period is a Go duration.
type Probe struct {
	Path   string `json:"path,omitempty"`
	Port   string `json:"port,omitempty"`
	Period string `json:"period,omitempty"`
}

// Endpoint is a cluster's API server as other clusters reach it; CA is PEM.
type Endpoint struct {
	Server string `json:"server,omitempty"`
	CA     string `json:"ca,omitempty"`
}

// Role is the end of a link that needs a fact.
type Role string

// Roles.
const (
	AsSource Role = "source"
	AsTarget Role = "target"
	// AsAnchor is the role in the comparison of trust anchors.
	AsAnchor Role = "trust anchors"
)

// Missing is a fact that could not be read, and what the user can do about it.
type Missing struct {
	Role Role
	Why  object.Reason
}

// MissingFor returns the first reason why the facts are not enough for a role, or nil.
func (f *Facts) MissingFor(r Role) *object.Reason {
	for _, m := range f.Missing {
		if m.Role == r {
			return &m.Why
		}
	}
	return nil
}

// Watches lists what FactsOf reads in a cluster. It covers Linkerd Links in all namespaces: the labels of mirrors name their
// target, and not their Link.
func Watches(c api.Cluster) []object.Watch {
	l := c.Linkerd
	whole := func(kind, ns string, names ...string) object.Watch {
		return object.Watch{Version: "v1", Kind: kind, Namespace: ns, Names: names, Depth: object.Whole}
	}
	w := []object.Watch{
		{Version: "v1", Kind: "Namespace", Names: []string{kubeSystem, l.Namespace, l.MulticlusterNamespace}},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Names: []string{LocalAccessRole, RemoteAccessRole}, Depth: object.Metadata},
		{Group: Group, Version: LinkVersion, Kind: "Link", Depth: object.Whole},
		whole("ConfigMap", l.Namespace, config),
		whole("ConfigMap", l.Namespace, trustRoots),
		whole("ConfigMap", kubeSystem, rootCA),
	}
	if c.Gateway.On() {
		w = append(w, whole("Service", l.MulticlusterNamespace, c.Gateway.Name))
	}
	return w
}

// reader gathers facts and what is missing; declared values override live ones.
type reader struct {
	c        api.Cluster
	observed object.Observation
	configs  *Configs
	f        Facts
}

// FactsOf reads the facts of a cluster. Access is the URL linkwright itself uses, the default of apiServer.
func FactsOf(c api.Cluster, access string, observed object.Observation) Facts {
	return new(Configs).FactsOf(c, access, observed)
}

// FactsOf is the function with the cache, for many clusters.
func (configs *Configs) FactsOf(c api.Cluster, access string, observed object.Observation) Facts {
	r := reader{c: c, observed: observed, configs: configs}
	r.f.UID = observed.Record(object.Key{Kind: "Namespace", Name: kubeSystem}).UID
	r.installed()
	r.config()
	r.linkVersion()
	r.gateway()
	r.endpoint(access)
	return r.f
}

func (r *reader) addMissing(role Role, code reason.Code, format string, a ...any) {
	r.f.Missing = append(r.f.Missing, Missing{role, *object.Because(code, format, a...)})
}

func (r *reader) addMissingInBoth(code reason.Code, format string, a ...any) {
	r.addMissing(AsSource, code, format, a...)
	r.addMissing(AsTarget, code, format, a...)
}

// installed checks for what only an installation of Linkerd creates.
func (r *reader) installed() {
	l := r.c.Linkerd
	for _, ns := range []string{l.Namespace, l.MulticlusterNamespace} {
		if r.observed.Record(object.Key{Kind: "Namespace", Name: ns}).IsZero() {
			r.addMissingInBoth(reason.LinkerdNotInstalled, "namespace %s is missing: install Linkerd and its multicluster extension, or declare spec.linkerd", ns)
		}
	}
	if r.lacksRole(RemoteAccessRole) && !r.forbidden(clusterRole(RemoteAccessRole), AsTarget) {
		r.addMissing(AsTarget, reason.LinkerdNotInstalled, "ClusterRole %s is missing: install the multicluster extension with its default remote access", RemoteAccessRole)
	}
}

// forbidden adds an object that linkwright may not read as missing for roles: it may exist.
func (r *reader) forbidden(k object.Key, roles ...Role) bool {
	why := r.observed.Hides(k)
	for _, role := range roles {
		if why != nil {
			r.f.Missing = append(r.f.Missing, Missing{role, *why})
		}
	}
	return why != nil
}

func clusterRole(name string) object.Key {
	return object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: name}
}

func (r *reader) lacksRole(name string) bool { return r.observed.Record(clusterRole(name)).IsZero() }

// linkVersion checks for what links from the cluster need. A cluster that is only a target needs none of it: the access that
// sources get there is the same since 2.14. API discovery counts, and not the version that runs.
func (r *reader) linkVersion() {
	served := Serves(r.observed)
	if served != r.f.LinkVersion() {
		r.f.Links = served
	}
	switch {
	case served == "":
		r.addMissing(AsSource, reason.LinkerdNotInstalled, "the API server does not serve links.%s: install the multicluster extension of Linkerd", Group)
	case served == LinkVersion && r.forbidden(clusterRole(LocalAccessRole), AsSource):
	case served == LinkVersion && r.lacksRole(LocalAccessRole):
		r.addMissing(AsSource, reason.LinkerdNotInstalled, "ClusterRole %s is missing: install the multicluster extension of Linkerd 2.18 or later", LocalAccessRole)
	}
}

// config reads domains and version from Linkerd's own configuration.
func (r *reader) config() {
	key := object.Key{Kind: "ConfigMap", Namespace: r.c.Linkerd.Namespace, Name: config}
	values, ok := r.text(key, "values")
	if !ok && r.forbidden(key, AsSource, AsTarget) {
		return
	}
	if !ok {
		r.addMissingInBoth(reason.LinkerdNotInstalled, "%s is missing, so linkwright cannot read Linkerd's version and domains: install Linkerd, or declare spec.linkerd.namespace", key)
		return
	}
	v, err := r.configs.decode(values)
	if err != nil {
		r.addMissingInBoth(reason.LinkerdConfigInvalid, "%s: key values is not YAML: %v", key, err)
		return
	}
	if v.ClusterDomain == "" {
		r.addMissing(AsTarget, reason.LinkerdConfigInvalid, "%s: key values has no clusterDomain: repair Linkerd's installation", key)
	}
	if v.LinkerdVersion == "" {
		r.addMissing(AsSource, reason.LinkerdConfigInvalid, "%s: key values has no linkerdVersion, from which linkwright takes the controller's image: repair Linkerd's installation", key)
	}
	r.anchors(v.IdentityTrustAnchorsPEM)
	r.f.Version = v.LinkerdVersion
	r.f.Domains = Domains{Cluster: v.ClusterDomain, Trust: v.IdentityTrustDomain}
	if v.IdentityTrustDomain == "" {
		r.f.Domains.Trust = v.ClusterDomain
	}
}

// body decodes a live object; one that does not decode counts as absent.
func (r *reader) body(key object.Key, into any) bool {
	b, ok := r.observed.Body(key)
	return ok && json.Unmarshal(b.Bytes(), into) == nil
}

// text is a key of a live ConfigMap; false: there is no such ConfigMap.
func (r *reader) text(key object.Key, name string) (string, bool) {
	b, ok := r.observed.Body(key)
	if text, found := b.Text("data", name); ok && found {
		return text, true
	}
	var cm corev1.ConfigMap
	ok = r.body(key, &cm)
	return cm.Data[name], ok
}

// endpoint prefers the declared address to the one that linkwright uses; the CA is the cluster's own.
func (r *reader) endpoint(access string) {
	server := r.c.APIServer
	if server == "" {
		server = access
		if r.c.Access.InCluster || Loopback(access) {
			r.addMissing(AsTarget, reason.APIServerAddressInvalid, "other clusters cannot use the address %s: declare spec.apiServer", access)
		}
	}
	key := object.Key{Kind: "ConfigMap", Namespace: kubeSystem, Name: rootCA}
	ca, _ := r.text(key, "ca.crt")
	if ca == "" && !r.forbidden(key, AsTarget) {
		r.addMissing(AsTarget, reason.ClusterCAMissing, "%s has no ca.crt: check that the cluster's controller manager runs its root-ca-certificate-publisher", key)
	}
	r.f.API = Endpoint{Server: server, CA: ca}
}

// Loopback reports whether a URL names this machine.
func Loopback(rawURL string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost" || strings.HasSuffix(host, ".localhost")
	}
	return ip.IsLoopback() || ip.IsUnspecified()
}

// ParseFacts reads a facts file: YAML, cluster name → facts; an unknown field is an error.
func ParseFacts(b []byte) (map[api.ClusterName]Facts, error) {
	facts := map[api.ClusterName]Facts{}
	if err := yaml.UnmarshalStrict(b, &facts); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	for name, f := range facts {
		for _, a := range f.Anchors {
			if _, err := hex.DecodeString(a.Fingerprint); err != nil || len(a.Fingerprint) != 2*sha256.Size {
				return nil, fmt.Errorf("read facts: cluster %s: anchors: fingerprint %q: want the SHA-256 of a certificate in 64 hex digits", name, a.Fingerprint)
			}
		}
	}
	return facts, nil
}
