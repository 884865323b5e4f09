package testbed

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// members is nil when a federated Service lists these, and has the tier of one
// of them.
func (l *linked) members(t *testing.T, ns, want, tier string) func() error {
	t.Helper()
	return func() error {
		federated, err := l.mirrored(t.Context(), ns, "web-federated")
		if err != nil {
			return err
		}
		got := federated.Annotations[discoveryKey] + ";" + federated.Annotations[localDiscoveryKey]
		if got != want || federated.Labels["tier"] != tier || federated.Labels[clusterLabel] != "" {
			return fmt.Errorf("members %q, labels %v, want %q of %s", got, federated.Labels, want, tier)
		}
		return nil
	}
}

// Two Links share a federated Service: the older one gives its labels, one
// leaves it to the other, and with the last member it goes.
func TestMirrorsShareAFederatedService(t *testing.T) {
	west, north := newPair(t, "east", "west"), newPair(t, "east", "north")
	ns := namespace(t, west.source)
	for _, l := range []*linked{west, north} {
		l.export(t, Exported{Namespace: ns, Name: "web", Labels: map[string]string{FederatedLabel: "member", "tier": l.Target}})
	}
	play(t, "east", MirrorOptions{})
	north.start(t)
	eventually(t, north.members(t, ns, "web@north;", "north"))
	olderThanASecond(t, north)
	west.start(t)
	eventually(t, west.members(t, ns, "web@north,web@west;", "north"))
	eventually(t, func() error { return west.reason(t, federatedServices, ns, "Mirrored") })

	// A Link that is made anew is the younger one: the other's labels win at its next event.
	if err := north.links().Delete(t.Context(), "north", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	olderThanASecond(t, west)
	north.apply(t, "link.yaml")
	west.change(t, ns, "web", func(s *corev1.Service) { s.Labels["tier"] = "changed" })
	eventually(t, west.members(t, ns, "web@north,web@west;", "changed"))

	north.Drained = true
	north.apply(t, "link.yaml")
	eventually(t, west.members(t, ns, "web@west;", "changed"))
	west.change(t, ns, "web", func(s *corev1.Service) { delete(s.Labels, FederatedLabel) })
	west.misses(t, ns, "web-federated")
}

// olderThanASecond waits until the next Link is younger as the API tells time.
func olderThanASecond(t *testing.T, l *linked) {
	t.Helper()
	eventually(t, func() error {
		live, err := l.links().Get(t.Context(), l.Target, metav1.GetOptions{})
		if err == nil && time.Since(live.GetCreationTimestamp().Time) < time.Second {
			return fmt.Errorf("Link is of %v", live.GetCreationTimestamp())
		}
		return err
	})
}

// The members at home come and go by a controller of their own; they give the
// labels, and the Service lives while they do.
func TestMirrorsFederateTheMembersAtHome(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web", Labels: map[string]string{FederatedLabel: "member", "tier": "far"}})
	if err := Export(t.Context(), sharedClusters.Cluster("east").Config, Exported{Namespace: ns, Name: "web", Labels: map[string]string{FederatedLabel: "member", "tier": "home"}}); err != nil {
		t.Fatal(err)
	}
	play(t, "east", MirrorOptions{})
	l.start(t)
	eventually(t, l.members(t, ns, "web@west;", "far"))
	localMirror(t, l.source)
	eventually(t, l.members(t, ns, "web@west;web", "home"))
	l.change(t, ns, "web", func(s *corev1.Service) { delete(s.Labels, FederatedLabel) })
	eventually(t, l.members(t, ns, ";web", "home"))
	if err := l.source.CoreV1().Services(ns).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.misses(t, ns, "web-federated")
	if _, err := l.source.CoordinationV1().Leases(Multicluster).Get(t.Context(), "local-service-mirror-write", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// localMirror runs linkerd-local-service-mirror for the time of the test.
func localMirror(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	name := "linkerd-local-service-mirror"
	meta := metav1.ObjectMeta{Name: name}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"endpoints", "services"}, Verbs: []string{"list", "get", "watch", "create", "delete", "update"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "get", "watch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update", "patch"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: Multicluster, Name: name}},
	}
	labels := map[string]string{"component": "local-service-mirror"}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			ServiceAccountName: name,
			Containers: []corev1.Container{{Name: "service-mirror", Image: "cr.l5d.io/linkerd/controller:edge-26.6.3", Args: []string{
				"service-mirror", "-local-mirror", "-federated-service-selector=" + FederatedLabel + "=member", "-excluded-labels=", "-excluded-annotations=",
			}}},
		}},
	}}
	_, err := client.CoreV1().ServiceAccounts(Multicluster).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	made(t, err)
	_, err = client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	made(t, err)
	_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	made(t, err)
	_, err = client.AppsV1().Deployments(Multicluster).Create(t.Context(), deployment, metav1.CreateOptions{})
	made(t, err)
	t.Cleanup(func() {
		if err := client.AppsV1().Deployments(Multicluster).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// made fails the test unless an object was made, now or by an earlier run.
func made(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

func TestMirrorKeepsHeadlessServicesOutOfFederatedOnes(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web", Headless: true, Labels: map[string]string{FederatedLabel: "member", ExportedLabel: "true"}})
	play(t, "east", MirrorOptions{})
	l.start(t)
	eventually(t, func() error { return l.reason(t, federatedServices, ns, "InvalidService") })
	// Without the flag it is mirrored as if it had an address.
	if web := l.awaits(t, ns, "web-west"); web.Spec.ClusterIP == corev1.ClusterIPNone {
		t.Errorf("mirror is headless: %v", web.Spec)
	}
	eventually(t, func() error { return l.reason(t, mirrorServices, ns, "Mirrored") })
	if _, err := l.mirrored(t.Context(), ns, "web-federated"); err == nil {
		t.Error("a headless Service is a member")
	}
}

// With the flag, each named address has a Service of its own.
func TestMirrorOfAHeadlessServiceNamesItsPods(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.Args = []string{"service-mirror", "-enable-headless-services", "-probe-service=probe-west", "west"}
	l.export(t, Exported{Namespace: ns, Name: "db", Headless: true})
	l.pod(t, ns, "db-0")
	l.pod(t, ns, "db-1")
	play(t, "east", MirrorOptions{})
	l.start(t)
	root, first := l.awaits(t, ns, "db-west"), l.awaits(t, ns, "db-0-west")
	l.awaits(t, ns, "db-1-west")
	if root.Spec.ClusterIP != corev1.ClusterIPNone || first.Labels[headlessNameKey] != "db-west" || first.Spec.ClusterIP == corev1.ClusterIPNone {
		t.Errorf("root %v, pod %v", root.Spec, first)
	}
	eventually(t, func() error {
		endpoints, err := l.source.CoreV1().Endpoints(ns).Get(t.Context(), "db-west", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, address := range endpoints.Subsets[0].Addresses {
			if address.Hostname == "db-0" && address.IP == first.Spec.ClusterIP {
				return nil
			}
		}
		return fmt.Errorf("Endpoints of the root: %v", endpoints.Subsets)
	})
	if err := l.target.CoreV1().Pods(ns).Delete(t.Context(), "db-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.misses(t, ns, "db-1-west")
	l.awaits(t, ns, "db-0-west")
	if err := l.target.CoreV1().Services(ns).Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.misses(t, ns, "db-west")
	l.misses(t, ns, "db-0-west")
}

// pod of the Service db, with a host name.
func (l *linked) pod(t *testing.T, ns, name string) {
	t.Helper()
	_, err := l.target.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "db"}},
		Spec: corev1.PodSpec{
			Hostname: name, Subdomain: "db",
			Containers: []corev1.Container{{Name: "app", Image: "app.example/app:1"}},
		},
	}, metav1.CreateOptions{})
	made(t, err)
}
