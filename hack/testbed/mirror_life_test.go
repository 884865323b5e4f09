package testbed

import (
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start applies the link with all its rights.
func (l *linked) start(t *testing.T) {
	t.Helper()
	l.apply(t, "role.yaml")
	l.apply(t, "link.yaml")
}

// awaits a Service of the source.
func (l *linked) awaits(t *testing.T, ns, name string) *corev1.Service {
	t.Helper()
	var service *corev1.Service
	eventually(t, func() (err error) {
		service, err = l.mirrored(t.Context(), ns, name)
		return err
	})
	return service
}

func (l *linked) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease, err := l.source.CoordinationV1().Leases(Multicluster).Get(t.Context(), "service-mirror-write-"+l.Target, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestMirrorHasOneWriter(t *testing.T) {
	l := newPair(t, "east", "west")
	ns := namespace(t, l.source)
	l.Replicas = 2
	l.export(t, Exported{Namespace: ns, Name: "web"})
	play(t, "east", MirrorOptions{})
	l.start(t)
	l.awaits(t, ns, "web-west")
	eventually(t, func() error { // both are ready to write
		pods, err := l.source.CoreV1().Pods(Multicluster).List(t.Context(), metav1.ListOptions{LabelSelector: clusterLabel + "=west"})
		held := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !slices.Contains(p.Finalizers, finalizer) })
		if err == nil && len(held) != 2 {
			return fmt.Errorf("%d pods are played", len(held))
		}
		return err
	})
	first := l.lease(t)
	if err := l.source.CoreV1().Pods(Multicluster).Delete(t.Context(), holderOf(first), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		next := l.lease(t)
		if holder := holderOf(next); holder == "" || holder == holderOf(first) || *next.Spec.LeaseTransitions <= *first.Spec.LeaseTransitions {
			return fmt.Errorf("lease is held by %q in term %d", holder, *next.Spec.LeaseTransitions)
		}
		return nil
	})
	l.export(t, Exported{Namespace: ns, Name: "later"})
	l.awaits(t, ns, "later-west")
	l.checkRights(t)
}

// checkRights: Linkerd's controller updates whole objects, and patches nothing but
// the status.
func (l *linked) checkRights(t *testing.T) {
	t.Helper()
	requests, err := sharedClusters.Cluster(l.Source).Requests(MirrorAgent + "/" + l.Target)
	if err != nil || len(requests) == 0 {
		t.Fatalf("requests in the source: %d, %v", len(requests), err)
	}
	for _, r := range requests {
		if r.Code == 403 {
			t.Errorf("refused: %+v", r)
		}
		if r.Verb == "patch" && r.Resource+"/"+r.Subresource != "links/status" {
			t.Errorf("patched: %+v", r)
		}
	}
}

func TestMirrorWaitsForAForeignLease(t *testing.T) {
	l := newPair(t, "west", "east")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web"})
	now, holder, seconds := metav1.NowMicro(), "another", int32(2)
	_, err := l.source.CoordinationV1().Leases(Multicluster).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "service-mirror-write-east"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	play(t, "west", MirrorOptions{})
	l.start(t)
	web, lease := l.awaits(t, ns, "web-east"), l.lease(t)
	if waited := lease.Spec.AcquireTime.Sub(now.Time); waited < 2*time.Second || *lease.Spec.LeaseTransitions != 1 {
		t.Errorf("lease was taken after %v in term %d", waited, *lease.Spec.LeaseTransitions)
	}
	if lease.Spec.AcquireTime.Sub(web.CreationTimestamp.Time) > time.Second {
		t.Errorf("mirror of %v is older than the lease of %v", web.CreationTimestamp, lease.Spec.AcquireTime)
	}
}

func TestMirrorOutlivesItsLink(t *testing.T) {
	l := newPair(t, "east", "north")
	ns := namespace(t, l.source)
	l.export(t, Exported{Namespace: ns, Name: "web"})
	play(t, "east", MirrorOptions{})
	l.start(t)
	l.awaits(t, ns, "web-north")
	eventually(t, func() error { return l.statusOf(t.Context(), ns, "web") })
	if err := l.links().Delete(t.Context(), "north", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if holder := holderOf(l.lease(t)); holder != "" {
			return fmt.Errorf("lease is held by %q", holder)
		}
		return nil
	})
	l.awaits(t, ns, "web-north")
	// The pod, which did not end, takes a new Link up.
	l.export(t, Exported{Namespace: ns, Name: "later"})
	l.apply(t, "link.yaml")
	l.awaits(t, ns, "later-north")
}
