package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// enum is a text of which only some words are allowed. Check and schema both ask for them here, so that they agree.
type enum interface {
	~string
	// Words are all allowed values, the default one first, where there is one. They do not depend on the receiver.
	Words() []string
}

// Words are the states of a cluster.
func (ClusterState) Words() []string { return words(Active, Leaving) }

// Words are the modes of credentials.
func (CredentialMode) Words() []string { return words(LegacyToken, Bound, Existing) }

// Words are how strict a check can be.
func (Strictness) Words() []string { return words(Warn, Require, Skip) }

// Words are the modes of a controller.
func (ControllerMode) Words() []string { return words(PerLink, Shared, External) }

// Words are the log levels of Linkerd's service mirror, from few messages to many.
func (LogLevel) Words() []string {
	return words[LogLevel]("panic", "fatal", "error", "warn", "info", "debug", "trace")
}

// Words are the topologies of a mesh.
func (Topology) Words() []string { return words(Full, HubAndSpoke) }

// Words are the policies of a prune.
func (PrunePolicy) Words() []string { return words(PruneSync, UpsertOnly, CreateOnly) }

// Words are the kinds with fields that can be ignored.
func (IgnoredKind) Words() []string {
	return words(IgnoreDeployment, IgnorePodDisruptionBudget, IgnoreService)
}

// Words are the kinds that can be replaced.
func (ReplacedKind) Words() []string {
	return words(ReplaceDeployment, ReplaceService, ReplaceConfigMap, ReplaceResourceQuota)
}

// Words are the pull policies of images; an empty one is the control plane's.
func (PullPolicy) Words() []string { return words[PullPolicy]("Always", "IfNotPresent", "Never") }

// Words are the formats of logs.
func (ProxyLogFormat) Words() []string { return words[ProxyLogFormat]("plain", "json") }

// Words are whether headers are logged.
func (LogHTTPHeaders) Words() []string { return words[LogHTTPHeaders]("off", "insecure") }

// Words are the formats of access logs.
func (AccessLog) Words() []string { return words[AccessLog]("apache", "json") }

// Words are the default policies of inbound ports.
func (InboundPolicy) Words() []string {
	return words[InboundPolicy]("all-unauthenticated", "all-authenticated", "cluster-authenticated", "cluster-unauthenticated", "deny", "audit")
}

// Words are the variants of iptables.
func (IptablesMode) Words() []string { return words[IptablesMode]("legacy", "nft") }

// operator is Kubernetes' type for the operator of a matchExpression, which does not list its words.
type operator metav1.LabelSelectorOperator

// Words are the operators of matchExpressions.
func (operator) Words() []string {
	return words(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
}

func words[S ~string](of ...S) []string {
	out := make([]string, len(of))
	for i, w := range of {
		out[i] = string(w)
	}
	return out
}
