package credential

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

var (
	mirrorKey = object.Key{Kind: "Secret", Namespace: "linkerd-multicluster", Name: "vault-east"}
	planeKey  = object.Key{Kind: "Secret", Namespace: "linkerd", Name: "cluster-credentials-east"}
	toEast    = Access{Account: object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: "linkwright.west"}}
	tokenKey  = object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-token"}
)

const canary = "canary-7f3a"

// linkedBy is west→east of mode Existing, with both Secrets as a secret manager would write them.
func linkedBy(t *testing.T) Pair {
	t.Helper()
	west, east := api.Cluster{}.WithDefaults(), api.Cluster{}.WithDefaults()
	spec := api.LinkSpec{
		Credentials:             api.Credentials{Mode: api.Existing, SecretRef: &api.SecretRef{Name: "vault-east"}},
		RemoteDiscoverySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
	}.WithDefaults()
	v := Pair{state.View{Link: fleet.Link{Source: &fleet.Cluster{Name: "west", Spec: west}, Target: &fleet.Cluster{Name: "east", Spec: east}, Spec: &spec}}}
	v.Source = state.Cluster{Reading: state.Simulated, Facts: linkerd.Facts{UID: "uid"}}
	v.Target = state.Cluster{Reading: state.Simulated, Facts: linkerd.Facts{Domains: linkerd.Domains{Cluster: "east.local", Trust: "east.test"}}}
	for _, k := range []object.Key{mirrorKey, planeKey} {
		v.put(t, k, kubeconfig(canary))
	}
	return v
}

func kubeconfig(token string) string {
	return `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"e","user":"u"}}],` +
		`"clusters":[{"name":"e","cluster":{"server":"https://east.example.com"}}],"users":[{"name":"u","user":{"token":"` + token + `"}}]}`
}

