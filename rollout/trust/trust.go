// Package trust answers: may a trust anchor be removed from a mesh, and if not, who still needs it?
//
// A proxy trusts a peer if it knows an anchor that signs the issuer of the peer's certificate. So an anchor may go once each issuer is signed by
// another one that all bundles have and all proxies know, and once no certificate of a former issuer is valid any more. What is not known
// counts as a need: unknown is not absent.
package trust

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Cluster is what was read of a cluster.
type Cluster struct {
	Name      api.ClusterName
	Namespace string // of Linkerd's control plane
	Err       error  // why the cluster was not read; nil: it was
	Bundle    Bundle
	Issuer    Issuer
	Workloads []Workload
}

// Bundle is the ConfigMap with the anchors that new proxies get.
type Bundle struct {
	Text    string    // PEM
	Changed time.Time // when the ConfigMap was last written; zero: not known
}

// Workload is what has meshed pods: a Deployment, StatefulSet, DaemonSet or Argo Rollout, or a pod of something else.
type Workload struct {
	Kind, Namespace, Name string
	Proxies               []Proxy
}

// Proxy is what a pod shows of the anchors that its proxy knows.
type Proxy struct {
	Anchors string    // PEM; empty: the pod does not have them itself
	Bundled bool      // it took them from the bundle when its container started
	Hash    string    // SHA-256 of the bundle that its creator knew, in hex digits
	Started time.Time // when its container started; zero: not known
}

// bundleDelay is for how long after a change of the bundle a node may start containers with the former one: the period in which a kubelet reads
// ConfigMaps again, twice.
const bundleDelay = 2 * time.Minute

// Mesh is what all clusters show together.
type Mesh struct {
	clusters []cluster
	anchors  []Anchor
	explain  func(error) object.Reason
}

// cluster is a cluster with what follows from what was read.
type cluster struct {
	Cluster
	bundle    []Anchor
	chain     []*x509.Certificate // of the issuer
	signers   []Anchor            // anchors that sign the issuer; none: not known
	workloads []workload
}

// workload is a workload with what its proxies know.
type workload struct {
	object.Key
	known   [][]Anchor // of each proxy of which that is known
	proxies int
}

// Of returns the mesh of clusters. An error of one of them is explained when it is reported.
func Of(clusters []Cluster, explain func(error) object.Reason) Mesh {
	m, r := Mesh{explain: explain}, reader{sets: map[string][]Anchor{}}
	for _, c := range clusters {
		one := cluster{Cluster: c}
		if c.Err == nil {
			one.bundle, one.chain = r.read(c.Bundle.Text), linkerd.Certificates(c.Issuer.Certificates)
			one.workloads = r.workloads(c)
		}
		m.clusters = append(m.clusters, one)
	}
	m.anchors = r.all()
	for i := range m.clusters {
		c := &m.clusters[i]
		if c.Err != nil || c.Issuer.Err != nil {
			continue
		}
		for _, a := range m.anchors {
			if a.signs(c.chain) {
				c.signers = append(c.signers, a)
			}
		}
	}
	return m
}

// Anchors are all anchors that a bundle or a proxy has, those that expire first before the others.
func (m Mesh) Anchors() []Anchor { return m.anchors }

// reader reads bundles, each different text once.
type reader struct{ sets map[string][]Anchor }

func (r reader) read(bundle string) []Anchor {
	bundle = strings.TrimSpace(bundle)
	set, ok := r.sets[bundle]
	if !ok {
		set = parse(bundle)
		r.sets[bundle] = set
	}
	return set
}

// all are the anchors of all texts.
func (r reader) all() []Anchor {
	var out []Anchor
	for _, set := range r.sets {
		out = append(out, set...)
	}
	return sorted(out)
}

func (r reader) workloads(c Cluster) []workload {
	hashes := hashesOf(c.Bundle.Text)
	out := make([]workload, 0, len(c.Workloads))
	for _, w := range c.Workloads {
		one := workload{Key: object.Key{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}, proxies: len(w.Proxies)}
		for _, p := range w.Proxies {
			text := p.Anchors
			if p.Bundled && p.has(c.Bundle, hashes) {
				text = c.Bundle.Text
			}
			if set := r.read(text); len(set) > 0 {
				one.known = append(one.known, set)
			}
		}
		out = append(out, one)
	}
	return out
}

// has reports whether a proxy that took its anchors from the bundle has those of today: its pod was made with them, or its container started later.
func (p Proxy) has(b Bundle, hashes []string) bool {
	return slices.Contains(hashes, p.Hash) || !b.Changed.IsZero() && p.Started.After(b.Changed.Add(bundleDelay))
}

// hashesOf returns what pods are annotated with if they know a bundle. Linkerd's injector hashes the text of the ConfigMap, and its chart the value that
// it makes that text of, which may differ in the space around it (linkerd2 controller/proxy-injector/webhook.go, charts/partials).
func hashesOf(bundle string) []string {
	trimmed := strings.TrimSpace(bundle)
	var out []string
	for _, text := range []string{bundle, trimmed, trimmed + "\n"} {
		sum := sha256.Sum256([]byte(text))
		out = append(out, hex.EncodeToString(sum[:]))
	}
	return out
}

// sorted returns anchors without those that are there twice, by their last day.
func sorted(all []Anchor) []Anchor {
	slices.SortFunc(all, func(a, b Anchor) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return slices.CompactFunc(all, Anchor.same)
}
