package sync_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
)

// TestMoves: inventories that were lost or restored by a backup tool, and a controller that changes hands, on real
// clusters with running links: nothing is deleted, and no controller is rolled.
func TestMoves(t *testing.T) {
	b := newClusterEnv(t, "east", "west")
	d := &declaredText{}
	l := b.loop(d, agent)
	shared := testbed.Exported{Namespace: "default", Name: "shared", Labels: map[string]string{testbed.FederatedLabel: "member"}}
	if err := testbed.Export(t.Context(), b.Cluster("east").Config, shared); err != nil {
		t.Fatal(err)
	}
	d.set(b.declarations(linkWith("west", "east", federated)))
	b.clean(l, 2)
	b.mirrored("west", "web-of-east-east")
	b.members("shared@east")
	old := b.inventory("west", "linkwright.west.east")
	whole := recorded(old)

	t.Run("wiped", func(t *testing.T) {
		b.t = t
		b.keeping(func() {
			b.wipe("east", "west")
			b.clean(l, 2)
		})
		if now := b.inventory("west", "linkwright.west.east"); now.UID == old.UID || recorded(now) != whole {
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
	t.Run("emptied by hand", func(t *testing.T) {
		b.t = t
		b.keeping(func() {
			empty := []byte(`{"data":{"inventory.json":"{\"version\":1,\"cluster\":\"west\",\"source\":\"west\",\"target\":\"east\"}"}}`)
			if _, err := b.client("west").CoreV1().ConfigMaps(object.AccessNamespace).Patch(t.Context(), old.Name, types.MergePatchType, empty, metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
				t.Fatal(err)
			}
			b.clean(l, 2)
		})
		if now := b.inventory("west", old.Name); recorded(now) != whole {
			t.Errorf("the inventory is %s, was %s", now.Data, whole)
		}
	})
	t.Run("restored by another", func(t *testing.T) { b.t = t; b.keeping(func() { b.restoredByAnother(l, old) }) })
	t.Run("to the chart and back", func(t *testing.T) { b.t = t; b.handedOver(t, d) })
	t.Run("a renamed source", func(t *testing.T) { b.t = t; b.renamedSource(t, d) })
	t.Run("a renamed target", func(t *testing.T) { b.t = t; b.renamedTarget(t, d) })
	b.t = t
}

// recorded returns what an inventory says, but for the link's conditions, which tell since when they stand.
func recorded(inv corev1.ConfigMap) string {
	return regexp.MustCompile(`"conditions":\[[^]]*\],`).ReplaceAllString(inv.Data["inventory.json"], "")
}

// restoredByAnother: an inventory that a backup tool put back proves nothing. Its cluster is left alone until it is deleted, and
// the error names it; then it is rebuilt.
func (b *clusterEnv) restoredByAnother(l *sync.Loop, old corev1.ConfigMap) {
	b.t.Helper()
	maps := b.client("west").CoreV1().ConfigMaps(object.AccessNamespace)
	err := maps.Delete(b.t.Context(), old.Name, metav1.DeleteOptions{})
	if err == nil {
		old.ObjectMeta = metav1.ObjectMeta{Name: old.Name, Namespace: old.Namespace, Labels: old.Labels}
		_, err = maps.Create(b.t.Context(), &old, metav1.CreateOptions{FieldManager: "velero-server"})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if r := b.once(l); r.Clean() || r.Counts().Written > 0 || !strings.Contains(dump(r), old.Name) {
		b.t.Errorf("with an inventory of somebody else's: %+v\n%s", r.Counts(), dump(r))
	}
	if err := maps.Delete(b.t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.clean(l, 2)
}

// handedOver declares a controller External and then PerLink again.
func (b *clusterEnv) handedOver(t *testing.T, d *declaredText) {
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
		b.ownedByHelm("mc", "ops")
		d.set(b.declarations(linkWith("west", "east", federated)))
		row := rowOf(t, b.once(l), object.End{Cluster: "west", Link: westToEast})
		if row.Phase != plan.Blocked || row.Why.Code != reason.ObjectExists {
			t.Errorf("what the chart has is %s, %v", row.Phase, row.Why)
		}
		l.Adopt = map[api.Pair]bool{westToEast: true}
		b.once(l)
		l.Adopt = nil
		b.clean(l, 2)
		b.noRequests(t, l)
	})
}

// keeping holds that meanwhile linkwright deletes nothing in west and east, and the controller is the same, and not rolled.
func (b *clusterEnv) keeping(do func()) {
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
	if led := b.witnessed(func(*testbed.MirrorObserver) { do() }); len(led) != 1 {
		b.t.Errorf("the link was led by %v", led)
	}
	for _, w := range b.writes()[before:] {
		if w.Verb == "delete" {
			b.t.Errorf("linkwright deleted %+v", w)
		}
	}
	if now, t := deployment(); now != uid || !reflect.DeepEqual(t, template) {
		b.t.Errorf("the controller %s is %s, with pods %+v, not %+v", uid, now, t, template)
	}
}

// ownedByHelm holds that Helm would take over what its chart renders for a controller, and nothing else of the link: an object
// that exists is a release's by this label and both annotations (helm.sh/helm, pkg/action/validate.go).
func (b *clusterEnv) ownedByHelm(release, namespace string) {
	b.t.Helper()
	ctx, c, mc := b.t.Context(), b.client("west"), testbed.Multicluster
	get := metav1.GetOptions{}
	var parts []metav1.Object
	take := func(o metav1.Object, err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
		parts = append(parts, o)
	}
	controller, err := c.AppsV1().Deployments(mc).Get(ctx, "controller-east", get)
	take(controller, err)
	account, err := c.CoreV1().ServiceAccounts(mc).Get(ctx, "controller-east", get)
	take(account, err)
	probe, err := c.CoreV1().Services(mc).Get(ctx, "probe-east", get)
	take(probe, err)
	role, err := c.RbacV1().Roles(mc).Get(ctx, "controller-read-remote-creds-east", get)
	take(role, err)
	binding, err := c.RbacV1().RoleBindings(mc).Get(ctx, "controller-read-remote-creds-east", get)
	take(binding, err)
	rights, err := c.RbacV1().ClusterRoleBindings().Get(ctx, "linkerd-multicluster-controller-access-local-resources-east", get)
	take(rights, err)
	secret, err := c.CoreV1().Secrets(mc).Get(ctx, "cluster-credentials-east", get)
	take(secret, err)
	for _, o := range parts {
		labels, marks := o.GetLabels(), o.GetAnnotations()
		helms := labels["app.kubernetes.io/managed-by"] == "Helm" && marks["meta.helm.sh/release-name"] == release &&
			marks["meta.helm.sh/release-namespace"] == namespace
		if given := o != metav1.Object(secret); helms != given || (labels[object.OwnerLabel] == "") != given {
			b.t.Errorf("%T %s has labels %v and annotations %v", o, o.GetName(), labels, marks)
		}
	}
}

func (b *clusterEnv) inventory(cluster, name string) corev1.ConfigMap {
	b.t.Helper()
	cm, err := b.client(cluster).CoreV1().ConfigMaps(object.AccessNamespace).Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return *cm
}

// wipe deletes all inventories.
func (b *clusterEnv) wipe(clusters ...string) {
	b.t.Helper()
	ours := metav1.ListOptions{LabelSelector: object.OwnerLabel}
	for _, c := range clusters {
		if err := b.client(c).CoreV1().ConfigMaps(object.AccessNamespace).DeleteCollection(b.t.Context(), metav1.DeleteOptions{}, ours); err != nil {
			b.t.Fatal(err)
		}
	}
}
