package sync_test

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
)

// passesChecks holds what `linkerd multicluster check` asks of a source for the links to these targets (linkerd2 multicluster/cmd/check.go), as far as
// it asks the API server of the source: their rights, and their mirrors. Whether a controller runs it asks for a Deployment of each link.
func (b *clusterEnv) passesChecks(source string, controllers int, targets ...string) {
	b.t.Helper()
	client := dynamic.NewForConfigOrDie(b.Cluster(source).Config)
	list := func(r schema.GroupVersionResource, namespace, selector string) (out []string) {
		all, err := client.Resource(r).Namespace(namespace).List(b.t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, o := range all.Items {
			out = append(out, o.GetName())
		}
		return out
	}
	rbac := func(plural string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: plural}
	}
	for _, target := range targets {
		of := "component in (service-mirror, controller),mirror.linkerd.io/cluster-name=" + target
		for _, want := range []struct {
			resource        schema.GroupVersionResource
			namespace, name string
		}{
			{schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, testbed.Multicluster, "controller-" + target},
			{rbac("roles"), testbed.Multicluster, "controller-read-remote-creds-" + target},
			{rbac("rolebindings"), testbed.Multicluster, "controller-read-remote-creds-" + target},
			{rbac("clusterrolebindings"), "", "linkerd-multicluster-controller-access-local-resources-" + target},
		} {
			if got := list(want.resource, want.namespace, of); !slices.Contains(got, want.name) {
				b.t.Errorf("service mirror controller has required permissions: no %s %s among %v", want.resource.Resource, want.name, got)
			}
		}
		deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		if got := list(deployments, "", of); len(got) != controllers {
			b.t.Errorf("service mirror controllers are running: the Deployments of %s are %v, want %d", target, got, controllers)
		}
	}
	const mirrors = "mirror.linkerd.io/mirrored-service=true"
	b.eventually("all mirror services have endpoints", func(ctx context.Context) (bool, error) {
		for _, name := range list(schema.GroupVersionResource{Version: "v1", Resource: "services"}, "default", mirrors) {
			if e, err := b.client(source).CoreV1().Endpoints("default").Get(ctx, name, metav1.GetOptions{}); err != nil || len(e.Subsets) == 0 {
				return false, nil //nolint:nilerr // they may come
			}
		}
		return true, nil
	})
	for _, name := range list(schema.GroupVersionResource{Version: "v1", Resource: "services"}, "", mirrors+",mirror.linkerd.io/cluster-name notin ("+strings.Join(targets, ",")+")") {
		b.t.Errorf("all mirror services are part of a Link: %s is not", name)
	}
}
