package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// meshed is a pod as Linkerd's injector makes it, and as an API server fills it in.
func meshed(change func(proxy *corev1.Container, pod *corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "linkerd-init", Image: "init:1", Args: []string{"--a"}}},
		Containers: []corev1.Container{{Name: "app", Image: "app:1"}, {
			Name: "linkerd-proxy", Image: "proxy:1",
			Env:          []corev1.EnvVar{{Name: "LINKERD2_PROXY_LOG", Value: "warn"}, {Name: "LINKERD2_PROXY_IDENTITY_TRUST_ANCHORS", Value: "pem\n"}},
			VolumeMounts: []corev1.VolumeMount{{Name: "linkerd-identity", MountPath: "/id"}, {Name: "kube-api-access-abcde", MountPath: "/token"}},
		}},
		Volumes: []corev1.Volume{{Name: "linkerd-identity"}, {Name: "kube-api-access-abcde"}, {Name: "data"}},
	}}
	if change != nil {
		change(&pod.Spec.Containers[1], pod)
	}
	return pod
}

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		running, next *corev1.Pod
		want          []string
	}{
		"nothing":                    {next: meshed(nil)},
		"a value":                    {next: meshed(func(p *corev1.Container, _ *corev1.Pod) { p.Env[0].Value = "secret" }), want: []string{"LINKERD2_PROXY_LOG"}},
		"a variable more":            {next: meshed(func(p *corev1.Container, _ *corev1.Pod) { p.Env = append(p.Env, corev1.EnvVar{Name: "B"}) }), want: []string{"B"}},
		"another order of variables": {next: meshed(func(p *corev1.Container, _ *corev1.Pod) { p.Env[0], p.Env[1] = p.Env[1], p.Env[0] })},
		"an image":                   {next: meshed(func(p *corev1.Container, _ *corev1.Pod) { p.Image = "proxy:2" }), want: []string{"image proxy:1, now proxy:2"}},
		"trust anchors":              {next: meshed(func(p *corev1.Container, _ *corev1.Pod) { p.Env[1].Value = "pem\npem2" }), want: []string{"trust anchors"}},
		"space of them":              {next: meshed(func(p *corev1.Container, _ *corev1.Pod) { p.Env[1].Value = "\npem" })},
		"another token volume": {next: meshed(func(p *corev1.Container, pod *corev1.Pod) {
			p.VolumeMounts[1].Name, pod.Spec.Volumes[1].Name = "kube-api-access-fghij", "kube-api-access-fghij"
		})},
		"resources": {next: meshed(func(p *corev1.Container, _ *corev1.Pod) {
			p.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1")}
		}), want: []string{"resources of linkerd-proxy"}},
		"a volume of the injector": {next: meshed(func(_ *corev1.Container, pod *corev1.Pod) {
			pod.Spec.Volumes[0].EmptyDir = &corev1.EmptyDirVolumeSource{}
		}), want: []string{"volume linkerd-identity"}},
		"the application alone": {next: meshed(func(_ *corev1.Container, pod *corev1.Pod) {
			pod.Spec.Containers[0].Image, pod.Spec.Volumes[2].EmptyDir = "app:2", &corev1.EmptyDirVolumeSource{}
		})},
		"the init container": {next: meshed(func(_ *corev1.Container, pod *corev1.Pod) { pod.Spec.InitContainers[0].Args = nil }), want: []string{"args of linkerd-init"}},
		"no init container":  {next: meshed(func(_ *corev1.Container, pod *corev1.Pod) { pod.Spec.InitContainers = nil }), want: []string{"container linkerd-init (removed)"}},
		"a network validator": {next: meshed(func(_ *corev1.Container, pod *corev1.Pod) {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "linkerd-network-validator"})
		}), want: []string{"container linkerd-network-validator (new)"}},
		"a native sidecar": {next: meshed(func(p *corev1.Container, pod *corev1.Pod) {
			pod.Spec.InitContainers, pod.Spec.Containers = append(pod.Spec.InitContainers, *p), pod.Spec.Containers[:1]
		}), want: []string{"native sidecar"}},
	} {
		if c.running == nil {
			c.running = meshed(nil)
		}
		if diff := cmp.Diff(c.want, Differences(c.running, c.next), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestOptsIn(t *testing.T) {
	for _, c := range []struct {
		annotation, label, namespace string
		want                         bool
	}{
		{want: false},
		{annotation: Auto, want: true},
		{label: Auto, want: true},
		{namespace: Auto, want: true},
		{annotation: Disabled, namespace: Auto, want: false},
		{annotation: Disabled, label: Auto, want: false},
		{annotation: Auto, label: Disabled, want: false},
		{label: "x", namespace: Auto, want: false},
		{annotation: Auto, namespace: Disabled, want: false},
	} {
		set := func(value string) map[string]string {
			if value == "" {
				return nil
			}
			return map[string]string{Reconcile: value}
		}
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: set(c.annotation), Labels: set(c.label)}}
		if got := OptInOf(&template).With(c.namespace); got != c.want {
			t.Errorf("OptInOf(%+v) = %t", c, got)
		}
	}
}
