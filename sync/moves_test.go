package sync_test

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// TestMoves: inventories that were lost or restored by a backup tool, and a controller that changes hands, on real
// clusters with running links: nothing is deleted, and no controller is rolled.
func TestMoves(t *testing.T) {
	b := newBed(t)
	d := &text{}
	l := b.loop(d, agent)
	d.set(b.declarations(linkWith("west", "east", federated)))
	b.clean(l, 2)
	b.mirrored("west", "web-of-east-east")
	old := b.inventory("west", "linkwright.west.east")

	t.Run("wiped", func(t *testing.T) {
		b.t = t
		b.keeping(func() {
			for _, c := range []string{"east", "west"} {
				if err := b.client(c).CoreV1().ConfigMaps(object.AccessNamespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{
					LabelSelector: object.OwnerLabel,
				}); err != nil {
					t.Fatal(err)
				}
			}
			b.clean(l, 2)
		})
		if now := b.inventory("west", "linkwright.west.east"); now.UID == old.UID || now.Data["inventory.json"] != old.Data["inventory.json"] {
			t.Errorf("the inventory is %+v, was %+v", now.Data, old.Data)
		}
	})
	t.Run("restored", func(t *testing.T) {
		b.t = t
		b.keeping(func() {
			maps := b.client("west").CoreV1().ConfigMaps(object.AccessNamespace)
			if err := maps.Delete(t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			emptied, _, _ := strings.Cut(old.Data["inventory.json"], `,"entries"`)
			old.Data["inventory.json"] = emptied + `,"leaving":true}`
			old.ObjectMeta = metav1.ObjectMeta{Name: old.Name, Namespace: old.Namespace, Labels: old.Labels}
			if _, err := maps.Create(t.Context(), &old, metav1.CreateOptions{FieldManager: object.DefaultOwner}); err != nil {
				t.Fatal(err)
			}
			b.clean(l, 2)
		})
	})
	t.Run("to the chart and back", func(t *testing.T) { b.t = t; b.handedOver(t, d) })
	b.t = t
}

// handedOver declares a controller External and then PerLink again.
func (b *bed) handedOver(t *testing.T, d *text) {
	l := b.loop(d, agent)
	role := []byte(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"},"annotations":{"meta.helm.sh/release-name":"mc","meta.helm.sh/release-namespace":"ops"}}}`)
	if _, err := b.client("west").RbacV1().ClusterRoles().Patch(t.Context(), "linkerd-multicluster-controller-access-local-resources",
		types.MergePatchType, role, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	b.keeping(func() {
		d.set(b.declarations(linkWith("west", "east", federated+", controller: {mode: External}")))
		b.clean(l, 2)
		b.mirrored("west", "web-of-east-east")
		now, err := b.client("west").AppsV1().Deployments(testbed.Multicluster).Get(t.Context(), "controller-east", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if now.Labels[object.OwnerLabel] != "" || now.Labels["app.kubernetes.io/managed-by"] != "Helm" || now.Annotations["meta.helm.sh/release-name"] != "mc" {
			t.Errorf("the Deployment has labels %v and annotations %v", now.Labels, now.Annotations)
		}
		d.set(b.declarations(linkWith("west", "east", federated)))
		row := rowOf(t, b.once(l), object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}})
		if row.Standing != plan.Held || row.Why.Code != "Occupied" {
			t.Errorf("what the chart has is %s, %v", row.Standing, row.Why)
		}
	})
}

// keeping holds that meanwhile linkwright deletes nothing in west and east, and the controller is the same, and not rolled.
func (b *bed) keeping(do func()) {
	b.t.Helper()
	deployment := func() (types.UID, corev1.PodTemplateSpec) {
		d, err := b.client("west").AppsV1().Deployments(testbed.Multicluster).Get(b.t.Context(), "controller-east", metav1.GetOptions{})
		if err != nil {
			b.t.Fatal(err)
		}
		return d.UID, d.Spec.Template
	}
	uid, template := deployment()
	before := len(b.writes())
	do()
	for _, w := range b.writes()[before:] {
		if w.Verb == "delete" {
			b.t.Errorf("linkwright deleted %+v", w)
		}
	}
	if now, t := deployment(); now != uid || !reflect.DeepEqual(t, template) {
		b.t.Errorf("the controller %s is %s, with pods %+v, not %+v", uid, now, t, template)
	}
}

func (b *bed) inventory(cluster, name string) corev1.ConfigMap {
	b.t.Helper()
	cm, err := b.client(cluster).CoreV1().ConfigMaps(object.AccessNamespace).Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return *cm
}
