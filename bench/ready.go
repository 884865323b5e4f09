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

	"github.com/linkwright/linkwright/hack/testbed"
)

// ready makes every Deployment available, as its controller would where there are nodes: a light control plane has none.
func (b *environment) ready(ctx context.Context) error {
	deployments := b.client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(testbed.Multicluster)
	list, err := deployments.List(ctx, metav1.ListOptions{LabelSelector: ownedBy})
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, d := range list.Items {
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
	return g.Wait()
}
