package main

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
)

// ready makes every Deployment available.
func (b *environment) ready(ctx context.Context) error {
	_, err := makeAvailable(ctx, b.client)
	return err
}

// makeAvailable makes every Deployment of a link available, as its controller would where there are nodes: a light control plane has none. It
// returns their names.
func makeAvailable(ctx context.Context, client dynamic.Interface) ([]string, error) {
	deployments := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(testbed.Multicluster)
	list, err := deployments.List(ctx, metav1.ListOptions{LabelSelector: ownedBy})
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	names := make([]string, len(list.Items))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i, d := range list.Items {
		names[i] = d.GetName()
		if seen, _, _ := unstructured.NestedInt64(d.Object, "status", "observedGeneration"); seen == d.GetGeneration() {
			continue
		}
		g.Go(func() error {
			patch, err := json.Marshal(map[string]any{"status": map[string]any{
				"observedGeneration": d.GetGeneration(), "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
				"conditions": []map[string]any{{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}},
			}})
			if err != nil {
				return err
			}
			_, err = deployments.Patch(ctx, d.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kube-controller-manager"}, "status")
			return err
		})
	}
	return names, g.Wait()
}
