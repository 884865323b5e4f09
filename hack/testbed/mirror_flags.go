package testbed

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mirrorPods selects the pods that are played.
const mirrorPods = "component in (controller, linkerd-service-mirror, local-service-mirror)"

// flags are what the arguments of a controller's container ask for.
type flags struct {
	link       string
	probe      string // name of the probe Service
	headless   bool
	namespaces bool          // are created
	repair     time.Duration // zero when they do not say

	local     bool // the half of federated Services whose members are at home
	federated *metav1.LabelSelector
	excluded  struct{ labels, annotations []string }
}

// flagsOf a pod. One without arguments is as if it had the chart's.
func flagsOf(pod *corev1.Pod) flags {
	f := flags{link: pod.Labels[clusterLabel], local: pod.Labels["component"] == "local-service-mirror"}
	f.probe = "probe-" + f.link
	if pod.Labels["component"] == "linkerd-service-mirror" {
		f.probe = "probe-gateway-" + f.link
	}
	f.federated, _ = metav1.ParseToLabelSelector(FederatedLabel + "=member")
	for _, container := range pod.Spec.Containers {
		for _, arg := range container.Args {
			f.read(arg)
		}
	}
	return f
}

func (f *flags) read(arg string) {
	name, value, set := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	on := !set || value == "true"
	switch {
	case name == "probe-service":
		f.probe = value
	case name == "enable-headless-services":
		f.headless = on
	case name == "enable-namespace-creation":
		f.namespaces = on
	case name == "endpoint-refresh-period":
		f.repair, _ = time.ParseDuration(value)
	case name == "federated-service-selector":
		f.federated, _ = metav1.ParseToLabelSelector(value)
	case name == "excluded-labels" && value != "":
		f.excluded.labels = strings.Split(value, ",")
	case name == "excluded-annotations" && value != "":
		f.excluded.annotations = strings.Split(value, ",")
	}
}

func (f flags) lease() string {
	if f.local {
		return "local-service-mirror-write"
	}
	return "service-mirror-write-" + f.link
}

// localLink is the Link, which is none, of the local half.
func (f flags) localLink() link {
	var l link
	l.spec.FederatedServiceSelector = f.federated
	l.spec.ExcludedLabels, l.spec.ExcludedAnnotations = f.excluded.labels, f.excluded.annotations
	return l
}
