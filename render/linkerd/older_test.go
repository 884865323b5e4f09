package linkerd

import (
	"slices"
	"testing"
	"unique"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
)

// A Link of an older version tells of its credential by a selector that chooses something, and never by one that chooses nothing; what
// is read back is as of a newer one.
func TestOlderLinksHoldCredential(t *testing.T) {
	some := func() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}} }
	for name, tt := range map[string]struct {
		spec LinkSpec
		want []string
	}{
		"by the gateway":      {LinkSpec{Selector: some(), RemoteDiscoverySelector: some()}, []string{CredentialEntry("0123")}},
		"by remote discovery": {LinkSpec{Selector: &metav1.LabelSelector{}, RemoteDiscoverySelector: some()}, []string{CredentialEntry("0123")}},
		"federated":           {LinkSpec{FederatedServiceSelector: some()}, []string{CredentialEntry("0123")}},
		"nothing":             {LinkSpec{Selector: &metav1.LabelSelector{}}, nil},
	} {
		s := tt.spec
		s.ExcludedAnnotations, s.ExcludedLabels = []string{"x", CredentialEntry("0123")}, []string{"y"}
		body := func(s LinkSpec, version string) object.Body {
			b, err := s.Encode(version)
			if err != nil {
				t.Fatal(err)
			}
			return object.NewBody(b)
		}
		newer, older := body(s, LinkVersion), body(s.In("v1alpha2"), "v1alpha2")
		if _, said := CredentialEntries(older); !slices.Equal(said, tt.want) {
			t.Errorf("%s: says %q, want %q", name, said, tt.want)
		}
		was, now := decodeSpec(newer), decodeSpec(older)
		was.ExcludedAnnotations, was.ExcludedLabels, now.ExcludedAnnotations = nil, nil, nil
		if diff := cmp.Diff(was, now); diff != "" {
			t.Errorf("%s: -newer +older\n%s", name, diff)
		}
		if SelectorsIn(older).Narrows(SelectorsIn(newer)) || SelectorsIn(newer).Narrows(SelectorsIn(older)) {
			t.Errorf("%s: one drains the other", name)
		}
		if diff := cmp.Diff(tt.spec.Selector, s.Selector); diff != "" {
			t.Errorf("%s: the spec itself changed: %s", name, diff)
		}
	}
}

// The first write after an upgrade holds what the version before knew, unless more is in the Link already.
func TestAppliedIn(t *testing.T) {
	const plain, federated = `{"spec":{}}`, `{"spec":{"federatedServiceSelector":{"matchLabels":{"a":"b"}}}}`
	for _, tt := range []struct {
		fields, body, served, want string
	}{
		{Group + "/v1alpha1{}", plain, "v1alpha3", "v1alpha1"},
		{Group + "/v1alpha1{}", plain, "v1alpha2", "v1alpha1"},
		{Group + "/v1alpha2{}", federated, "v1alpha3", "v1alpha2"},
		{Group + "/v1alpha1{}", federated, "v1alpha3", ""}, // it must not be drained
		{Group + "/v1alpha2{}", `{"spec":{"excludedLabels":["a"]}}`, "v1alpha3", ""},
		{Group + "/v1alpha3{}", plain, "v1alpha3", ""},
		{Group + "/v1alpha3{}", plain, "v1alpha2", ""},
		{"*", plain, "v1alpha3", ""},
		{"", plain, "v1alpha3", ""},
	} {
		r := object.Record{Mark: object.Ours, Fields: unique.Make(tt.fields)}
		if got := AppliedIn(r, object.NewBody([]byte(tt.body)), tt.served); got != tt.want {
			t.Errorf("AppliedIn(%+v) = %q", tt, got)
		}
	}
	if AppliedIn(object.Record{}, object.Body{}, "v1alpha3") != "" {
		t.Error("nothing was applied in a version")
	}
}
