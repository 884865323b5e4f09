package testbed

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// misses waits until a Service of the source is gone.
func (l *linked) misses(t *testing.T, ns, name string) {
	t.Helper()
	eventually(t, func() error {
		_, err := l.mirrored(t.Context(), ns, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("%s is there", name), err)
	})
}

// change edits a Service of the target.
func (l *linked) change(t *testing.T, ns, name string, edit func(*corev1.Service)) {
	t.Helper()
	eventually(t, func() error {
		service, err := l.target.CoreV1().Services(ns).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		edit(service)
		_, err = l.target.CoreV1().Services(ns).Update(t.Context(), service, metav1.UpdateOptions{})
		return err
	})
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
	renewed := l.lease(t).Spec.RenewTime
	eventually(t, func() error {
		if lease := l.lease(t); !lease.Spec.RenewTime.After(renewed.Time) || holderOf(lease) == "" {
			return fmt.Errorf("lease is held by %q since %v", holderOf(lease), lease.Spec.RenewTime)
		}
		return nil
	})
	l.awaits(t, ns, "web-north")
	// The pod, which did not end, takes a new Link up.
	l.export(t, Exported{Namespace: ns, Name: "later"})
	l.apply(t, "link.yaml")
	l.awaits(t, ns, "later-north")
}

func TestMirrorLoadsCredentialsOnce(t *testing.T) {
	l := newPair(t, "north", "east")
	ns := namespace(t, l.source)
	good := l.Kubeconfig
	l.Kubeconfig = "none"
	l.export(t, Exported{Namespace: ns, Name: "web"})
	play(t, "north", MirrorOptions{Retry: 100 * time.Millisecond})
	l.start(t)
	eventually(t, func() error {
		requests, err := sharedClusters.Cluster("north").Requests(MirrorAgent + "/east")
		read := slices.DeleteFunc(requests, func(r Request) bool { return r.Resource != "secrets" })
		if err == nil && len(read) < 2 {
			return errors.New("the credentials were not read again")
		}
		return err
	})
	l.setCredentials(t, good)
	l.awaits(t, ns, "web-east") // without a change of the Link

	l.setCredentials(t, "none")
	l.export(t, Exported{Namespace: ns, Name: "second"})
	l.awaits(t, ns, "second-east") // by what was read

	l.ExcludedAnnotations = []string{"linkwright.dev/credential-1"}
	l.apply(t, "link.yaml") // which makes it read them
	requests := l.secretReads(t)
	eventually(t, func() error {
		if l.secretReads(t) == requests {
			return errors.New("the credentials were not read again")
		}
		return nil
	})
	l.setCredentials(t, good)
	l.export(t, Exported{Namespace: ns, Name: "third"})
	l.awaits(t, ns, "third-east")
}

func (l *linked) secretReads(t *testing.T) int {
	t.Helper()
	requests, err := sharedClusters.Cluster(l.Source).Requests(MirrorAgent + "/" + l.Target)
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(requests, func(r Request) bool { return r.Resource != "secrets" }))
}

func (l *linked) setCredentials(t *testing.T, kubeconfig string) {
	t.Helper()
	l.Kubeconfig = kubeconfig
	secrets := l.source.CoreV1().Secrets(Multicluster)
	secret, err := secrets.Get(t.Context(), "cluster-credentials-"+l.Target, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["kubeconfig"] = []byte(kubeconfig)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
