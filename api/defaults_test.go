package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClusterWithDefaults(t *testing.T) {
	in := Cluster{Access: Access{KubeconfigSecret: &SecretKey{Name: "east"}}}
	want := Cluster{
		Access:  Access{KubeconfigSecret: &SecretKey{Name: "east", Key: "kubeconfig"}},
		Linkerd: Linkerd{Namespace: "linkerd", MulticlusterNamespace: "linkerd-multicluster"},
		Gateway: Gateway{Enabled: new(true), Name: "linkerd-gateway"},
		State:   Active,
	}
	if diff := cmp.Diff(want, in.WithDefaults()); diff != "" {
		t.Errorf("WithDefaults(): -want +got\n%s", diff)
	}
	if in.Access.KubeconfigSecret.Key != "" {
		t.Error("WithDefaults changed its receiver")
	}
	want.Gateway.Enabled, want.Linkerd.Namespace = new(false), "mesh"
	if diff := cmp.Diff(want, want.WithDefaults()); diff != "" {
		t.Errorf("what is declared must stay: -want +got\n%s", diff)
	}
}

func TestLinkSpecWithDefaults(t *testing.T) {
	want := LinkSpec{
		Controller:  Controller{Mode: PerLink, Replicas: new(int32(1)), LogLevel: "info"},
		Credentials: Credentials{Mode: LegacyToken, Preflight: Warn}, TrustAnchors: Warn,
	}
	if diff := cmp.Diff(want, LinkSpec{}.WithDefaults()); diff != "" {
		t.Errorf("WithDefaults(): -want +got\n%s", diff)
	}
}

// The zero value of every *bool is absent.
func TestSelectorFor(t *testing.T) {
	own, none := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, &metav1.LabelSelector{}
	exported := &metav1.LabelSelector{MatchLabels: map[string]string{"mirror.linkerd.io/exported": "true"}}
	for _, c := range []struct {
		declared *metav1.LabelSelector
		gateway  *bool
		want     *metav1.LabelSelector
	}{
		{nil, nil, exported},
		{nil, new(true), exported},
		{nil, new(false), nil},
		{own, nil, own},
		{own, new(false), own},
		{none, nil, none},
	} {
		got := LinkSpec{Selector: c.declared}.SelectorFor(Gateway{Enabled: c.gateway})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("SelectorFor(%v): -want +got\n%s", c, diff)
		}
	}
}

func TestSecretFor(t *testing.T) {
	for want, c := range map[string]Credentials{
		"cluster-credentials-east": {Mode: Existing},
		"mine":                     {Mode: Existing, SecretRef: &SecretRef{Name: "mine"}},
	} {
		if got := (LinkSpec{Credentials: c}).SecretFor("east"); got != want {
			t.Errorf("SecretFor of %v: %q, want %q", c, got, want)
		}
	}
}

func TestSyncPolicyWithDefaults(t *testing.T) {
	prune := Prune{Policy: PruneSync, MaxFraction: new(0.3), MinAllowed: new(20), DrainDeadline: "5m"}
	for _, c := range []struct{ in, want SyncPolicy }{
		{SyncPolicy{}, SyncPolicy{Interval: "1m", Prune: prune}},
		{SyncPolicy{Schedule: "* * * * *"}, SyncPolicy{Schedule: "* * * * *", Prune: prune}},
		{SyncPolicy{Interval: "7s"}, SyncPolicy{Interval: "7s", Prune: prune}},
	} {
		if diff := cmp.Diff(c.want, c.in.WithDefaults()); diff != "" {
			t.Errorf("WithDefaults(%v): -want +got\n%s", c.in, diff)
		}
	}
}

func TestPruneLimits(t *testing.T) {
	if f, n := (SyncPolicy{}).PruneLimits(); f != 0.3 || n != 20 {
		t.Errorf("PruneLimits() = %v, %v", f, n)
	}
	zero := SyncPolicy{Prune: Prune{MaxFraction: new(0.0), MinAllowed: new(0)}}
	if f, n := zero.PruneLimits(); f != 0 || n != 0 {
		t.Errorf("PruneLimits() of zeros = %v, %v", f, n)
	}
}
