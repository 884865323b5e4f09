package sync_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// lookalikes are 60 Services of a team that carry Linkerd's two labels for mirrors of east, and have names and a selector of their own.
func (b *clusterEnv) lookalikes(t *testing.T) {
	t.Helper()
	services := b.client("west").CoreV1().Services("default")
	for i := range 60 {
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("team%d-east", i),
				Labels: map[string]string{"mirror.linkerd.io/mirrored-service": "true", "mirror.linkerd.io/cluster-name": "east", "lookalike": "yes"},
			},
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "team"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
		}
		if _, err := services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// unharmed: linkwright deleted none of them by an unlink; then they go, so that nothing else is disturbed.
func (b *clusterEnv) unharmed(t *testing.T) {
	t.Helper()
	services := b.client("west").CoreV1().Services("default")
	list, err := services.List(t.Context(), metav1.ListOptions{LabelSelector: "lookalike=yes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range deletes(b.writes("west")) { // a controller of Linkerd's that starts anew takes them for mirrors, too
		if strings.HasPrefix(gone, "services default/team") {
			t.Errorf("linkwright deleted %s, which is a foreign Service with the labels of a mirror", gone)
		}
	}
	for _, s := range list.Items {
		if err := services.Delete(t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
