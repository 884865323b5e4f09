// Package marks lists the labels and annotations that make other programs act on an object, and that overlays may not set on what
// linkwright renders. Overlays and the admission policies of linkwright's own account use the list.
package marks

import "github.com/linkwright/linkwright/object"

// Mark is a label or annotation that only linkwright may set, and why. A name that ends in a slash or a dot stands for all names that
// begin with it.
type Mark struct{ Name, Why string }

// ByLinkerd is the reason for Linkerd's own marks.
const ByLinkerd = "Linkerd finds its own objects by it"

const (
	byEngine    = "another tool would treat the object as its own"
	byCopies    = "a tool would copy the object, or its secret, to another namespace"
	byCloud     = "the pod would get a cloud's credentials"
	byWebhook   = "a webhook would add a container to the pod, whose account can read other clusters"
	byNetwork   = "the pod would get another network"
	byRuntime   = "it changes how the container runtime runs the pod"
	byWriter    = "only its own controller writes it"
	byKustomize = "kustomize keeps its own records in it"
)

// OfAll are the marks that no object may have.
func OfAll() []Mark {
	return []Mark{
		{object.Prefix, "linkwright recognizes its own objects by it"},
		{"mirror.linkerd.io/", ByLinkerd},
		{"multicluster.linkerd.io/", ByLinkerd},
		{"linkerd.io/", ByLinkerd},
		{"component", ByLinkerd},
		{"velero.io/", "Git is the backup of these objects"},
		{"argocd.argoproj.io/", byEngine},
		{"app.kubernetes.io/instance", byEngine},
		{"app.kubernetes.io/managed-by", byEngine},
		{"applyset.kubernetes.io/", byEngine},
		{"cli-utils.sigs.k8s.io/", byEngine},
		{"config.k8s.io/", byEngine},
		{"fluxcd.io/", byEngine},
		{"helm.sh/", byEngine},
		{"helm.toolkit.fluxcd.io/", byEngine},
		{"kapp.k14s.io/", byEngine},
		{"kustomize.toolkit.fluxcd.io/", byEngine},
		{"meta.helm.sh/", byEngine},
		{"kubectl.kubernetes.io/last-applied-configuration", byEngine},
		{"config.kubernetes.io/", byKustomize},
		{"internal.config.kubernetes.io/", byKustomize},
		{"kustomize.config.k8s.io/", byKustomize},
		{"deployment.kubernetes.io/", byWriter},
		{"kubernetes.io/service-account.", byWriter},
		{"pod-template-hash", byWriter},
		{"rbac.authorization.k8s.io/", byWriter},
		{"rbac.authorization.kubernetes.io/", byWriter},
		{"eks.amazonaws.com/", byCloud},
		{"iam.gke.io/", byCloud},
		{"azure.workload.identity/", byCloud},
		{"iam.amazonaws.com/", byCloud},
		{"pod-identity.alibabacloud.com/", byCloud},
		{"keel.sh/", "a tool would change the image"},
		{"k8s.ovn.org/", byNetwork},
		{"v1.multus-cni.io/", byNetwork},
		{"io.katacontainers.", byRuntime},
		{"io.kubernetes.cri-o.", byRuntime},
		{"run.oci.", byRuntime},
		{"kubed.appscode.com/", byCopies},
		{"reflector.v1.k8s.emberstack.com/", byCopies},
		{"replicator.v1.mittwald.de/", byCopies},
	}
}

