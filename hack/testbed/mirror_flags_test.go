package testbed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMirrorFlagsOfPods(t *testing.T) {
	for _, c := range []struct {
		component string
		args      []string
		want      flags
	}{
		{"controller", nil, flags{link: "west", probe: "probe-west"}},
		{"linkerd-service-mirror", nil, flags{link: "west", probe: "probe-gateway-west"}},
		{
			"controller",
			[]string{"service-mirror", "-enable-headless-services", "-enable-namespace-creation=true", "-endpoint-refresh-period=5s", "-probe-service=p", "west"},
			flags{link: "west", probe: "p", headless: true, namespaces: true},
		},
		{"controller", []string{"-enable-headless-services=false"}, flags{link: "west", probe: "probe-west"}},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"component": c.component, clusterLabel: "west"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Args: c.args}}},
		}
		if diff := cmp.Diff(c.want, flagsOf(pod), cmp.AllowUnexported(flags{})); diff != "" {
			t.Errorf("flagsOf(%s %v): -want +got\n%s", c.component, c.args, diff)
		}
	}
}

// TestMirrorFlagsOfSharedPods: a pod of linkwright mirror is for the links that it selects, and has no link of its own.
func TestMirrorFlagsOfSharedPods(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"component": "controller", "linkwright.dev/mirror": "blue"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"mirror", "--selector=linkwright.dev/mirror=blue", "--local=false", "--log-level=info"}}}},
	}
	if got := flagsOf(pod); got.selector != "linkwright.dev/mirror=blue" || got.link != "" || got.name() != "shared" {
		t.Errorf("flagsOf: %+v", got)
	}
}