func (v *Pair) put(t *testing.T, k object.Key, config string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"type": linkerd.KubeconfigSecretType, "data": map[string][]byte{"kubeconfig": []byte(config)},
		"metadata": map[string]any{
			"labels":      map[string]string{linkerd.RemoteClusterLabel: "east"},
			"annotations": map[string]string{linkerd.TrustDomain: "east.test", linkerd.ClusterDomain: "east.local"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	record(&v.Source.Live, k, object.Record{UID: "u"})
	show(&v.Source.Live, k, object.NewBody(body))
}

func (v *Pair) edit(k object.Key, from, to string) {
	show(&v.Source.Live, k, object.NewBody([]byte(strings.Replace(string(bodyOf(v.Source.Live, k).Bytes()), from, to, 1))))
}

func TestExisting(t *testing.T) {
	tests := []struct {
		name, code, says string
		change           func(*Pair)
	}{
		{"as it should be", "", "", func(*Pair) {}},
		{"the mirror's is missing", "SecretNotFound", mirrorKey.String(), func(v *Pair) {
			drop(&v.Source.Live, mirrorKey)
		}},
		{"the control plane's is missing", "SecretNotFound", planeKey.String(), func(v *Pair) {
			drop(&v.Source.Live, planeKey)
		}},
		{"read without its content", "Unknown", mirrorKey.String(), func(v *Pair) { show(&v.Source.Live, mirrorKey, object.Body{}) }},
		{"our own", "SecretStillManaged", "-n linkerd label secret cluster-credentials-east linkwright.dev/owner-", func(v *Pair) {
			record(&v.Source.Live, planeKey, object.Record{UID: "u", Mark: object.Ours})
		}},
		{"being deleted", "Terminating", mirrorKey.String(), func(v *Pair) {
			record(&v.Source.Live, mirrorKey, object.Record{UID: "u", Terminating: true})
		}},
		{"of another type", "SecretInvalid", "its type is Opaque", func(v *Pair) { v.edit(mirrorKey, linkerd.KubeconfigSecretType, "Opaque") }},
		{"of another key", "SecretInvalid", "no key kubeconfig", func(v *Pair) { v.edit(mirrorKey, `"kubeconfig"`, `"config"`) }},
		{"for another cluster", "SecretInvalid", `must be east`, func(v *Pair) {
			v.edit(planeKey, linkerd.RemoteClusterLabel+`":"east`, linkerd.RemoteClusterLabel+`":"north`)
		}},
		{"of another trust domain", "SecretInvalid", `must be "east.test"`, func(v *Pair) { v.edit(planeKey, "east.test", "west.test") }},
		{"without cluster domain", "SecretInvalid", `must be "east.local"`, func(v *Pair) { v.edit(planeKey, "east.local", "") }},
		{"no Secret", "SecretInvalid", "not a Secret", func(v *Pair) { show(&v.Source.Live, mirrorKey, object.NewBody([]byte(`["`+canary+`"]`))) }},
	}
	for _, tt := range tests {
		v := linkedBy(t)
		tt.change(&v)
		cred, why := v.Existing()
		switch {
		case tt.code == "" && (why != nil || len(cred.Fingerprint) != 12):
			t.Errorf("%s: Existing: %v, %v", tt.name, cred, why)
		case tt.code != "" && (why == nil || string(why.Code) != tt.code || !strings.Contains(why.Message, tt.says)):
			t.Errorf("%s: Existing: %v, want %s with %q", tt.name, why, tt.code, tt.says)
		case why != nil && strings.Contains(why.Message, canary):
			t.Errorf("%s: Existing shows the value: %s", tt.name, why.Message)
		}
	}
	v := linkedBy(t)
	first, _ := v.Existing()
	v.put(t, mirrorKey, kubeconfig("another"))
	if second, _ := v.Existing(); second.Fingerprint == first.Fingerprint {
		t.Error("Existing: another content has the same print")
	}
	v.Source = state.Cluster{Reading: state.Read}
	if _, why := v.Existing(); why == nil || why.Code != reason.Unknown {
		t.Errorf("Existing where nothing was looked for: %v", why)
	}
}

// What was given to the source may go only once nothing there carries it and the Linkerd Link names the other one.
func TestStillUsed(t *testing.T) {
	linkKey := linkerd.LinkKey(api.Cluster{}.WithDefaults().Linkerd, "east")
	tests := []struct {
		name, says string
		change     func(*Pair)
	}{
		{"no longer used", "", func(*Pair) {}},
		{"no Linkerd Link", "", func(v *Pair) { drop(&v.Source.Live, linkKey) }},
		{"source not read", "not ready", func(v *Pair) { v.Source = state.Cluster{} }},
		{"our Secret", "Secret linkerd/cluster-credentials-east still exists", func(v *Pair) {
			record(&v.Source.Live, planeKey, object.Record{UID: "u", Mark: object.Ours})
		}},
		{"our token in their Secret", "vault-east still contains the account's token", func(v *Pair) { v.put(t, mirrorKey, kubeconfig("ours")) }},
		{"our token in the control plane's", "cluster-credentials-east still contains", func(v *Pair) { v.put(t, planeKey, kubeconfig("ours")) }},
		{"the Link names another Secret", "does not name your credential yet", func(v *Pair) { v.edit(linkKey, "vault-east", "cluster-credentials-east") }},
		{"the Link tells of other bytes", "does not name your credential yet", func(v *Pair) { v.edit(linkKey, "credential-", "credential-0") }},
	}
	for _, tt := range tests {
		v := linkedBy(t)
		cred, why := v.Existing()
		if why != nil {
			t.Fatal(why)
		}
		record(&v.Source.Live, linkKey, object.Record{UID: "u", Mark: object.Ours})
		show(&v.Source.Live, linkKey, object.NewBody([]byte(`{"spec":{"clusterCredentialsSecret":"vault-east","excludedAnnotations":["a/*","`+
			linkerd.CredentialEntry(cred.Fingerprint)+`"]}}`)))
		record(&v.Target.Live, tokenKey, object.Record{UID: "t"})
		show(&v.Target.Live, tokenKey, object.NewBody([]byte(`{"data":{"token":"b3Vycw=="}}`))) // "ours"
		tt.change(&v)
		why = v.StillUsed(toEast, cred)
		if tt.says == "" && why != nil || tt.says != "" && (why == nil || why.Code != reason.CredentialInUse || !strings.Contains(why.Message, tt.says)) {
			t.Errorf("%s: StillUsed: %v, want %q", tt.name, why, tt.says)
		}
	}
	if v := linkedBy(t); v.StillUsed(toEast, nil) == nil {
		t.Error("StillUsed without another credential: nil")
	}
}
