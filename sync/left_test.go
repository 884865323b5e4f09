package sync_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
)

// patience is far more than what is waited for takes, also on a machine with much to do.
const patience = 2 * time.Minute

// eventually waits until f says yes.
func (b *clusterEnv) eventually(what string, f func(ctx context.Context) (bool, error)) {
	b.t.Helper()
	if err := testbed.Eventually(b.t.Context(), patience, f); err != nil {
		b.t.Fatalf("%s: %v; it had %v", what, err, patience)
	}
}

// mirrored waits until the stand-in has mirrored a service, with the very credentials we wrote.
func (b *clusterEnv) mirrored(source, service string) {
	b.t.Helper()
	b.eventually(service+" in "+source, func(ctx context.Context) (bool, error) {
		_, err := b.client(source).CoreV1().Services("default").Get(ctx, service, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

var linkResource = schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"}

func (b *clusterEnv) linkField(source, target, field string) string {
	b.t.Helper()
	dyn, err := dynamic.NewForConfig(b.Cluster(source).Config)
	if err != nil {
		b.t.Fatal(err)
	}
	l, err := dyn.Resource(linkResource).Namespace("linkerd-multicluster").Get(b.t.Context(), target, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	s, _, _ := unstructured.NestedString(l.Object, "spec", field)
	return s
}

// left lists whatever names the link in either cluster: by the target's name in the source, by the
// source's account in the target. It asks for every kind a link can leave, not for what we think we wrote.
func (b *clusterEnv) left(source, target string) []string {
	b.t.Helper()
	in := func(cluster string, of func(name string, labels map[string]string) bool) (out []string) {
		dyn, err := dynamic.NewForConfig(b.Cluster(cluster).Config)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, resource := range []schema.GroupVersionResource{
			linkResource,
			{Version: "v1", Resource: "secrets"},
			{Version: "v1", Resource: "services"},
			{Version: "v1", Resource: "endpoints"},
			{Version: "v1", Resource: "serviceaccounts"},
			{Version: "v1", Resource: "configmaps"},
			{Version: "v1", Resource: "pods"},
			{Group: "apps", Version: "v1", Resource: "deployments"},
			{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
			{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
			{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
			{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
			{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
		} {
			list, err := dyn.Resource(resource).List(b.t.Context(), metav1.ListOptions{})
			if err != nil {
				b.t.Fatal(err)
			}
			for _, o := range list.Items {
				if of(o.GetName(), o.GetLabels()) {
					out = append(out, fmt.Sprintf("%s: %s %s/%s", cluster, resource.Resource, o.GetNamespace(), o.GetName()))
				}
			}
		}
		return out
	}
	inSource := in(source, func(name string, labels map[string]string) bool {
		return labels["mirror.linkerd.io/cluster-name"] == target || name == target || strings.HasSuffix(name, "-"+target) ||
			name == "linkwright."+source+"."+target
	})
	inTarget := in(target, func(name string, _ map[string]string) bool {
		return strings.HasPrefix(name, "linkwright."+source) || name == "linkwright-access.linkwright."+source
	})
	return append(inSource, inTarget...)
}
