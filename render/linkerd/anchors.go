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

// anchorsOf reads a bundle as a set, in the order of fingerprints. It ignores what is no certificate, as proxies do.
func anchorsOf(bundle string) []Anchor {
	var out []Anchor
	for rest := []byte(bundle); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(c.Raw)
		out = append(out, Anchor{hex.EncodeToString(sum[:]), c.NotAfter.UTC()})
	}
	slices.SortFunc(out, func(a, b Anchor) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	return slices.Compact(out)
}
