package linkerd

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
)

// Anchor is a trust anchor of a cluster's proxies.
type Anchor struct {
	Fingerprint string    `json:"fingerprint"` // SHA-256 of the certificate in DER, 64 hex digits
	Expires     time.Time `json:"expires"`     // in UTC
}

// Short is an anchor for messages: the first 16 digits of its fingerprint, and its last day.
func (a Anchor) Short() string {
	return a.Fingerprint[:16] + " (until " + a.Expires.Format(time.DateOnly) + ")"
}

// TrustRoots is the name of the ConfigMap with the anchors that new proxies get, and TrustRootsKey its key with their bundle.
const (
	TrustRoots    = trustRoots
	TrustRootsKey = trustRootsKey
)

// anchors reads the trust anchors that proxies get: the injector writes trustRoots into each new proxy (linkerd2
// controller/proxy-injector/webhook.go). The values of Linkerd's configuration may differ, and count only if there is no trustRoots.
func (r *reader) anchors(fallback string) {
	key := object.Key{Kind: "ConfigMap", Namespace: r.c.Linkerd.Namespace, Name: trustRoots}
	if r.forbidden(key, AsAnchor) {
		return
	}
	bundle, _ := r.text(key, trustRootsKey)
	if r.f.Anchors = anchorsOf(bundle); len(r.f.Anchors) == 0 {
		r.f.Anchors = anchorsOf(fallback)
	}
}

// anchorsOf reads a bundle as a set, in the order of fingerprints.
func anchorsOf(bundle string) []Anchor {
	var out []Anchor
	for _, c := range Certificates(bundle) {
		out = append(out, AnchorOf(c))
	}
	slices.SortFunc(out, func(a, b Anchor) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	return slices.Compact(out)
}

// AnchorOf returns what is kept of a certificate that is an anchor.
func AnchorOf(c *x509.Certificate) Anchor {
	sum := sha256.Sum256(c.Raw)
	return Anchor{hex.EncodeToString(sum[:]), c.NotAfter.UTC()}
}

// Certificates reads the certificates of a PEM text, in their order. It ignores what is no certificate, as proxies do.
func Certificates(text string) []*x509.Certificate {
	var out []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
}
