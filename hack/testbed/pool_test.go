package testbed

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestPool gives a cluster back, and gets it as it was, although a test left much in it.
func TestPool(t *testing.T) {
	Need(t)
	t.Parallel()
	var pool Pool
	start := func(name string) *ControlPlanes {
		bed, err := Start(t.Context(), Options{Names: []string{name}, Pool: &pool})
		if err != nil {
			t.Fatal(err)
		}
		return bed
	}
	first := start("east")
	before, uid := contents(t, first), namespaceUID(t, first)
	useUp(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}

	second := start("west")
	c := second.Clusters[0]
	if len(pool.all) > 0 {
		t.Errorf("the pool has %v, want nothing: it is in use", pool.all)
	}
	if got, want := c.process, first.Clusters[0].process; got != want {
		t.Fatal("another cluster was started")
	}
	if got := contents(t, second); !slices.Equal(got, before) {
		t.Errorf("it holds\n%v\nwant as at first\n%v", got, before)
	}
	if got := namespaceUID(t, second); got != uid {
		t.Errorf("UID of kube-system: %s, want %s", got, uid)
	}
	if got, err := c.Requests("counted/"); err != nil || len(got) > 0 {
		t.Errorf("requests of the test before: %v, %v", got, err)
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil || config.CurrentContext != "west" || config.Contexts["west"] == nil || config.Contexts["west"].Cluster != "west" {
		t.Errorf("kubeconfig: %+v, %v, want context west", config, err)
	}
	useUp(t, second)

	left := traceOf(c)
	if err := errors.Join(c.Stop(), second.Close(), left.gone()); err != nil {
		t.Errorf("stop it: %v", err)
	}
	if len(pool.all) > 0 {
		t.Errorf("the pool has %v, want nothing: it was stopped", pool.all)
	}
}

func TestPoolRefusesClocks(t *testing.T) {
	_, err := Start(t.Context(), Options{Names: []string{"east"}, Pool: &Pool{}, Ahead: map[string]time.Duration{"east": time.Hour}})
	if err == nil || !strings.Contains(err.Error(), "leave Ahead empty") {
		t.Errorf("Start with a pool and a clock: %v, want what to leave", err)
	}
}

// TestPoolDropsTheDead asks a pool for a cluster that has ended there.
func TestPoolDropsTheDead(t *testing.T) {
	Need(t)
	t.Parallel()
	var pool Pool
	opts := Options{Names: []string{"east"}, Light: true, Pool: &pool}
	bed, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	dead := bed.Clusters[0].process
	if err := errors.Join(bed.Close(), dead.cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	again, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if again.Clusters[0].process == dead {
		t.Error("it is the cluster that has ended")
	}
	if err := again.Clusters[0].Stop(); err != nil {
		t.Error(err)
	}
}

// useUp leaves in a cluster what tests leave: Linkerd with a Link, pods, and an object that a finalizer keeps. It stops the API server.
func useUp(t *testing.T, bed *ControlPlanes) {
	t.Helper()
	c := bed.Clusters[0]
	client := kubernetes.NewForConfigOrDie(c.As("counted/1"))
	if err := InstallLinkerd(t.Context(), c.Config, Linkerd{}); err != nil {
		t.Fatal(err)
	}
	link := map[string]any{
		"apiVersion": "multicluster.linkerd.io/v1alpha3", "kind": "Link", "metadata": map[string]any{"name": "east", "namespace": Multicluster},
	}
	dynamicClient := dynamic.NewForConfigOrDie(c.As("counted/1"))
	links := dynamicClient.Resource(schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"}).Namespace(Multicluster)
	if _, err := links.Create(t.Context(), &unstructured.Unstructured{Object: link}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := MeshedDeployment("web", nil)
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		got, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && got.Status.AvailableReplicas == 0 {
			err = errors.New("no replica of web is available")
		}
		return err
	})
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.com/nobody"}}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps("kube-system").Delete(t.Context(), "kube-root-ca.crt", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
}

// contents are the names of what tests look at, and the groups that are served.
func contents(t *testing.T, bed *ControlPlanes) []string {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(bed.Clusters[0].Config)
	var out []string
	for _, resource := range []string{
		"/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/secrets", "/api/v1/services", "/api/v1/serviceaccounts", "/api/v1/pods", "/api/v1/endpoints",
		"/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/apiregistration.k8s.io/v1/apiservices", "/apis/networking.k8s.io/v1/ipaddresses",
	} {
		var list metav1.PartialObjectMetadataList
		raw, err := client.Discovery().RESTClient().Get().AbsPath(resource).Do(t.Context()).Raw()
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out = append(out, fmt.Sprintf("%s %s/%s", resource, o.Namespace, o.Name))
		}
	}
	groups, err := client.Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		out = append(out, "group "+g.Name)
	}
	slices.Sort(out)
	return out
}

func namespaceUID(t *testing.T, bed *ControlPlanes) string {
	t.Helper()
	ns, err := kubernetes.NewForConfigOrDie(bed.Clusters[0].Config).CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(ns.UID)
}
