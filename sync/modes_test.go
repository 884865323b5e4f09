package sync_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/report"
)

const federated = `, federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}`

func linkWith(source, target, more string) string {
	return strings.Replace(link(source, target), "}\n---", more+"}\n---", 1)
}

// clean returns one sync after which all is in place.
func (b *clusterEnv) clean(l *sync.Loop, ends int) report.Report {
	b.t.Helper()
	r := b.once(l)
	if c := r.Counts(); c.Ready != ends || !r.Clean() {
		b.t.Fatalf("%+v, want %d ends in place\n%s", c, ends, dump(r))
	}
	return r
}

// federation: the control plane's secret stands before the Link names a selector that uses it; a service
// that two links share loses one member and lives; with the last member it goes, and the secrets with it.
func (b *clusterEnv) federation(t *testing.T, l *sync.Loop, d *declaredText) {
	for _, target := range []string{"east", "north"} {
		e := testbed.Exported{Namespace: "default", Name: "shared", Labels: map[string]string{"mirror.linkerd.io/federated": "member"}}
		if err := testbed.Export(t.Context(), b.Cluster(target).Config, e); err != nil {
			t.Fatal(err)
		}
	}
	before := b.writes("west") // elsewhere a Link to east may be drained
	d.set(b.declarations(linkWith("west", "east", federated) + linkWith("west", "north", federated)))
	b.clean(l, 4)
	b.secretFirst(t, b.writes("west")[len(before):])
	b.members("shared@east,shared@north")

	d.set(b.declarations(linkWith("west", "north", federated)))
	b.clean(l, 2)
	b.members("shared@north")
	if left := b.left("west", "east"); len(left) > 0 {
		t.Errorf("left of west→east: %v", left)
	}
	d.set(b.declarations(link("west", "north")))
	b.clean(l, 2)
	if _, err := b.client("west").CoreV1().Secrets("linkerd").Get(t.Context(), "cluster-credentials-north", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the control plane's secret, with no service that needs it: %v", err)
	}
	b.members("")
}

// secretFirst: between the secret of the control plane and the selectors, the Link was written without them.
func (b *clusterEnv) secretFirst(t *testing.T, sent []testbed.Request) {
	secret := slices.IndexFunc(sent, func(r testbed.Request) bool {
		return r.Resource == "secrets" && r.Namespace == "linkerd" && r.Name == "cluster-credentials-east"
	})
	links := 0
	for i, r := range sent {
		if r.Resource == "links" && r.Name == "east" && r.Verb == "patch" {
			if links++; links == 2 && i < secret {
				t.Error("the Link was given its selectors before the control plane had its secret")
			}
		}
	}
	if secret < 0 || links != 2 {
		t.Errorf("secret written at %d, Link written %d times, want 2", secret, links)
	}
}

// members waits until the federated service lists exactly these, or is gone.
func (b *clusterEnv) members(want string) {
	b.t.Helper()
	b.eventually("members "+want, func(ctx context.Context) (bool, error) {
		s, err := b.client("west").CoreV1().Services("default").Get(ctx, "shared-federated", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return want == "", nil
		}
		if err != nil {
			return false, err
		}
		got := strings.Split(s.Annotations["multicluster.linkerd.io/remote-discovery"], ",")
		slices.Sort(got)
		return strings.Join(got, ",") == want, nil
	})
}

// external: the user's chart runs the controller; its Deployment is none of linkwright, and survives the unlink.
func (b *clusterEnv) external(t *testing.T, l *sync.Loop, d *declaredText) {
	d.set(b.declarations(linkWith("west", "east", ", controller: {mode: External}") + link("west", "north")))
	b.clean(l, 4)
	deployments := b.client("west").AppsV1().Deployments("linkerd-multicluster")
	if _, err := deployments.Get(t.Context(), "controller-east", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("a controller although the mode is External: %v", err)
	}
	if _, err := deployments.Create(t.Context(), chart("east"), metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	b.mirrored("west", "web-of-east-east")
	d.set(b.declarations(link("west", "north")))
	b.clean(l, 2)
	if _, err := deployments.Get(t.Context(), "controller-east", metav1.GetOptions{}); err != nil {
		t.Errorf("the user's controller: %v", err)
	}
	if err := deployments.Delete(t.Context(), "controller-east", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually("pods of the user's controller are gone", func(ctx context.Context) (bool, error) {
		pods, err := b.client("west").CoreV1().Pods("linkerd-multicluster").List(ctx, metav1.ListOptions{LabelSelector: "mirror.linkerd.io/cluster-name=east"})
		return err == nil && len(pods.Items) == 0, err
	})
	for _, left := range b.left("west", "east") {
		if !strings.Contains(left, "leases") && !strings.Contains(left, "probe-east") { // of the user's controller
			t.Errorf("left of an External link: %s", left)
		}
	}
}

// chart returns a controller as Linkerd's chart labels it; its account may do everything here.
func chart(target string) *appsv1.Deployment {
	labels := map[string]string{"component": "controller", "mirror.linkerd.io/cluster-name": target}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "controller-" + target, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: "charts-own",
					Containers:         []corev1.Container{{Name: "controller", Image: "controller"}},
				},
			},
		},
	}
}

// departs: two clusters leave the fleet in one commit; both ends of their links go, and the record forgets them.
func (b *clusterEnv) departs(t *testing.T, l *sync.Loop, d *declaredText) {
	d.set(b.declarations(link("west", "north") + link("north", "east") + link("east", "west")))
	b.clean(l, 6)
	all := b.declarations("")
	west := all[strings.LastIndex(all, "apiVersion: linkwright.dev/v1alpha1\nkind: Cluster"):]
	d.set(west)
	b.clean(l, 0)
	for _, p := range [][2]string{{"west", "north"}, {"north", "east"}, {"east", "west"}} {
		if left := b.left(p[0], p[1]); len(left) > 0 {
			t.Errorf("left of %v: %v", p, left)
		}
	}
	b.noRequests(t, l)
	record, err := b.client("west").CoreV1().ConfigMaps("linkwright").Get(t.Context(), "linkwright-fleet", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text := record.Data["fleet.json"]; strings.Contains(text, "north") || strings.Contains(text, `"east"`) || !strings.Contains(text, "west") {
		t.Errorf("the record of clusters: %s", text)
	}
}
