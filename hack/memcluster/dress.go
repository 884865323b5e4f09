package memcluster

import (
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
)

// linkerdManager is the manager of the dressing.
const linkerdManager = "testbed"

// InstallLinkerd makes the cluster look as one that Linkerd and its multicluster extension are installed in, by the objects of
// package testbed.
func (c *Cluster) InstallLinkerd(d testbed.Linkerd) error {
	objects, err := d.Objects()
	if err != nil {
		return fmt.Errorf("dress cluster %s: %w", c.name, err)
	}
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			c.serveCRD(o)
		} else if err := c.Apply(linkerdManager, o.Object); err != nil {
			return fmt.Errorf("dress cluster %s: %w", c.name, err)
		}
	}
	if d.NoGateway || d.NodePort {
		return nil
	}
	if d.GatewayAddresses == nil {
		d.GatewayAddresses = []string{"192.0.2.10"}
	}
	return c.SetGateway(d.GatewayAddresses...)
}

// serveCRD serves what a CustomResourceDefinition defines.
func (c *Cluster) serveCRD(crd *unstructured.Unstructured) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	all, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var versions []string
	for _, v := range all {
		if name, ok := v.(map[string]any)["name"].(string); ok {
			versions = append(versions, name)
		}
	}
	c.Serve(group, kind, scope == "Namespaced", versions...)
}

// SetGateway gives the gateway's load balancer these IP addresses or host names, and no others.
func (c *Cluster) SetGateway(addresses ...string) error {
	ingress := []any{}
	for _, a := range addresses {
		field := "hostname"
		if net.ParseIP(a) != nil {
			field = "ip"
		}
		ingress = append(ingress, map[string]any{field: a})
	}
	key := object.Key{Kind: "Service", Namespace: testbed.Multicluster, Name: testbed.Gateway}
	return c.EditStatus("cloud-controller-manager", key, func(content map[string]any) {
		content["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": ingress}}
	})
}
