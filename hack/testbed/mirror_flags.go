package testbed

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// flags are what the arguments of a controller's container ask for.
type flags struct {
	link       string // empty: those of selector
	selector   string // of linkwright mirror
	probe      string // name of the probe Service
	headless   bool
	namespaces bool // are created
}

// flagsOf a pod. One without arguments is as if it had the chart's.
func flagsOf(pod *corev1.Pod) flags {
	f := flags{link: pod.Labels[clusterLabel]}
	f.probe = "probe-" + f.link
	if pod.Labels["component"] == "linkerd-service-mirror" {
		f.probe = "probe-gateway-" + f.link
	}
	for _, container := range pod.Spec.Containers {
		for _, arg := range container.Args {
			f.read(arg)
		}
	}
	return f
}

// name is that of the link, or of all.
func (f flags) name() string { return cmp.Or(f.link, "shared") }

func (f *flags) read(arg string) {
	name, value, set := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	on := !set || value == "true"
	switch name {
	case "selector":
		f.selector = value
	case "probe-service":
		f.probe = value
	case "enable-headless-services":
		f.headless = on
	case "enable-namespace-creation":
		f.namespaces = on
	}
}
