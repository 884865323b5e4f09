package linkerd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// anchor makes a certificate that ends then, as PEM.
func anchor(t *testing.T, end time.Time) (bundle string, of Anchor) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.AddDate(-1, 0, 0), NotAfter: end, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), Anchor{hex.EncodeToString(sum[:]), end}
}

// What proxies get counts, as a set; the values of Linkerd's configuration only where that tells of none.
func TestAnchors(t *testing.T) {
	in := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	a, ofA := anchor(t, in)
	b, ofB := anchor(t, in.AddDate(1, 0, 0))
	both := []Anchor{ofA, ofB}
	if ofB.Fingerprint < ofA.Fingerprint {
		slices.Reverse(both)
	}
	said := "clusterDomain: c\nlinkerdVersion: v\nidentityTrustAnchorsPEM: |\n  " + strings.ReplaceAll(a, "\n", "\n  ")
	roots := object.Key{Kind: "ConfigMap", Namespace: cp, Name: trustRoots}
	const junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	for name, c := range map[string]struct {
		bundle string
		want   []Anchor
	}{
		"none":                     {"", []Anchor{ofA}},
		"no certificate":           {"junk\n" + junk, []Anchor{ofA}},
		"another":                  {b, []Anchor{ofB}},
		"two":                      {"root 1\n" + b + "\n# root 2\n" + a, both},
		"the same twice":           {b + a + b, both},
		"with what cannot be read": {b + junk, []Anchor{ofB}},
	} {
		l := installed(t)
		l.config(said)
		if c.bundle != "" {
			l.put(roots, corev1.ConfigMap{Data: map[string]string{trustRootsKey: c.bundle}})
		}
		f := FactsOf(api.Cluster{}.WithDefaults(), "https://east.example.com", l.seen)
		if !slices.Equal(f.Anchors, c.want) || f.Missing != nil {
			t.Errorf("%s: got %v, %v, want %v", name, f.Anchors, f.Missing, c.want)
		}
	}
	if got, want := ofA.Short(), ofA.Fingerprint[:16]+" (until 2030-01-02)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
