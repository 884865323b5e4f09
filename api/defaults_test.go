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
	prune := Prune{Policy: PruneSync, MaxClusters: new(1), MaxLinks: "30%", MinAllowed: new(2), MaxMirrors: "50%", DrainDeadline: "5m"}
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

func TestLimits(t *testing.T) {
	if got, want := (SyncPolicy{}).Limits(), (PruneLimits{MaxClusters: 1, MaxLinks: 30, MinAllowed: 2, MaxMirrors: 50}); got != want {
		t.Errorf("Limits() = %+v, want %+v", got, want)
	}
	zero := SyncPolicy{Prune: Prune{MaxClusters: new(0), MaxLinks: "0%", MinAllowed: new(0), MaxMirrors: "0%"}}
	if got := zero.Limits(); got != (PruneLimits{}) {
		t.Errorf("Limits() of zeros = %+v", got)
	}
	a, b := PruneLimits{1, 100, 0, 50}, PruneLimits{2, 30, 5, 40}
	if got, want := a.Stricter(b), (PruneLimits{1, 30, 0, 40}); got != want {
		t.Errorf("Stricter = %+v, want %+v", got, want)
	}
}

func TestPercentage(t *testing.T) {
	for text, wrong := range map[Percentage]bool{
		"": false, "0%": false, "30%": false, "100%": false,
		"30": true, "101%": true, "-1%": true, "030%": true, "+3%": true, "3.5%": true, "%": true, "0.3": true, "30 %": true,
	} {
		if found := text.check(); (len(found) > 0) != wrong {
			t.Errorf("%q: %v", text, found)
		}
	}
}
