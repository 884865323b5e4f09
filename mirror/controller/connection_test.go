package controller

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/render/linkerd"
)

// TestDial: a credential that cannot be used is named with its reason. A Link that selects nothing needs none.
func TestDial(t *testing.T) {
	o := Options{Namespace: "mc", Config: func(raw []byte) (*rest.Config, error) {
		if string(raw) == "bad" {
			return nil, errors.New("this is not a kubeconfig")
		}
		return &rest.Config{Host: string(raw)}, nil
	}}
	exported := linkerd.LinkSpec{ClusterCredentialsSecret: "cred", Selector: label("exported", "true")}
	secret := func(key, value string) *corev1.Secret {
		return &corev1.Secret{Data: map[string][]byte{key: []byte(value)}}
	}
	for _, tt := range []struct {
		name   string
		spec   linkerd.LinkSpec
		secret *corev1.Secret
		want   string // part of the error
	}{
		{"good", exported, secret("kubeconfig", "good"), ""},
		{"no Secret", exported, nil, "the Secret mc/cred, which has the Link's credential, is missing"},
		{"no name", linkerd.LinkSpec{Selector: exported.Selector}, nil, "names no Secret"},
		{"another key", exported, secret("config", "good"), "the Secret mc/cred has no key kubeconfig"},
		{"malformed", exported, secret("kubeconfig", "bad"), "the Secret mc/cred: this is not a kubeconfig"},
		{"nothing is selected", linkerd.LinkSpec{ClusterCredentialsSecret: "cred"}, nil, ""},
	} {
		d, err := dialOf(link{Spec: linkSpec{LinkSpec: tt.spec}}, tt.secret, o)
		if got := text(err); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got error %q, want %q", tt.name, got, tt.want)
		}
		if needs := tt.name == "good"; (d.config != nil) != needs {
			t.Errorf("%s: got a connection: %v, want %v", tt.name, d.config != nil, needs)
		}
	}
	a, _ := dialOf(link{Spec: linkSpec{LinkSpec: exported}}, secret("kubeconfig", "a"), o)
	b, _ := dialOf(link{Spec: linkSpec{LinkSpec: exported}}, secret("kubeconfig", "b"), o)
	if a.id == b.id {
		t.Error("another credential is the same connection")
	}
}