// OfPods are those of pods beside: webhooks that put containers into a pod, or give it another network.
func OfPods() []Mark {
	return []Mark{
		{"admission.datadoghq.com/", byWebhook},
		{"appmesh.k8s.aws/", byWebhook},
		{"cni.projectcalico.org/", "the pod would get an address of the committer's choice"},
		{"conjur.org/", byWebhook},
		{"consul.hashicorp.com/", byWebhook},
		{"container.apparmor.security.beta.kubernetes.io/", "linkwright renders the pod's security settings"},
		{"container.seccomp.security.alpha.kubernetes.io/", "linkwright renders the pod's security settings"},
		{"dapr.io/", byWebhook},
		{"inject.istio.io/", byWebhook},
		{"instrumentation.opentelemetry.io/", byWebhook},
		{"istio.io/", byWebhook},
		{"k8s.v1.cni.cncf.io/", byNetwork},
		{"kuma.io/", byWebhook},
		{"oneagent.dynatrace.com/", byWebhook},
		{"proxy.istio.io/", byWebhook},
		{"seccomp.security.alpha.kubernetes.io/", "linkwright renders the pod's security settings"},
		{"sidecar.istio.io/", byWebhook},
		{"sidecar.opentelemetry.io/", byWebhook},
		{"vault.hashicorp.com/", byWebhook},
		{"vault.security.banzaicloud.io/", byWebhook},
	}
}

// PodAnnotations are those that a pod may get, beside ProxySettings. A name that ends in a slash is all that begin so.
// Annotations say to webhooks and runtimes what to put into a pod and how to run it, and no list of them is complete.
func PodAnnotations() []string {
	return []string{"cluster-autoscaler.kubernetes.io/", "kubectl.kubernetes.io/restartedAt", "prometheus.io/"}
}

// Suspects are parts of names of labels by which webhooks choose a program to run: pods get none of them,
// for webhooks that OfPods does not know.
func Suspects() []string { return []string{"image", "inject", "sidecar", "volume"} }

// ProxySettings are Linkerd's annotations that a pod may get: sizes, ports, times and logs of its proxy. The others
// name images, users and sidecars, or say where the proxy sends what it sees (linkerd2 pkg/k8s/labels.go, version 2.20).
func ProxySettings() []string {
	return []string{
		"config.alpha.linkerd.io/proxy-enable-native-sidecar",
		"config.beta.linkerd.io/proxy-enable-native-sidecar",
		"config.linkerd.io/access-log",
		"config.linkerd.io/close-wait-timeout",
		"config.linkerd.io/default-inbound-policy",
		"config.linkerd.io/opaque-ports",
		"config.linkerd.io/pod-inbound-ports",
		"config.linkerd.io/proxy-await",
		"config.linkerd.io/proxy-cpu-limit",
		"config.linkerd.io/proxy-cpu-ratio-limit",
		"config.linkerd.io/proxy-cpu-request",
		"config.linkerd.io/proxy-disable-inbound-protocol-detect-timeout",
		"config.linkerd.io/proxy-disable-outbound-protocol-detect-timeout",
		"config.linkerd.io/proxy-ephemeral-storage-limit",
		"config.linkerd.io/proxy-ephemeral-storage-request",
		"config.linkerd.io/proxy-inbound-connect-timeout",
		"config.linkerd.io/proxy-inbound-discovery-cache-unused-timeout",
		"config.linkerd.io/proxy-log-format",
		"config.linkerd.io/proxy-log-level",
		"config.linkerd.io/proxy-memory-limit",
		"config.linkerd.io/proxy-memory-request",
		"config.linkerd.io/proxy-outbound-connect-timeout",
		"config.linkerd.io/proxy-outbound-discovery-cache-unused-timeout",
		"config.linkerd.io/shutdown-grace-period",
		"config.linkerd.io/skip-inbound-ports",
		"config.linkerd.io/skip-outbound-ports",
	}
}

// Copies are those by which a tool copies an object, or fills it.
func Copies() (out []string) {
	for _, m := range OfAll() {
		if m.Why == byCopies {
			out = append(out, m.Name)
		}
	}
	return out
}

// Clouds are those by which a pod, or its account, gets a cloud's credentials.
func Clouds() (out []string) {
	for _, m := range OfAll() {
		if m.Why == byCloud {
			out = append(out, m.Name)
		}
	}
	return out
}
