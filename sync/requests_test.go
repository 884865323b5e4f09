package sync_test

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// same compares what was asked, by how often.
func (h *hub) same(want map[string]int) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.taken()); diff != "" {
		h.t.Errorf("asked, by how often: -want +got\n%s", diff)
	}
}

const (
	mc   = "/namespaces/linkerd-multicluster/"
	ours = "/namespaces/linkwright-access/"
	rbac = "apis/rbac.authorization.k8s.io/v1"
)

// collections returns what is listed, with how many pages each has.
func collections() map[string]int {
	return map[string]int{
		"api/v1" + ours + "configmaps":      1,
		"api/v1" + ours + "secrets":         1,
		"api/v1" + ours + "serviceaccounts": 1,

		"api/v1" + mc + "secrets":                                                1,
		"api/v1" + mc + "serviceaccounts":                                        1,
		"api/v1" + mc + "services":                                               1,
		"apis/apps/v1" + mc + "deployments":                                      1,
		"apis/multicluster.linkerd.io/v1alpha3/links":                            1,
		"apis/policy/v1" + mc + "poddisruptionbudgets":                           1,
		rbac + mc + "rolebindings":                                               1,
		rbac + mc + "roles":                                                      3,
		rbac + "/clusterrolebindings":                                            1,
		"api/v1/endpoints?mirror.linkerd.io/cluster-name":                        1,
		"api/v1/services?mirror.linkerd.io/mirrored-service":                     1,
		"apis/coordination.k8s.io/v1" + mc + "leases":                            1,
		"apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies":       1,
		"apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": 1,
		"api/v1" + mc + "pods?component in (controller,linkerd-service-mirror)":  1,
	}
}

// singles returns what is read by name. What is of the control plane is only ever asked for.
func singles() []string {
	return []string{
		"api/v1/namespaces/kube-system", "api/v1/namespaces/linkerd", "api/v1/namespaces/linkerd-multicluster", "api/v1/namespaces/linkwright-access",
		"api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", "api/v1/namespaces/linkerd/configmaps/linkerd-config",
		"api/v1/namespaces/linkerd/configmaps/linkerd-identity-trust-roots", "api/v1" + mc + "services/linkerd-gateway",
		rbac + "/clusterroles/linkerd-multicluster-controller-access-local-resources", rbac + "/clusterroles/linkerd-service-mirror-remote-access-default",
	}
}

// Of the control plane: asked for by name only.
const (
	controlPlaneSecret = "api/v1/namespaces/linkerd/secrets/cluster-credentials-east-0"
	destination        = "apis/apps/v1/namespaces/linkerd/deployments/linkerd-destination"
)

// discovered returns what a process asks once: which kinds there are, by group and version.
func discovered() map[string]int {
	return map[string]int{
		"get api/v1": 1, "get apis/apps/v1": 1, "get apis/coordination.k8s.io/v1": 1, "get apis/multicluster.linkerd.io/v1alpha3": 1, "get apis/policy/v1": 1, "get " + rbac: 1,
		"get apis/admissionregistration.k8s.io/v1": 1,
	}
}

// TestRequests counts what a real API server is asked, exactly. The first of the links uses remote discovery.
func TestRequests(t *testing.T) {
	h := newHub(t)
	h.crowd(1001 - few)
	h.declare("c1", discovering)
	h.sync()
	t.Run("first apply", func(t *testing.T) { h.t = t; h.firstApply() })
	h.t = t
	h.sync() // Deployments are ready
	h.taken()
	t.Run("one pass, nothing changed", func(t *testing.T) {
		h.t = t
		want := discovered()
		for c, pages := range collections() {
			want["list "+c] = pages
		}
		for _, name := range append(singles(), controlPlaneSecret, destination) {
			want["get "+name] = 1
		}
		h.sync()
		h.same(want)
	})
	h.t = t
	stop := h.daemon()
	defer func() { h.t = t; stop() }()
	t.Run("a daemon begins", func(t *testing.T) {
		h.t = t
		want := discovered()
		for c, pages := range collections() {
			want["list "+c], want["watch "+c] = pages, 1
		}
		for _, name := range append(singles(), controlPlaneSecret, destination) {
			one := path.Dir(name) + "?metadata.name=" + path.Base(name)
			want["list "+one], want["watch "+one] = 1, 1
		}
		h.syncs(1, "c1")
		h.same(want)
	})
	t.Run("a daemon, nothing changed", func(t *testing.T) { h.t = t; h.syncs(3, "c1"); h.same(map[string]int{}) })
	t.Run("a daemon, one Deployment changed", func(t *testing.T) {
		h.t = t
		h.declare("c2", discovering+", controller: {logLevel: debug}")
		h.syncs(2, "c2")
		h.same(map[string]int{
			"patch api/v1" + ours + "configmaps/linkwright.base":        1,
			"patch apis/apps/v1" + mc + "deployments/controller-east-0": 1,
		})
	})
}

const discovering = ", remoteDiscoverySelector: {matchLabels: {a: b}}"

// firstApply: every object was applied once, but for a Link with remote discovery, which gets its selectors once the control
// plane has its Secret.
func (h *hub) firstApply() {
	h.t.Helper()
	const twice = "patch apis/multicluster.linkerd.io/v1alpha3" + mc + "links/east-0"
	n := 0
	for asked, times := range h.taken() {
		want := 1
		if asked == twice {
			want = 2
		}
		if !strings.HasPrefix(asked, "patch ") {
			continue
		}
		if n += times; times != want {
			h.t.Errorf("%s: %d times, want %d", asked, times, want)
		}
	}
	if want := few*perLink + 4; n != want { // the namespace, the base, the control plane's Secret, and a Link again
		h.t.Errorf("%d PATCHes, want %d", n, want)
	}
}

// perLink are Secret, ServiceAccount, Role, two bindings, Linkerd Link, Service, Deployment, and the inventory.
const perLink = 9
