package testbed

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Labels by which a Service offers itself to other clusters.
const (
	ExportedLabel  = "mirror.linkerd.io/exported"  // "true" or "remote-discovery"
	FederatedLabel = "mirror.linkerd.io/federated" // "member"
)

// Exported is a Service with one pod behind it.
type Exported struct {
	Namespace string // created if missing
	Name      string
	// Labels of the Service; nil exports it through the gateway.
	Labels map[string]string
	// Headless makes it one without a cluster IP.
	Headless bool
}

// Export creates the Service and a Deployment of the same name, or changes
// their labels, and returns when an endpoint is ready. It needs a cluster that
// runs pods: not a light one.
func Export(ctx context.Context, cfg *rest.Config, e Exported) error {
	if e.Labels == nil {
		e.Labels = map[string]string{ExportedLabel: "true"}
	}
	if err := applyManifests(ctx, cfg, e, "export.yaml"); err != nil {
		return fmt.Errorf("export service %s/%s: %w", e.Namespace, e.Name, err)
	}
	client, err := kubernetes.NewForConfig(as(cfg, manager))
	if err != nil {
		return err
	}
	err = poll(ctx, func() error {
		slices, err := client.DiscoveryV1().EndpointSlices(e.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + e.Name})
		if err != nil {
			return err
		}
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if ready := endpoint.Conditions.Ready; ready == nil || *ready {
					return nil
				}
			}
		}
		return errors.New("no endpoint is ready")
	})
	if err != nil {
		return fmt.Errorf("export service %s/%s: %w", e.Namespace, e.Name, err)
	}
	return nil
}
