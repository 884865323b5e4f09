package survey

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/rollout/trust"
)

// A proxy has the text of its anchors, or takes the bundle of the control plane, but no other ConfigMap's.
func TestProxyOf(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	from := func(name, key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}}
	}
	proxy := func(v corev1.EnvVar) []corev1.Container {
		v.Name = anchorsEnv
		return []corev1.Container{{Name: "app"}, {Name: proxyContainer, Env: []corev1.EnvVar{{Name: "OTHER", Value: "x"}, v}}}
	}
	running := []corev1.ContainerStatus{{Name: proxyContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}}}
	for name, tt := range map[string]struct {
		pod  corev1.Pod
		want trust.Proxy
	}{
		"no variable":       {pod: corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: proxyContainer}}}}},
		"a text":            {pod: corev1.Pod{Spec: corev1.PodSpec{Containers: proxy(corev1.EnvVar{Value: "PEM"})}}, want: trust.Proxy{Anchors: "PEM"}},
		"a native sidecar":  {pod: corev1.Pod{Spec: corev1.PodSpec{InitContainers: proxy(corev1.EnvVar{Value: "PEM"})}}, want: trust.Proxy{Anchors: "PEM"}},
		"another ConfigMap": {pod: corev1.Pod{Spec: corev1.PodSpec{Containers: proxy(corev1.EnvVar{ValueFrom: from("own", "ca-bundle.crt")})}}},
		"another key":       {pod: corev1.Pod{Spec: corev1.PodSpec{Containers: proxy(corev1.EnvVar{ValueFrom: from("linkerd-identity-trust-roots", "own")})}}},
		"the bundle": {
			pod: corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{bundleHash: "0a"}},
				Spec:       corev1.PodSpec{Containers: proxy(corev1.EnvVar{ValueFrom: from("linkerd-identity-trust-roots", "ca-bundle.crt")})},
				Status:     corev1.PodStatus{ContainerStatuses: running},
			},
			want: trust.Proxy{Bundled: true, Hash: "0a", Started: at.Time},
		},
	} {
		if diff := cmp.Diff(tt.want, proxyOf(&tt.pod)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
