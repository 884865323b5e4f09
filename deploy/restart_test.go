package deploy_test

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/hack/testbed"
)

// restarted ends one token and rotates the other: each source's control plane is told of the next one, and of nothing before.
func (b *testEnv) restarted() {
	b.Helper()
	for _, source := range []string{"west", "east"} {
		if got := b.announced(source); got != "" {
			b.Errorf("%s was told of a first link: %s", source, got)
		}
	}
	b.must(b.client("east").CoreV1().Secrets("linkwright-access").Delete(b.Context(), "linkwright.west-1", metav1.DeleteOptions{}))
	b.run(0, "rotate", "east/west")
	b.run(0, "sync")
	for _, source := range []string{"west", "east"} {
		d := b.destination(source)
		if got := b.announced(source); !strings.HasSuffix(got, ".1") || d.Generation != 2 || len(d.OwnerReferences)+len(d.Finalizers) > 0 {
			b.Errorf("%s was told %q, its Deployment has generation %d", source, got, d.Generation)
		}
	}
}

func (b *testEnv) announced(name string) string {
	b.Helper()
	return b.destination(name).Spec.Template.Annotations["linkwright.dev/credentials"]
}

func (b *testEnv) destination(name string) *appsv1.Deployment {
	b.Helper()
	d, err := b.client(name).AppsV1().Deployments(testbed.ControlPlane).Get(b.Context(), "linkerd-destination", metav1.GetOptions{})
	b.must(err)
	return d
}
