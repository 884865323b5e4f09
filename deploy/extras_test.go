package deploy_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	access "github.com/linkwright/linkwright/sync/cluster"
)

// extra is a kind that overlays may bring in, and its plural where a CRD must be made for it.
type extra struct{ group, version, kind, plural string }

func extraKinds() []extra {
	return []extra{
		{"networking.k8s.io", "v1", "NetworkPolicy", ""},
		{"policy", "v1", "PodDisruptionBudget", ""},
		{"monitoring.coreos.com", "v1", "PodMonitor", "podmonitors"},
		{"monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"},
		{"policy.linkerd.io", "v1alpha1", "AuthorizationPolicy", "authorizationpolicies"},
	}
}

// extras does in east, with linkwright's account, all that is ever done with an overlay's objects: they are looked for,
// made, changed, compared as diff does, and deleted.
func (b *testEnv) extras() {
	b.Helper()
	b.serve("east")
	c := b.connect("east")
	for _, k := range extraKinds() {
		read := object.Watch{Group: k.group, Version: k.version, Kind: k.kind, Namespace: testbed.Multicluster}
		b.eventually(k.kind+" is served", func(ctx context.Context) error {
			observed, err := c.Observe(ctx, []object.Watch{read})
			if err == nil && len(observed.Unserved) > 0 {
				err = fmt.Errorf("%v are not served", observed.Unserved)
			}
			return err
		})
		_, err := c.Live(b.Context(), []object.Watch{read})
		b.must(err)
		key := object.Key{Group: k.group, Kind: k.kind, Namespace: testbed.Multicluster, Name: "extra"}
		now, err := c.Write(b.Context(), object.Change{Action: object.Create, Key: key, Object: b.extra(key, k.version, "a")})
		b.must(err)
		change := object.Change{Action: object.Update, Key: key, Object: b.extra(key, k.version, "b"), Was: now}
		_, _, err = c.Preview(b.Context(), change)
		b.must(err)
		_, err = c.Write(b.Context(), change)
		b.must(err)
		b.eventually(k.kind+" is deleted", func(ctx context.Context) error { // controllers write some of them, too
			observed, err := c.Observe(ctx, []object.Watch{read})
			if err == nil {
				_, err = c.Write(ctx, object.Change{Action: object.Delete, Key: key, Was: observed.Record(key)})
			}
			return err
		})
	}
}

// serve makes the cluster serve the kinds that it has not by itself.
func (b *testEnv) serve(name string) {
	b.Helper()
	for _, k := range extraKinds() {
		if k.plural == "" {
			continue
		}
		b.apply(name, []*unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": k.plural + "." + k.group},
			"spec": map[string]any{
				"group": k.group, "scope": "Namespaced", "names": map[string]any{"plural": k.plural, "kind": k.kind},
				"versions": []any{map[string]any{
					"name": k.version, "served": true, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				}},
			},
		}}})
	}
}

// connect returns a client with the access Secret of a cluster, which names itself as the program does.
func (b *testEnv) connect(name string) *access.Client {
	b.Helper()
	secret, err := b.client("west").CoreV1().Secrets(namespace).Get(b.Context(), name, metav1.GetOptions{})
	b.must(err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	b.must(err)
	registry := access.New(access.Options{Timeout: patience, UserAgent: "linkwright/test"})
	b.must(registry.Spawn(b.Context(), "east", cfg))
	b.Cleanup(func() { b.must(registry.Stop(context.Background(), "east")) })
	var out *access.Client
	b.must(registry.WithClient(b.Context(), "east", func(c *access.Client) error { out = c; return nil }))
	return out
}

func (b *testEnv) extra(k object.Key, version, value string) object.Object {
	b.Helper()
	o, err := object.Seal(object.Spec{Key: k, Version: version, Phase: object.PhaseExtras, Owner: object.DefaultOwner}, map[string]any{
		"apiVersion": k.Group + "/" + version, "kind": k.Kind,
		"metadata": map[string]any{"name": k.Name, "namespace": k.Namespace, "annotations": map[string]any{"is": value}},
	})
	b.must(err)
	return o
}
