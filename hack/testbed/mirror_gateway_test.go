package testbed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// addresses is nil when the Endpoints of a mirror have so many that are ready
// and not.
func (l *linked) addresses(t *testing.T, ns, name string, ready, not int) func() error {
	t.Helper()
	return func() error {
		endpoints, err := l.source.CoreV1().Endpoints(ns).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var got [2]int
		for _, subset := range endpoints.Subsets {
			got[0], got[1] = got[0]+len(subset.Addresses), got[1]+len(subset.NotReadyAddresses)
		}
		if got != [2]int{ready, not} {
			return fmt.Errorf("%s has %d addresses ready and %d not, want %d and %d", name, got[0], got[1], ready, not)
		}
		return nil
	}
}

// A gateway that died takes the addresses of mirrors with it, not the probe's;
// one that never answered counts as alive.
func TestMirrorFollowsTheLifeOfAGateway(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.ProbePeriod = "100ms"
	l.export(t, Exported{Namespace: ns, Name: "web"})
	var dead atomic.Bool
	var asked atomic.Int32
	dead.Store(true)
	play(t, "east", MirrorOptions{Period: 50 * time.Millisecond, Probe: func(context.Context, string) error {
		asked.Add(1)
		if dead.Load() {
			return errors.New("no answer")
		}
		return nil
	}})
	l.start(t)
	eventually(t, func() error {
		if asked.Load() < 5 {
			return errors.New("the gateway was not asked enough")
		}
		return nil
	})
	eventually(t, l.addresses(t, ns, "web-west", 2, 0))
	dead.Store(false)
	before := asked.Load()
	eventually(t, func() error {
		if asked.Load() < before+2 {
			return errors.New("the gateway was not asked again")
		}
		return nil
	})
	dead.Store(true)
	eventually(t, l.addresses(t, ns, "web-west", 0, 2))
	if err := l.addresses(t, Multicluster, "probe-west", 2, 0)(); err != nil {
		t.Error(err)
	}
	l.ExcludedAnnotations = []string{"any"} // a change of the spec: alive until it is seen alive and dead again
	l.apply(t, "link.yaml")
	eventually(t, l.addresses(t, ns, "web-west", 2, 0))
}

func TestMirrorRepairsEndpoints(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.Args = []string{"service-mirror", "-endpoint-refresh-period=300ms", "-probe-service=another-probe", "west"}
	l.export(t, Exported{Namespace: ns, Name: "web"})
	play(t, "east", MirrorOptions{Resolve: func(_ context.Context, host string) ([]string, error) {
		if host != "gateway.example" {
			return nil, errors.New("no such host")
		}
		return []string{"192.0.2.33", "192.0.2.31", "192.0.2.32"}, nil
	}})
	l.start(t)
	eventually(t, l.addresses(t, ns, "web-west", 2, 0))
	eventually(t, l.addresses(t, Multicluster, "another-probe", 2, 0))
	if err := l.source.CoreV1().Endpoints(Multicluster).Delete(t.Context(), "another-probe", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	endpoints, err := l.source.CoreV1().Endpoints(ns).Get(t.Context(), "web-west", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	endpoints.Subsets = nil
	if _, err := l.source.CoreV1().Endpoints(ns).Update(t.Context(), endpoints, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, l.addresses(t, Multicluster, "another-probe", 2, 0))
	eventually(t, l.addresses(t, ns, "web-west", 2, 0))

	l.Gateway = "gateway.example,other.example" // the one that does not resolve is left out
	l.apply(t, "link.yaml")
	eventually(t, l.addresses(t, ns, "web-west", 3, 0))
	l.change(t, ns, "web", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "nothing"} })
	eventually(t, l.addresses(t, ns, "web-west", 0, 0))
}

// With the flag, and the right, a missing namespace is made; it stays.
func TestMirrorMakesNamespaces(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := fmt.Sprintf("made-%d", time.Now().UnixNano())
	l.Args = []string{"service-mirror", "-enable-namespace-creation", "-probe-service=probe-west", "west"}
	meta := metav1.ObjectMeta{Name: "makes-namespaces"}
	_, err := l.source.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create"}},
	}}, metav1.CreateOptions{})
	made(t, err)
	_, err = l.source.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: Multicluster, Name: "controller-west"}},
	}, metav1.CreateOptions{})
	made(t, err)
	l.export(t, Exported{Namespace: ns, Name: "web"})
	play(t, "east", MirrorOptions{})
	l.start(t)
	l.awaits(t, ns, "web-west")
	l.Drained = true
	l.apply(t, "link.yaml")
	l.misses(t, ns, "web-west")
	have, err := l.source.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
	if err != nil || have.Labels[mirroredLabel] != "true" || have.Labels[clusterLabel] != "west" {
		t.Errorf("namespace %v, %v", have, err)
	}
}
