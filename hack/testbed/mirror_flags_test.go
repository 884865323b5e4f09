package testbed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMirrorFlagsOfPods(t *testing.T) {
	type asked struct {
		Lease, Probe         string
		Headless, Namespaces bool
		Repair               time.Duration
	}
	for _, c := range []struct {
		component string
		args      []string
		want      asked
	}{
		{"controller", nil, asked{Lease: "service-mirror-write-west", Probe: "probe-west"}},
		{"linkerd-service-mirror", nil, asked{Lease: "service-mirror-write-west", Probe: "probe-gateway-west"}},
		{"local-service-mirror", []string{"-local-mirror"}, asked{Lease: "local-service-mirror-write", Probe: "probe-west"}},
		{
			"controller",
			[]string{"service-mirror", "-enable-headless-services", "-enable-namespace-creation=true", "-endpoint-refresh-period=5s", "-probe-service=p", "west"},
			asked{Lease: "service-mirror-write-west", Probe: "p", Headless: true, Namespaces: true, Repair: 5 * time.Second},
		},
		{"controller", []string{"-enable-headless-services=false"}, asked{Lease: "service-mirror-write-west", Probe: "probe-west"}},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"component": c.component, clusterLabel: "west"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Args: c.args}}},
		}
		f := flagsOf(pod)
		got := asked{f.lease(), f.probe, f.headless, f.namespaces, f.repair}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("flagsOf(%s %v): -want +got\n%s", c.component, c.args, diff)
		}
	}
}

// Until 2.17 the Endpoints of a mirror did not get its Service's labels.
func TestMirrorLabelsOfEndpoints(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"tier": "front"}}}
	want := map[string]string{mirroredLabel: "true", clusterLabel: "west"}
	for _, labelled := range []bool{false, true} {
		if labelled {
			want["tier"] = "front"
		}
		l := link{name: "west", labelled: labelled}
		got := l.mirrorEndpoints(l.mirrorService(service), nil).Labels
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("mirrorEndpoints(labelled %v): -want +got\n%s", labelled, diff)
		}
	}
}
