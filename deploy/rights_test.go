package deploy_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/linkwright/linkwright/hack/testbed"
)

// grant is one verb on one resource; an empty name is all names, an empty namespace the whole cluster.
type grant struct{ namespace, group, resource, name, verb string }

func (g grant) String() string {
	resource := g.resource
	if g.group != "" {
		resource += "." + g.group
	}
	where := cmp.Or(g.namespace, "*")
	return strings.TrimSuffix(fmt.Sprintf("%s: %s %s %s", where, g.verb, resource, g.name), " ")
}

// grants takes roles apart into single rights.
func grants(t *testing.T, objects []*unstructured.Unstructured) []grant {
	t.Helper()
	var out []grant
	for _, o := range objects {
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			out = append(out, single(o.GetNamespace(), r)...)
		}
	}
	return out
}

func single(namespace string, r rbacv1.PolicyRule) (out []grant) {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, name := range names {
				for _, verb := range r.Verbs {
					out = append(out, grant{namespace, group, resource, name, verb})
				}
			}
		}
	}
	return out
}

// allows reports whether the right is what a request needs of a verb.
func (g grant) allows(r testbed.Request, verb string) bool {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	return g.verb == verb && g.group == r.Group && (g.resource == resource || g.resource == "*") &&
		(g.namespace == "" || g.namespace == r.Namespace) && (g.name == "" || g.name == r.Name)
}

// verbs returns what a request needs: an apply that created its object needed both.
func verbs(r testbed.Request) []string {
	if r.Verb == "patch" && r.Code == 201 {
		return []string{"patch", "create"}
	}
	return []string{r.Verb}
}

// unused returns the rights that no request needed. Of two that allow one, that of a namespace counts: a right in the whole cluster must be needed
// somewhere else.
func unused(all []grant, requests []testbed.Request) []string {
	narrow := slices.Clone(all)
	slices.SortStableFunc(narrow, func(a, b grant) int { return cmp.Compare(min(1, len(b.namespace)), min(1, len(a.namespace))) })
	used := map[grant]bool{}
	for _, r := range requests {
		for _, verb := range verbs(r) {
			if i := slices.IndexFunc(narrow, func(g grant) bool { return g.allows(r, verb) }); i >= 0 {
				used[narrow[i]] = true
			}
		}
	}
	var out []string
	for _, g := range all {
		if !used[g] {
			out = append(out, g.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// needless returns the rights that no request ever needs, and why they are there all the same.
func needless() []string {
	return []string{
		// bind is asked for inside the API server, when a binding is written.
		"*: bind clusterroles.rbac.authorization.k8s.io linkerd-multicluster-controller-access-local-resources",
		"*: bind clusterroles.rbac.authorization.k8s.io linkerd-service-mirror-remote-access-default",
		// Held to be granted: the rules of the Role controller-read-remote-creds-<target>.
		"linkerd-multicluster: create leases.coordination.k8s.io",
		// Of a probe whose Service went before Linkerd wrote them once more; else Kubernetes takes them away.
		"linkerd-multicluster: delete endpoints",
		"linkerd-multicluster: patch leases.coordination.k8s.io",
		"linkerd-multicluster: patch links/status.multicluster.linkerd.io",
		"linkerd-multicluster: update leases.coordination.k8s.io",
		"linkerd-multicluster: update links/status.multicluster.linkerd.io",
		// No request on Events is in the audit log. paused sees that both rights are used.
		"linkwright: create events.events.k8s.io",
		"linkwright: patch events.events.k8s.io",
	}
}

// verification reports whether a request is a link's credential being tried: a LIST, by the account of a link.
func verification(r testbed.Request) bool {
	return r.Verb == "list" && strings.HasPrefix(r.User, "system:serviceaccount:linkwright-access:linkwright.")
}

// granted: every request of linkwright's account was allowed, and every right was needed.
func (b *testEnv) granted(installed map[string][]*unstructured.Unstructured) {
	b.Helper()
	var all []grant
	var requests []testbed.Request
	for _, c := range b.Clusters {
		asked, err := c.Requests("linkwright/")
		b.must(err)
		asked = slices.DeleteFunc(asked, verification)
		for _, r := range asked {
			if r.User != user {
				b.Errorf("%s: %s is not who runs linkwright", c.Name, r.User)
			}
			if r.Code == 403 {
				b.Errorf("%s: %s %s %s/%s was refused", c.Name, r.Verb, r.Resource, r.Namespace, r.Name)
			}
		}
		requests = append(requests, asked...)
		all = append(all, grants(b.T, installed[c.Name])...)
	}
	if diff := gocmp.Diff(needless(), unused(all, requests)); diff != "" {
		b.Errorf("rights that no request needed: -want +got\n%s", diff)
	}
}

// denied: some of what an attacker would ask for first.
func (b *testEnv) denied() {
	b.Helper()
	for _, a := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "secrets", Namespace: testbed.ControlPlane, Name: "linkerd-identity-issuer"},
		{Verb: "list", Resource: "secrets", Namespace: testbed.ControlPlane},
		{Verb: "watch", Resource: "secrets", Namespace: testbed.ControlPlane},
		{Verb: "list", Resource: "secrets"},
		{Verb: "get", Resource: "secrets", Namespace: "default", Name: "any"},
		{Verb: "create", Resource: "pods", Namespace: testbed.Multicluster},
		{Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: testbed.Multicluster},
		{Verb: "bind", Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "cluster-admin"},
		{Verb: "delete", Resource: "namespaces", Name: testbed.Multicluster},
	} {
		for _, c := range b.Clusters {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &a}}
			got, err := b.client(c.Name).AuthorizationV1().SubjectAccessReviews().Create(b.Context(), review, metav1.CreateOptions{})
			b.must(err)
			if got.Status.Allowed {
				b.Errorf("%s: linkwright may %s %s %s in namespace %q", c.Name, a.Verb, a.Resource, a.Name, a.Namespace)
			}
		}
	}
}

// rbac returns what the program prints for a cluster of a mesh.
func (b *testEnv) rbac(name string) (out []*unstructured.Unstructured) {
	b.Helper()
	dir := b.TempDir()
	b.must(os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(clusters(b)+links), 0o600))
	text, err := exec.CommandContext(b.Context(), b.program, "rbac", dir, "--sweep", "--cluster", name).Output()
	b.must(err)
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return out
		}
		b.must(err)
		out = append(out, o)
	}
}

func clusters(b *testEnv) string {
	text := ""
	for _, c := range b.Clusters {
		text += fmt.Sprintf(`apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: %s}
spec:
  access: {kubeconfigSecret: {name: %s}}
  apiServer: %s
---
`, c.Name, c.Name, c.Config.Host)
	}
	return text
}
