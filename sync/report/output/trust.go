package output

import (
	"time"

	"github.com/linkwright/linkwright/object"
)

// TrustAnchor is a trust anchor in a cluster: its bundle, its issuer or a proxy there has it.
type TrustAnchor struct {
	TypeMeta
	// Cluster is the cluster.
	Cluster string `json:"cluster"`
	// Fingerprint is the SHA-256 of the certificate, in 64 hex digits. The table shows the first 16.
	Fingerprint string `json:"fingerprint"`
	// Subject is the common name of the certificate, or the whole subject if it has none.
	Subject string `json:"subject"`
	// Expires is when the certificate expires.
	Expires time.Time `json:"expires"`
	// InBundle says that new proxies in the cluster get the anchor.
	InBundle bool `json:"inBundle"`
	// SignsIssuer is True if the anchor signs the cluster's issuer, False if another one does, and Unknown otherwise.
	SignsIssuer string `json:"signsIssuer" jsonschema:"enum=True,enum=False,enum=Unknown"`
	// Proxies is how many proxies the cluster has.
	Proxies int `json:"proxies"`
	// KnowingProxies is how many of them know the anchor.
	KnowingProxies int `json:"knowingProxies"`
	// UnknownProxies is of how many of them nobody knows which anchors they know.
	UnknownProxies int `json:"unknownProxies"`
	// Removable is True if the anchor may be removed from all clusters that were asked for, False if something needs it, and Unknown otherwise.
	Removable string `json:"removable" jsonschema:"enum=True,enum=False,enum=Unknown"`
	// Needs is how many reasons there are not to remove it.
	Needs int `json:"needs"`
}

// Ref is trustanchor/CLUSTER/FINGERPRINT, with 16 digits.
func (a TrustAnchor) Ref() string {
	return "trustanchor/" + a.Cluster + "/" + a.Fingerprint[:min(16, len(a.Fingerprint))]
}

// TrustNeed is a reason not to remove a trust anchor. A list without any means that it may be removed.
type TrustNeed struct {
	TypeMeta
	// Cluster is the cluster in which something needs the anchor.
	Cluster string `json:"cluster"`
	// Object is what needs it, or may need it: a workload or pod, the bundle or the issuer. Its kind is Cluster if the cluster was not read.
	Object object.Key `json:"object"`
	// Status is Needed, or Unknown if nobody knows whether the object needs the anchor.
	Status string `json:"status" jsonschema:"enum=Needed,enum=Unknown"`
	// Reason says why, and what to do.
	Reason *object.Reason `json:"reason"`
}

// Ref is trustneed/CLUSTER/KIND/NAMESPACE/NAME. A cluster has no namespace.
func (n TrustNeed) Ref() string {
	ref := "trustneed/" + n.Cluster + "/" + n.Object.Kind + "/"
	if n.Object.Namespace != "" {
		ref += n.Object.Namespace + "/"
	}
	return ref + n.Object.Name
}
