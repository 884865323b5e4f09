package deploy_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// denial is a right that a cluster's account has lost, and what then needs it.
type denial struct {
	cluster string
	grant
	needs func(*testEnv)
	says  string
	todo  string
}

func denials() []denial {
	const multicluster = `in the namespace "linkerd-multicluster"`
	return []denial{
		{
			"west",
			grant{testbed.Multicluster, "apps", "deployments", "", "list"},
			func(*testEnv) {},
			"linkwright may not read Deployment.apps in namespace linkerd-multicluster", object.Installation{}.Grant(),
		},
		{
			"west",
			grant{testbed.Multicluster, "multicluster.linkerd.io", "links", "", "patch"},
			(*testEnv).changed,
			`cannot patch resource "links" in API group "multicluster.linkerd.io" ` + multicluster, toGrant,
		},
		{
			"east",
			grant{"", rbacv1.GroupName, "clusterroles", remoteAccess, "bind"},
			(*testEnv).unbound,
			"create ClusterRoleBinding.rbac.authorization.k8s.io linkwright-access.linkwright.west", "(grant linkwright's account bind on the ClusterRole that this binding names",
		},
		{
			"east",
			grant{"linkwright-access", "", "serviceaccounts/token", "", "create"},
			(*testEnv).revoked,
			`cannot create resource "serviceaccounts/token" in API group "" in the namespace "linkwright-access"`, toGrant,
		},
		{
			"west",
			grant{"default", "", "services", "", "delete"},
			(*testEnv).unlinked,
			`cannot delete resource "services" in API group "" in the namespace "default"`, toGrant,
		},
	}
}

var toGrant = "(grant this to the account that linkwright uses): " + object.Installation{}.Grant()

const remoteAccess = "linkerd-service-mirror-remote-access-default"

// TestDenied takes one right after the other away, and gives it back: each time the report names verb, resource, namespace
// and what to do, and once the right is back, all is as declared.
func TestDenied(t *testing.T) {
	if os.Getenv("LINKWRIGHT_CLUSTERS") == "" {
		t.Skip("LINKWRIGHT_CLUSTERS is not set")
	}
	testbed.Need(t)
	t.Parallel()
	b := newTestEnv(t)
	installed := b.install()
	b.commit(clusters(b) + links)
	b.run(0, "sync")
	for _, d := range denials() {
		t.Run(d.String(), func(t *testing.T) {
			b := &testEnv{b.ControlPlanes, t, b.program, b.repo, b.managementKubeconfig}
			b.apply(d.cluster, without(t, installed[d.cluster], d.grant))
			b.permits(d.cluster, d.grant, false)
			d.needs(b)
			code, out := b.ask("sync")
			for _, words := range []string{d.says, d.todo, user} {
				if !strings.Contains(out, words) && (words != user || d.todo == toGrant) {
					t.Errorf("the report does not say %q", words)
				}
			}
			if code != 4 || t.Failed() {
				t.Errorf("exit code %d, want 4\n%s", code, out)
			}
			b.apply(d.cluster, roles(installed[d.cluster]))
			b.permits(d.cluster, d.grant, true)
			b.run(0, "sync")
		})
	}
}

// install gives linkwright its rights and credentials, as TestDeploy tells in its first part.
func (b *testEnv) install() map[string][]*unstructured.Unstructured {
	b.Helper()
	installed := map[string][]*unstructured.Unstructured{
		"west": append(build(b.T, "../examples/install/management", map[string]bool{}), b.rbac("west")...),
		"east": cluster(b.T, "west"),
	}
	for name, objects := range installed {
		b.apply(name, objects)
	}
	for name, objects := range installed {
		b.permitted(name, objects)
	}
	b.credentials()
	return installed
}

func roles(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "Role" && o.GetKind() != "ClusterRole"
	})
}

// without returns all roles without one right, also where it is held in the whole cluster.
func without(t *testing.T, objects []*unstructured.Unstructured, lost grant) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range roles(objects) {
		if ns := o.GetNamespace(); ns != "" && ns != lost.namespace {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		var rules []any
		for _, g := range grants(t, []*unstructured.Unstructured{o}) {
			if g.group != lost.group || g.resource != lost.resource || g.verb != lost.verb || lost.name != "" && g.name != lost.name {
				rules = append(rules, g.rule())
			}
		}
		less := o.DeepCopy()
		less.Object["rules"] = rules
		out = append(out, less)
	}
	return out
}

// rule returns one that grants this alone.
func (g grant) rule() map[string]any {
	out := map[string]any{"apiGroups": []any{g.group}, "resources": []any{g.resource}, "verbs": []any{g.verb}}
	if g.name != "" {
		out["resourceNames"] = []any{g.name}
	}
	return out
}

// permitted waits until the API server grants all rights of these roles.
func (b *testEnv) permitted(name string, objects []*unstructured.Unstructured) {
	b.Helper()
	for _, g := range grants(b.T, objects) {
		b.permits(name, g, true)
	}
}

// permits waits until the API server says that the account has the right, or has it no more.
func (b *testEnv) permits(name string, g grant, want bool) {
	b.Helper()
	resource, sub, _ := strings.Cut(g.resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: g.verb, Group: g.group, Resource: resource, Subresource: sub, Namespace: g.namespace, Name: g.name,
		},
	}}
	b.eventually(g.String(), func(ctx context.Context) error {
		got, err := b.client(name).AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && got.Status.Allowed != want {
			err = errors.New("the roles have not arrived")
		}
		return err
	})
}

// changed declares what changes the Linkerd Links.
func (b *testEnv) changed() {
	b.Helper()
	b.commit(clusters(b) + links + "    excludedLabels: [example.com/private]\n")
}

// unbound has somebody take a binding away.
func (b *testEnv) unbound() {
	b.Helper()
	b.must(b.client("east").RbacV1().ClusterRoleBindings().Delete(b.Context(), "linkwright-access.linkwright.west", metav1.DeleteOptions{}))
}

// revoked ends the token of west→east.
func (b *testEnv) revoked() {
	b.Helper()
	b.must(b.client("east").CoreV1().Secrets("linkwright-access").Delete(b.Context(), "linkwright.west-1", metav1.DeleteOptions{}))
}

func (b *testEnv) unlinked() {
	b.Helper()
	b.mirrored()
	b.commit(clusters(b) + undrained)
}
