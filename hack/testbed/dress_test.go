package testbed

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

var linkResource = schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"}

func TestDressTwiceChangesNothing(t *testing.T) {
	Need(t)
	c := sharedClusters.Cluster("north")
	d := Linkerd{ClusterDomain: "north.example", GatewayAddresses: []string{"192.0.2.20", "gw.example"}}
	if err := InstallLinkerd(t.Context(), c.Config, d); err != nil {
		t.Fatal(err)
	}
	before := versions(t, c, d)
	if err := InstallLinkerd(t.Context(), c.Config, d); err != nil {
		t.Fatal(err)
	}
	if after := versions(t, c, d); !maps.Equal(before, after) {
		t.Errorf("generations and applied fields: %v\nafter dressing again: %v", before, after)
	}
}

// versions tells for every dressed object what only a write of ours changes:
// when our own field manager last changed something.
func versions(t *testing.T, c *Cluster, d Linkerd) map[string]string {
	t.Helper()
	client := dynamic.NewForConfigOrDie(c.Config)
	data, err := d.withDefaults().templateData()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range []string{"namespaces.yaml", "link.yaml", "controlplane.yaml", "multicluster.yaml", "gateway.yaml"} {
		objects, err := fill(name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			out[object.GetKind()+" "+object.GetName()] = version(t, client, object)
		}
	}
	return out
}

func version(t *testing.T, client dynamic.Interface, object *unstructured.Unstructured) string {
	t.Helper()
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	live, err := client.Resource(resource).Namespace(object.GetNamespace()).Get(t.Context(), object.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := string(live.GetUID())
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == manager {
			out += " " + entry.Time.String()
		}
	}
	return out
}

func TestDressedClusterTellsItsFacts(t *testing.T) {
	Need(t)
	c := sharedClusters.Cluster("north")
	if err := InstallLinkerd(t.Context(), c.Config, Linkerd{ClusterDomain: "north.example", GatewayAddresses: []string{"192.0.2.20"}}); err != nil {
		t.Fatal(err)
	}
	if err := SetGateway(t.Context(), c.Config, "192.0.2.21", "gw.example"); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(c.Config)
	config, err := client.CoreV1().ConfigMaps(ControlPlane).Get(t.Context(), "linkerd-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	values := struct{ ClusterDomain, IdentityTrustDomain, LinkerdVersion, IdentityTrustAnchorsPEM string }{}
	if err := yaml.Unmarshal([]byte(config.Data["values"]), &values); err != nil {
		t.Fatal(err)
	}
	if values.ClusterDomain != "north.example" || values.IdentityTrustDomain != "north.example" || values.LinkerdVersion != "edge-26.6.3" || values.IdentityTrustAnchorsPEM != sharedAnchor {
		t.Errorf("linkerd-config: %+v", values)
	}
	gateway, err := client.CoreV1().Services(Multicluster).Get(t.Context(), Gateway, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ingress := range gateway.Status.LoadBalancer.Ingress {
		got = append(got, ingress.IP+ingress.Hostname)
	}
	if want := []string{"192.0.2.21", "gw.example"}; !slices.Equal(got, want) {
		t.Errorf("gateway addresses: %q, want %q", got, want)
	}
}

func TestNodePortGatewayAndOldLinks(t *testing.T) {
	Need(t)
	t.Parallel()
	c := startLight(t, "old")
	d := Linkerd{LinkerdVersion: "stable-2.14.10", NodePort: true, LinkVersions: []string{"v1alpha1"}}
	if err := InstallLinkerd(t.Context(), c.Config, d); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(c.Config)
	gateway, err := client.CoreV1().Services(Multicluster).Get(t.Context(), Gateway, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := gateway.Spec.Ports[0].NodePort; got != GatewayNodePort {
		t.Errorf("node port of the gateway: %d, want %d", got, GatewayNodePort)
	}
	served, err := client.Discovery().ServerResourcesForGroupVersion("multicluster.linkerd.io/v1alpha1")
	if err != nil || len(served.APIResources) != 1 {
		t.Errorf("resources of v1alpha1: %+v, %v, want links without status", served, err)
	}
}

func TestLinkDefaultsAreLinkerds(t *testing.T) {
	Need(t)
	c := sharedClusters.Cluster("west")
	if err := InstallLinkerd(t.Context(), c.Config, Linkerd{}); err != nil {
		t.Fatal(err)
	}
	links := dynamic.NewForConfigOrDie(c.Config).Resource(linkResource).Namespace(Multicluster)
	link, err := links.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "multicluster.linkerd.io/v1alpha3", "kind": "Link",
		"metadata": map[string]any{"name": "defaults"},
		"spec":     map[string]any{"targetClusterName": "defaults", "probeSpec": map[string]any{"period": "3s"}},
		"status":   map[string]any{},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = links.Delete(t.Context(), "defaults", metav1.DeleteOptions{}) }()
	timeout, _, _ := unstructured.NestedString(link.Object, "spec", "probeSpec", "timeout")
	threshold, _, _ := unstructured.NestedString(link.Object, "spec", "probeSpec", "failureThreshold")
	if timeout != "30s" || threshold != "3" {
		t.Errorf("probeSpec defaults: timeout %q, failureThreshold %q, want 30s and 3", timeout, threshold)
	}
}
