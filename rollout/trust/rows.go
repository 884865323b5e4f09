package trust

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Row says who has an anchor in a cluster.
type Row struct {
	Cluster  api.ClusterName
	Anchor   Anchor
	InBundle bool
	Signs    string // whether it signs the issuer: object.True, False or Unknown
	Proxies  Count
}

// Count is how many proxies know an anchor. Of those of which it is not known, none counts as knowing it.
type Count struct{ All, Know, Unknown int }

// Rows returns a row for each anchor of each cluster that was read: of its bundle, its issuer or a proxy.
func (m Mesh) Rows() []Row {
	var out []Row
	for i := range m.clusters {
		c := &m.clusters[i]
		for _, a := range m.anchors {
			row := Row{Cluster: c.Name, Anchor: a, InBundle: contains(c.bundle, a), Signs: c.signedBy(a), Proxies: c.count(a)}
			if row.InBundle || row.Signs == object.True || row.Proxies.Know > 0 {
				out = append(out, row)
			}
		}
	}
	return out
}

func (c *cluster) signedBy(a Anchor) string {
	switch {
	case len(c.signers) == 0:
		return object.Unknown
	case contains(c.signers, a):
		return object.True
	}
	return object.False
}

func (c *cluster) count(a Anchor) (n Count) {
	for _, w := range c.workloads {
		n.All += w.proxies
		n.Unknown += w.proxies - len(w.known)
		for _, known := range w.known {
			if contains(known, a) {
				n.Know++
			}
		}
	}
	return n
}
