package trust

import (
	"crypto/x509"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/render/linkerd"
)

// Anchor is a trust anchor with what people call it.
type Anchor struct {
	linkerd.Anchor
	Subject string // its common name; without one, the whole subject

	certificate *x509.Certificate
}

// parse reads the anchors of a bundle, each once.
func parse(bundle string) []Anchor {
	var out []Anchor
	for _, c := range linkerd.Certificates(bundle) {
		name := c.Subject.CommonName
		if name == "" {
			name = c.Subject.String()
		}
		out = append(out, Anchor{linkerd.AnchorOf(c), name, c})
	}
	return sorted(out)
}

func (a Anchor) same(b Anchor) bool { return a.Fingerprint == b.Fingerprint }

// signs reports whether the anchor signs the certificate at the beginning of a chain. It may have expired: it is enough that all certificates were
// valid at one time, which then is also the first day of one of them.
func (a Anchor) signs(chain []*x509.Certificate) bool {
	if len(chain) == 0 {
		return false
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(a.certificate)
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	return slices.ContainsFunc(append(slices.Clone(chain), a.certificate), func(c *x509.Certificate) bool {
		_, err := chain[0].Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: between, CurrentTime: c.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		return err == nil
	})
}

// Named returns the anchors with a name: a common name, or digits that the fingerprint begins with. Colons between digits do not count.
func (m Mesh) Named(name string) []Anchor {
	digits := strings.ToLower(strings.ReplaceAll(name, ":", ""))
	return slices.DeleteFunc(slices.Clone(m.anchors), func(a Anchor) bool {
		return name == "" || a.Subject != name && (digits == "" || !strings.HasPrefix(a.Fingerprint, digits))
	})
}

// without returns anchors but one.
func without(all []Anchor, x Anchor) []Anchor {
	return slices.DeleteFunc(slices.Clone(all), x.same)
}

func contains(all []Anchor, a Anchor) bool { return slices.ContainsFunc(all, a.same) }

// shares reports whether two sets have an anchor in common.
func shares(a, b []Anchor) bool {
	return slices.ContainsFunc(a, func(one Anchor) bool { return contains(b, one) })
}
