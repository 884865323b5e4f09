package sync_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync/report"
)

// copied is an object of linkwright, and the name under which a backup tool restored it, managed fields and all.
type copied struct{ cluster, group, resource, namespace, name, as string }

// copies are some of west→east: under names of links that nobody declared, and under another.
func copies() []copied {
	const rbac = "rbac.authorization.k8s.io"
	return []copied{
		{"west", "", "secrets", testbed.Multicluster, "cluster-credentials-east", "cluster-credentials-east-copy"},
		{"west", "", "serviceaccounts", testbed.Multicluster, "controller-east", "restored"},
		{"west", rbac, "roles", testbed.Multicluster, "controller-read-remote-creds-east", "controller-read-remote-creds-ghost"},
		{"east", "", "serviceaccounts", "linkwright-access", "linkwright.west", "linkwright.ghost"},
		{"east", rbac, "clusterrolebindings", "", "linkwright-access.linkwright.west", "linkwright-access.linkwright.ghost"},
	}
}

func (b *clusterEnv) at(t *testing.T, c copied) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(b.Cluster(c.cluster).As("velero"))
	if err != nil {
		t.Fatal(err)
	}
	of := client.Resource(schema.GroupVersionResource{Group: c.group, Version: "v1", Resource: c.resource})
	if c.namespace == "" {
		return of
	}
	return of.Namespace(c.namespace)
}

// restored makes the copies, with the managed fields of the originals.
func (b *clusterEnv) restored(t *testing.T) {
	t.Helper()
	for _, c := range copies() {
		at := b.at(t, c)
		o, err := at.Get(t.Context(), c.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fields := o.GetManagedFields()
		o.SetName(c.as)
		o.SetUID("")
		o.SetResourceVersion("")
		o.SetManagedFields(nil)
		made, err := at.Create(t.Context(), o, metav1.CreateOptions{FieldManager: "velero"})
		if err == nil {
			made.SetManagedFields(fields)
			_, err = at.Update(t.Context(), made, metav1.UpdateOptions{FieldManager: "velero"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// alone: an unlink left the copies alone, and reported each as what carries linkwright's own mark and is in no inventory; then they go.
func (b *clusterEnv) alone(t *testing.T, r report.Report) {
	t.Helper()
	said := map[string]string{}
	for _, c := range r.Clusters {
		for _, o := range c.Step.Listed {
			said[string(c.Name)+" "+o.Key.Name] = o.Why
		}
	}
	for _, c := range copies() {
		var left *unstructured.Unstructured
		left, err := b.at(t, c).Get(t.Context(), c.as, metav1.GetOptions{})
		if err != nil || left.GetDeletionTimestamp() != nil {
			t.Errorf("%s: %s was taken away: %v", c.cluster, c.as, err)
			continue
		}
		if why := said[c.cluster+" "+c.as]; !strings.Contains(why, "it has linkwright's label, but no inventory lists it") {
			t.Errorf("%s: %s is reported with %q", c.cluster, c.as, why)
		}
		if err := b.at(t, c).Delete(t.Context(), c.as, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
