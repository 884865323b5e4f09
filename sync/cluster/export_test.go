package cluster

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/hack/testbed"
)

// ControlPlanes returns the real cluster to tests from outside, with a namespace of the test's own that is furnished.
func Bed(t *testing.T) (*testbed.Cluster, string) {
	t.Helper()
	needAPIServer(t)
	as := kubernetes.NewForConfigOrDie(live.As("foreign"))
	ns := namespace(t, as)
	for {
		_, err := as.CoreV1().ConfigMaps(ns).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err == nil {
			return live, ns
		}
		if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// Widgets has the server serve widgets of a group, or no longer.
func Widgets(t *testing.T, group string, served bool) {
	t.Helper()
	serve, drop := crd(t, group)
	if served {
		serve()
	} else {
		drop()
	}
}
