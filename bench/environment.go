package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// environment is one light control plane with the objects of a Linkerd installation, and the kinds that links use in it.
type environment struct {
	*testbed.ControlPlanes
	meter  *meter
	count  *counter
	client dynamic.Interface
	kinds  map[namespacedKind]bool
}

// namespacedKind is a kind in a namespace, or cluster-scoped.
type namespacedKind struct {
	schema.GroupVersionResource
	namespace string
}

func newEnvironment(ctx context.Context) (*environment, error) {
	clusters, err := testbed.Start(ctx, testbed.Options{Names: []string{string(source)}, Light: true})
	if err != nil {
		return nil, err
	}
	b := &environment{ControlPlanes: clusters, count: &counter{}, kinds: map[namespacedKind]bool{}}
	if err := b.setUp(ctx); err != nil {
		return nil, errors.Join(err, clusters.Close())
	}
	return b, nil
}

func (b *environment) setUp(ctx context.Context) error {
	c := b.Clusters[0]
	if err := testbed.InstallLinkerd(ctx, c.Config, testbed.Linkerd{}); err != nil {
		return err
	}
	var err error
	if b.meter, err = newMeter(c.PIDs["kube-apiserver"], b.count); err != nil {
		return err
	}
	return b.connect(c)
}

// connect is for what no arm does, and is not counted.
func (b *environment) connect(c *testbed.Cluster) (err error) {
	b.client, err = dynamic.NewForConfig(c.As("bench"))
	return err
}

// counted is a configuration whose requests are counted.
func (b *environment) counted() *rest.Config {
	cfg := rest.CopyConfig(b.Clusters[0].Config)
	cfg.Wrap(b.count.wrap)
	return cfg
}

// addKinds takes note of where objects are.
func (b *environment) addKinds(objects []object.Object) {
	for _, o := range objects {
		b.kinds[namespacedKindOf(o)] = true
	}
}

func namespacedKindOf(o object.Object) namespacedKind {
	return namespacedKind{
		schema.GroupVersionResource{Group: o.Key.Group, Version: o.Version, Resource: strings.ToLower(o.Key.Kind) + "s"}, o.Key.Namespace,
	}
}

func nameOf(k namespacedKind, name string) string { return k.Resource + " " + k.namespace + "/" + name }

const ownedBy = object.OwnerLabel + "=" + object.DefaultOwner

// clean deletes everything that an arm wrote, and says so only once nothing is left.
func (b *environment) clean(ctx context.Context) error {
	g, inner := errgroup.WithContext(ctx)
	for k := range b.kinds {
		g.Go(func() error {
			err := b.client.Resource(k.GroupVersionResource).Namespace(k.namespace).
				DeleteCollection(inner, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: ownedBy})
			if err != nil {
				return fmt.Errorf("delete %s: %w", k.Resource, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	left, err := b.digest(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d objects are left after cleaning", len(left))
	}
	return err
}

// digest returns the content of every object that an arm wrote, as a sum: without what the server and Flux add to it.
func (b *environment) digest(ctx context.Context) (map[string][sha256.Size]byte, error) {
	out := map[string][sha256.Size]byte{}
	for k := range b.kinds {
		next := ""
		for {
			list, err := b.client.Resource(k.GroupVersionResource).Namespace(k.namespace).
				List(ctx, metav1.ListOptions{LabelSelector: ownedBy, Limit: 500, Continue: next})
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", k.Resource, err)
			}
			for i := range list.Items {
				if out[nameOf(k, list.Items[i].GetName())], err = content(&list.Items[i]); err != nil {
					return nil, err
				}
			}
			if next = list.GetContinue(); next == "" {
				break
			}
		}
	}
	return out, nil
}

func content(o *unstructured.Unstructured) ([sha256.Size]byte, error) {
	labels := o.GetLabels()
	delete(labels, fluxGroup+"/name")
	delete(labels, fluxGroup+"/namespace")
	o.SetLabels(labels)
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	for _, field := range []string{"clusterIP", "clusterIPs"} {
		unstructured.RemoveNestedField(o.Object, "spec", field)
	}
	if err := removeServerFields(o); err != nil {
		return [sha256.Size]byte{}, err
	}
	text, err := json.Marshal(o.Object)
	return sha256.Sum256(text), err
}

// removeServerFields leaves out of an inventory what it tells of how its link does, which depends on the moment.
func removeServerFields(o *unstructured.Unstructured) error {
	const file = "inventory.json"
	text, ok, err := unstructured.NestedString(o.Object, "data", file)
	if !ok || err != nil {
		return err
	}
	var inv map[string]any
	if err := json.Unmarshal([]byte(text), &inv); err != nil {
		return fmt.Errorf("read inventory %s: %w", o.GetName(), err)
	}
	delete(inv, "conditions")
	plain, err := json.Marshal(inv)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", object.DigestAnnotation)
	return unstructured.SetNestedField(o.Object, string(plain), "data", file)
}

// compareDigests returns how two prints differ, or nil.
func compareDigests(want, got map[string][sha256.Size]byte) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d objects were written, and %d are wanted", len(got), len(want))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			return fmt.Errorf("%s is not as the other arms write it", name)
		}
	}
	return nil
}
