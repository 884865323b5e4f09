package plan

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// trusts has a cluster's proxies trust these certificates.
func (s *sim) trusts(name api.ClusterName, bundle string) {
	put(s.live[name], object.Key{Kind: "ConfigMap", Namespace: cp, Name: "linkerd-identity-trust-roots"},
		map[string]any{"data": map[string]string{"ca-bundle.crt": bundle}}, metav1.ObjectMeta{})
}

// anchor makes a certificate that ends then, as PEM.
func anchor(t *testing.T, end time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.AddDate(-9, 0, 0), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

const (
	placed   = "west→east in west: Ready"
	distrust = " TrustAnchorsNotShared"
)

// Anchors that are not shared are reported at the source's end, and hold it where that is asked for; a rotation passes through, and what is there
// never goes.
func TestTrust(t *testing.T) {
	for _, c := range []struct{ mode, apart, differ string }{
		{"Warn", placed + distrust, placed + " TrustAnchorsDiffer"},
		{"Require", "west→east in west: Blocked TrustAnchorsNotShared", placed + " TrustAnchorsDiffer"},
		{"Skip", placed, placed},
	} {
		s := newSim(t, declare(t, two, linkDoc("west", "east", "  trustAnchors: "+c.mode)), two...)
		end := s.snapshot.Now.AddDate(1, 0, 0)
		was, will := anchor(t, end), anchor(t, end.AddDate(5, 0, 0))
		link := func() bool { return !s.live["west"].Live.Record(linkKey("east")).IsZero() }
		step := func(what, west, east, want string) Step {
			t.Helper()
			s.trusts("west", west)
			s.trusts("east", east)
			last := s.settle()["west"]
			same(t, c.mode+": "+what, []string{"west base: Ready", want}, statuses(last))
			return last
		}
		step("not shared from the start", was, will, c.apart)
		if link() != (c.mode != "Require") {
			t.Errorf("%s: a first link was made: %t", c.mode, link())
		}
		step("one has both", was, was+will, c.differ)
		step("shared", was+will, will+was, placed)
		last := step("not shared any more", was, will, c.apart)
		if !link() {
			t.Errorf("%s: the link is gone", c.mode)
		}
		if last = step("old and shared", was, was, placed); c.mode != "Skip" && !last.PlanAgain.Equal(end.Add(-60*24*time.Hour)) {
			t.Errorf("%s: looks again at %s", c.mode, last.PlanAgain)
		}
		s.snapshot.Now = end
		step("expired", was, was, c.apart)
		step("new", will, will, placed)
	}
}

// Of a cluster that took another's name no anchors are believed.
func TestTrustOfAnUnidentifiedCluster(t *testing.T) {
	s := newSim(t, declare(t, two, linkDoc("west", "east", "  trustAnchors: Require")), two...)
	s.settle()
	s.snapshot.UIDs["east"] = "another"
	s.trusts("west", anchor(t, s.snapshot.Now.AddDate(1, 0, 0)))
	s.trusts("east", anchor(t, s.snapshot.Now.AddDate(1, 0, 0)))
	same(t, "west", []string{"west base: Ready", "west→east in west: Blocked ClusterChanged"}, statuses(s.reconcile("west")))
}
