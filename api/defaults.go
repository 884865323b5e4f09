package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// All defaults of declarations stand in this file, and nowhere else.
//
//	Cluster    access.kubeconfigSecret.key     kubeconfig
//	           linkerd.namespace               linkerd
//	           linkerd.multiclusterNamespace   linkerd-multicluster
//	           gateway.enabled                 true
//	           gateway.name                    linkerd-gateway
//	           state                           Active
//	           apiServer, gateway.addresses, .port, .identity, .probe: read live, so they stay empty
//	LinkSpec   selector                        mirror.linkerd.io/exported=true with a gateway, else none: SelectorFor
//	           controller.mode                 PerLink
//	           controller.replicas             1
//	           controller.logLevel             info
//	           trustAnchors                    Warn
//	           credentials.mode                LegacyToken
//	           credentials.ttl                 720h with mode Bound: TokenTTL
//	           credentials.secretRef.name      cluster-credentials-<target> with mode Existing: SecretFor
//	           controller.image: follows the source's Linkerd, so it stays empty
//	Mesh       topology                        Full
//	SyncPolicy interval                        1m, unless there is a schedule
//	           prune.policy                    Sync
//	           prune.maxClusters               1
//	           prune.maxLinks                  30%
//	           prune.minAllowed                2
//	           prune.maxMirrors                50%
//	           prune.drainDeadline             5m
//	ProxyConfig rollout.maxUnavailableWorkloads 5
//	           rollout.perNamespace            1
//	           rollout.pauseOnFailure          true
//	           rollout.detection               DryRun
const (
	// DefaultKubeconfigKey is the key of an access Secret.
	DefaultKubeconfigKey = "kubeconfig"
	// DefaultNamespace holds Linkerd's control plane.
	DefaultNamespace = "linkerd"
	// DefaultMulticlusterNamespace holds gateway, links and controllers.
	DefaultMulticlusterNamespace = "linkerd-multicluster"
	// DefaultGateway is the gateway's Service.
	DefaultGateway = "linkerd-gateway"
	// DefaultReplicas of a link's controller.
	DefaultReplicas = 1
	// DefaultLogLevel of a link's controller.
	DefaultLogLevel = "info"
	// ExportedLabel with the value "true" marks services that are mirrored through the gateway.
	ExportedLabel = "mirror.linkerd.io/exported"

	// DefaultInterval is how often Git is polled without a SyncPolicy.
	DefaultInterval = time.Minute
	defaultInterval = "1m" // the same as people write it
	// DefaultTTL is how long a token of mode Bound lives.
	DefaultTTL = 720 * time.Hour
	// DefaultMaxClusters, DefaultMaxLinks and DefaultMaxMirrors limit what one commit may remove.
	DefaultMaxClusters = 1
	DefaultMaxLinks    = Percentage("30%")
	DefaultMaxMirrors  = Percentage("50%")
	// DefaultMinAllowed links of a cluster may always be removed.
	DefaultMinAllowed = 2
	// DefaultDrainDeadline is how long Linkerd's controller may take to remove its mirrors.
	DefaultDrainDeadline = 5 * time.Minute
	defaultDrainDeadline = "5m" // the same as people write it
)

// WithDefaults returns the cluster with every default written out; the receiver stays as it is.
func (c Cluster) WithDefaults() Cluster {
	if s := c.Access.KubeconfigSecret; s != nil && s.Key == "" {
		c.Access.KubeconfigSecret = &SecretKey{Name: s.Name, Key: DefaultKubeconfigKey}
	}
	setDefault(&c.Linkerd.Namespace, DefaultNamespace)
	setDefault(&c.Linkerd.MulticlusterNamespace, DefaultMulticlusterNamespace)
	setDefault(&c.Gateway.Name, DefaultGateway)
	setDefaultPtr(&c.Gateway.Enabled, true)
	setDefault(&c.State, Active)
	return c
}

// WithDefaults returns the spec with every default written out but the selector, which depends on the target: see SelectorFor.
func (s LinkSpec) WithDefaults() LinkSpec {
	setDefault(&s.Controller.Mode, PerLink)
	setDefault(&s.Controller.LogLevel, DefaultLogLevel)
	setDefaultPtr(&s.Controller.Replicas, DefaultReplicas)
	setDefault(&s.Credentials.Mode, LegacyToken)
	setDefault(&s.Credentials.Preflight, Warn)
	setDefault(&s.TrustAnchors, Warn)
	return s
}

// SelectorFor is the selector of a link whose target has gateway g. A declared one wins, also an empty one, which
// matches nothing; the default is exported=true with a gateway and nil, nothing, without.
func (s LinkSpec) SelectorFor(g Gateway) *metav1.LabelSelector {
	switch {
	case s.Selector != nil:
		return s.Selector
	case g.On():
		return &metav1.LabelSelector{MatchLabels: map[string]string{ExportedLabel: "true"}}
	}
	return nil
}

// TokenTTL is how long a token of mode Bound is to live. What does not parse was found by Check.
func (s LinkSpec) TokenTTL() time.Duration {
	if ttl, err := time.ParseDuration(s.Credentials.TTL); err == nil {
		return ttl
	}
	return DefaultTTL
}

// SecretFor is the name of the Secret with the credential for target; only mode Existing has a choice.
func (s LinkSpec) SecretFor(target ClusterName) string {
	if ref := s.Credentials.SecretRef; ref != nil && s.Credentials.Mode == Existing {
		return ref.Name
	}
	return "cluster-credentials-" + string(target)
}

// WithDefaults returns the mesh with every default written out, its template included.
func (m Mesh) WithDefaults() Mesh {
	setDefault(&m.Topology, Full)
	m.Template = m.Template.WithDefaults()
	return m
}

// WithDefaults returns the policy with every default written out; the interval only where there is no schedule.
func (p SyncPolicy) WithDefaults() SyncPolicy {
	if p.Schedule == "" {
		setDefault(&p.Interval, defaultInterval)
	}
	setDefault(&p.Prune.Policy, PruneSync)
	setDefaultPtr(&p.Prune.MaxClusters, DefaultMaxClusters)
	setDefault(&p.Prune.MaxLinks, DefaultMaxLinks)
	setDefaultPtr(&p.Prune.MinAllowed, DefaultMinAllowed)
	setDefault(&p.Prune.MaxMirrors, DefaultMaxMirrors)
	setDefault(&p.Prune.DrainDeadline, defaultDrainDeadline)
	return p
}

func setDefault[S ~string](field *S, value S) {
	if *field == "" {
		*field = value
	}
}

func setDefaultPtr[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
