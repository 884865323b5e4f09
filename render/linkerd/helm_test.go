package linkerd

import (
	"testing"

	"github.com/linkwright/linkwright/object"
)

// Helm owns the extension only where it says so with all that it would look for itself.
func TestHelmOf(t *testing.T) {
	k := object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: LocalAccessRole}
	for body, want := range map[string]Helm{
		`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"mc","meta.helm.sh/release-namespace":"ops"}}}`:   {"mc", "ops"},
		`{"metadata":{"annotations":{"meta.helm.sh/release-name":"mc","meta.helm.sh/release-namespace":"ops"}}}`:                                                    {},
		`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"mc"}}}`:                                          {},
		`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"argocd"},"annotations":{"meta.helm.sh/release-name":"mc","meta.helm.sh/release-namespace":"ops"}}}`: {},
		`{"metadata":{}}`: {},
		``:                {},
	} {
		e := object.NewObservation(nil).Edit()
		e.Put(k, object.Record{UID: "u"}, object.NewBody([]byte(body)))
		if got := HelmOf(e.Observation()); got != want {
			t.Errorf("HelmOf(%s) = %v, want %v", body, got, want)
		}
	}
}
