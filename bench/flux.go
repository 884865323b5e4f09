package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/linkwright/linkwright/object"
)

// What kustomize-controller calls itself, and its default of --concurrent-ssa.
const (
	fluxField, fluxGroup = "kustomize-controller", "kustomize.toolkit.fluxcd.io"
	fluxWidth            = 4
)

// flux applies by fluxcd/pkg/ssa as kustomize-controller does (internal/controller/kustomization_controller.go, reconcile
// and apply): owner labels, normalize, ApplyAllStaged with the same options, through a client that reads past any cache.
// Left out, which makes it faster than the controller: the limit of 50 requests a second, the build and its parsing,
// the status, events, health checks and the diff of inventories.
type flux struct{ client client.Client }

func newFlux(cfg *rest.Config) (*flux, error) {
	c, err := client.New(cfg, client.Options{})
	return &flux{c}, err
}

// decoded are fresh objects: an apply changes what it is given.
func decoded(objects []object.Object) ([]*unstructured.Unstructured, error) {
	out := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		out[i] = &unstructured.Unstructured{}
		if err := json.Unmarshal(o.Body.Bytes(), &out[i].Object); err != nil {
			return nil, fmt.Errorf("decode %s: %w", o.Key, err)
		}
	}
	return out, nil
}

func (f *flux) apply(ctx context.Context, objects []*unstructured.Unstructured) (*ssa.ChangeSet, error) {
	m := ssa.NewResourceManager(f.client, nil, ssa.Owner{Field: fluxField, Group: fluxGroup})
	m.SetOwnerLabels(objects, "links", "flux-system")
	m.SetConcurrency(fluxWidth)
	if err := normalize.UnstructuredList(objects); err != nil {
		return nil, err
	}
	return m.ApplyAllStaged(ctx, objects, fluxOptions())
}

// fluxOptions are those of the controller's apply for a Kustomization of defaults.
func fluxOptions() ssa.ApplyOptions {
	o := ssa.DefaultApplyOptions()
	o.ExclusionSelector = map[string]string{fluxGroup + "/reconcile": "disabled", fluxGroup + "/ssa": "Ignore"}
	o.IfNotPresentSelector = map[string]string{fluxGroup + "/ssa": "IfNotPresent"}
	o.ForceSelector = map[string]string{fluxGroup + "/force": "enabled"}
	o.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation, fluxGroup + "/checksum", "fluxcd.io/sync-checksum"},
		Labels:      []string{"fluxcd.io/sync-gc-mark"},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: fluxField, OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{fluxGroup + "/ssa": "Merge"},
	}
	return o
}
