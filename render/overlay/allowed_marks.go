package overlay

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/object"
)

// rule is what stands against a label or annotation; empty: nothing.
type rule string

// mark is a row of the labels and annotations that no overlay may set. A name that ends in a slash is all that begin so.
type mark struct{ name, why string }

const (
	byLinkerd       = "Linkerd finds its parts by it"
	byEngine        = "another tool would take the object for its own"
	byCopies        = "a tool would copy the object, or its secret, to another namespace"
	byCloud         = "the pod would get a cloud's credentials"
	byWebhook       = "a webhook would put a program into the pod, which runs with the account that reads other clusters"
	byNetwork       = "the pod would get another network"
	byRuntime       = "it tells the container runtime how to run the pod"
	byWriter        = "its own controller writes it"
	noName          = "it is no name: a name has at most 63 letters, digits, dashes, dots and underscores, and before it perhaps a domain and a slash"
	noPodAnnotation = "a pod gets no annotations but the few that docs/overlays.md lists: others can tell a webhook, or what runs the pod, to change it"
	byKustomize     = "kustomize keeps its own books in it"
)

// marks are the same for every object.
func marks() []mark {
	return []mark{
		{object.Prefix, "linkwright tells its own objects by it"},
		{"mirror.linkerd.io/", byLinkerd},
		{"multicluster.linkerd.io/", byLinkerd},
		{"linkerd.io/", byLinkerd},
		{"component", byLinkerd},
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

// podMarks are those of pods beside: webhooks that put containers into a pod, or give it another network.
func podMarks() []mark {
	return []mark{
		{"admission.datadoghq.com/", byWebhook},
		{"appmesh.k8s.aws/", byWebhook},
		{"cni.projectcalico.org/", "the pod would get an address of the committer's choice"},
		{"conjur.org/", byWebhook},
		{"consul.hashicorp.com/", byWebhook},
		{"container.apparmor.security.beta.kubernetes.io/", "the pod's confinement is rendered"},
		{"container.seccomp.security.alpha.kubernetes.io/", "the pod's confinement is rendered"},
		{"dapr.io/", byWebhook},
		{"inject.istio.io/", byWebhook},
		{"instrumentation.opentelemetry.io/", byWebhook},
		{"istio.io/", byWebhook},
		{"k8s.v1.cni.cncf.io/", byNetwork},
		{"kuma.io/", byWebhook},
		{"oneagent.dynatrace.com/", byWebhook},
		{"proxy.istio.io/", byWebhook},
		{"seccomp.security.alpha.kubernetes.io/", "the pod's confinement is rendered"},
		{"sidecar.istio.io/", byWebhook},
		{"sidecar.opentelemetry.io/", byWebhook},
		{"vault.hashicorp.com/", byWebhook},
		{"vault.security.banzaicloud.io/", byWebhook},
	}
}

// podAnnotations are those that a pod may get, beside proxySettings. A name that ends in a slash is all that begin so.
// Webhooks and runtimes are told by annotations what to put into a pod and how to run it, and nobody knows all of them.
func podAnnotations() []string {
	return []string{"cluster-autoscaler.kubernetes.io/", "kubectl.kubernetes.io/restartedAt", "prometheus.io/"}
}

// suspects are parts of a label's name that webhooks use where they are told which program to run: pods get none of them,
// for webhooks that podMarks does not know.
func suspects() []string { return []string{"image", "inject", "sidecar", "volume"} }

// proxySettings are Linkerd's annotations that a pod may get: sizes, ports, times and logs of its proxy. The others
// name images, users and sidecars, or say where the proxy sends what it sees (linkerd2 pkg/k8s/labels.go, version 2.20).
func proxySettings() []string {
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

func among(rows []mark, key string) rule {
	for _, m := range rows {
		if key == m.name || (!isWhole(m.name) && strings.HasPrefix(key, m.name)) {
			return rule(m.why)
		}
	}
	return ""
}

// isWhole says that a mark's name is one name, no beginning of names.
func isWhole(name string) bool {
	return !strings.HasSuffix(name, "/") && !strings.HasSuffix(name, ".")
}

func annotationRule(key string) rule {
	if why := among(marks(), key); why != "" {
		return why
	}
	if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
		return noName
	}
	return ""
}

func labelRule(key string) rule {
	if why := among(marks(), key); why != "" {
		return why
	}
	if len(validation.IsQualifiedName(key)) > 0 {
		return noName
	}
	return ""
}

func podLabelRule(key string) rule {
	if why := labelRule(key); why != "" {
		return why
	}
	if ofLinkerd(key) {
		return byLinkerd
	}
	if why := among(podMarks(), key); why != "" {
		return why
	}
	for _, word := range suspects() {
		if strings.Contains(strings.ToLower(key), word) {
			return rule("a name with the word " + word + " can tell a webhook which program to put into the pod")
		}
	}
	return ""
}

func podAnnotationRule(key string) rule {
	why := annotationRule(key)
	switch {
	case why != "":
		return why
	case ofLinkerd(key):
		return proxyRule(key)
	}
	for _, name := range podAnnotations() {
		if key == name || !isWhole(name) && strings.HasPrefix(key, name) {
			return ""
		}
	}
	return cmp.Or(among(podMarks(), key), noPodAnnotation)
}

// ofLinkerd says that a key's prefix is linkerd.io or below it.
func ofLinkerd(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == "linkerd.io" || strings.HasSuffix(prefix, ".linkerd.io")
}

func proxyRule(key string) rule {
	if slices.Contains(proxySettings(), key) {
		return ""
	}
	return "of Linkerd's annotations only sizes, ports, times and logs of the proxy may be set"
}

func noAnnotation(string) rule {
	return "tools that copy Secrets to other namespaces are told so by annotations: give your patch a target without Secrets, or use a label"
}
