package api

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// LinkDoc declares one direction between two clusters: services of the target appear in the source. There is at most one
// link for each ordered pair; it wins over a mesh that gives the same pair.
type LinkDoc struct {
	TypeMeta `json:",inline"`
	Metadata Meta `json:"metadata"`
	Spec     Link `json:"spec"`
}

// Link is one direction: services of its target are mirrored into its source.
type Link struct {
	// Source is the Cluster in which mirrors appear.
	Source ClusterName `json:"source"`
	// Target is the Cluster whose services are mirrored.
	Target   ClusterName `json:"target"`
	LinkSpec `json:",inline"`
}

// LinkSpec is what a Link and a Mesh's template share.
type LinkSpec struct {
	// Selector chooses services that are mirrored through the gateway; left out, it is mirror.linkerd.io/exported=true, and
	// none if the target has no gateway. {} matches nothing, as everywhere in Linkerd.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// RemoteDiscoverySelector chooses services whose endpoints are read from the target; left out, none.
	RemoteDiscoverySelector *metav1.LabelSelector `json:"remoteDiscoverySelector,omitempty"`
	// FederatedServiceSelector chooses services that join <name>-federated; left out, none.
	FederatedServiceSelector *metav1.LabelSelector `json:"federatedServiceSelector,omitempty"`
	// ExcludedLabels are not copied to mirrors: keys, or <prefix>/*.
	ExcludedLabels []string `json:"excludedLabels,omitempty"`
	// ExcludedAnnotations are not copied to mirrors: keys, or <prefix>/*.
	ExcludedAnnotations []string   `json:"excludedAnnotations,omitempty"`
	Controller          Controller `json:"controller,omitzero"`
	// Credentials are what the source uses against the target.
	Credentials Credentials `json:"credentials,omitzero"`
	// TrustAnchors sets what happens if proxies of source and target have no valid trust anchor in common, without which
	// they do not talk to each other. If an end shows no anchors, linkwright does not check this.
	TrustAnchors Strictness `json:"trustAnchors,omitempty"`
	// Suspend keeps both ends of the link as they are: linkwright only records whether it
	// works. Reports show it, and it is no failure. linkwright removes a link that is no longer declared, suspended or not.
	Suspend bool `json:"suspend,omitempty"`
}

// Strictness sets what happens if a check fails.
type Strictness string

const (
	// Warn goes on, and the report shows what is wrong. It is the default.
	Warn Strictness = "Warn"
	// Require blocks the link's end in the source until the check passes: what is there stays as it is.
	Require Strictness = "Require"
	// Skip does not check.
	Skip Strictness = "Skip"
)

// CredentialMode sets where a link's credential comes from.
type CredentialMode string

const (
	// LegacyToken lets the target's token controller issue a token that does not expire. It is the default.
	LegacyToken CredentialMode = "LegacyToken"
	// Bound lets linkwright ask for tokens that expire, and renew them in time. Deleting the Secret that a token is bound to
	// revokes it.
	Bound CredentialMode = "Bound"
	// Existing leaves it to a secret manager: the Secret is checked, never written, and no account is made in the target. If
	// the link uses remote discovery or federation, the control plane's namespace needs one, too, always called
	// cluster-credentials-<target>.
	Existing CredentialMode = "Existing"
)

// Credentials are what a source uses against its target.
type Credentials struct {
	// Mode sets where the credential comes from.
	Mode CredentialMode `json:"mode,omitempty"`
	// TTL is how long a token of mode Bound lives: a Go duration from 1h to 8760h, left out 720h; at least 168h for a link
	// with remote discovery or federated services. It is renewed after two thirds of that.
	TTL string `json:"ttl,omitempty"`
	// SecretRef names the Secret of mode Existing in the source's multicluster namespace, of type
	// mirror.linkerd.io/remote-kubeconfig with the key kubeconfig; left out, it is cluster-credentials-<target>. Only a
	// Link can have one: the links of a Mesh cannot share a Secret.
	SecretRef *SecretRef `json:"secretRef,omitempty"`
	// Preflight sets what happens if linkwright cannot verify the credential with the requests that Linkerd's readers send
	// to the target. With Warn, only a definite no – 401, 403, a certificate that does not match – keeps a new credential
	// from the source's control plane, which would not recover from it. With Require, any failure keeps it from the source.
	// A credential that is in use stays.
	Preflight Strictness `json:"preflight,omitempty"`
}

// SecretRef names a Secret in the source's multicluster namespace.
type SecretRef struct {
	// Name of the Secret.
	Name string `json:"name"`
}

// ControllerMode is what runs a link's service mirror controller.
type ControllerMode string

const (
	// PerLink lets linkwright render the controller. It is the default.
	PerLink ControllerMode = "PerLink"
	// Shared lets linkwright render one controller for all links of the source that are Shared: linkwright's own service mirror. Its
	// settings must be the same for all of them, except headless.
	Shared ControllerMode = "Shared"
	// External leaves it to the user's Helm chart.
	External ControllerMode = "External"
)

// LogLevel is how much a controller logs.
type LogLevel string

// Controller is the service mirror controller of a link. Links of mode Shared have one together.
type Controller struct {
	// Mode is what runs the controller.
	Mode ControllerMode `json:"mode,omitempty"`
	// Replicas of the controller: one works, and the others are on standby.
	Replicas *int32 `json:"replicas,omitempty"`
	// LogLevel is how much the controller logs.
	LogLevel LogLevel `json:"logLevel,omitempty"`
	// Image of the controller; left out, it is cr.l5d.io/linkerd/controller:<Linkerd's version in the source>. Another one
	// needs linkwright's --allow-controller-image, which allows none by default: until then, the link is Blocked with
	// ImageNotAllowed. Mode Shared needs one: that of linkwright itself.
	Image string `json:"image,omitempty"`
	// Headless mirrors headless services as such.
	Headless bool `json:"headless,omitempty"`
	// Resources that the controller's container requests, and its limits.
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// PodAntiAffinity spreads replicas over nodes and zones and adds a PodDisruptionBudget.
	PodAntiAffinity bool `json:"podAntiAffinity,omitempty"`
}

// UsesRemoteDiscovery reports whether the source's control plane needs the credential too.
func (s LinkSpec) UsesRemoteDiscovery() bool {
	return selects(s.RemoteDiscoverySelector) || selects(s.FederatedServiceSelector)
}

// Federates reports whether services join <service>-federated in the source.
func (s LinkSpec) Federates() bool { return selects(s.FederatedServiceSelector) }

// Mirrors reports whether services of a target with gateway g get mirrors of their own in the source, called <service>-<target>.
func (s LinkSpec) Mirrors(g Gateway) bool {
	return selects(s.RemoteDiscoverySelector) || g.On() && selects(s.SelectorFor(g))
}

// selects: nil and empty match nothing (Linkerd, pkg service-mirror cluster_watcher.go).
func selects(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// Check returns what is wrong with the values of the declaration. Whether its clusters exist is a question to the fleet.
func (d LinkDoc) Check() []Finding {
	return slices.Concat(
		prefixed("metadata", d.Metadata.check()),
		prefixed("spec", d.Spec.check()),
	)
}

func (l Link) check() []Finding {
	found := l.LinkSpec.check()
	if l.Source == l.Target && l.Source != "" {
		found = append(found, prefixed("target", finding("cluster %q is linked to itself", l.Source))...)
	}
	return found
}

func (s LinkSpec) check() []Finding {
	return slices.Concat(
		prefixed("selector", checkSelector(s.Selector)),
		prefixed("remoteDiscoverySelector", checkSelector(s.RemoteDiscoverySelector)),
		prefixed("federatedServiceSelector", checkSelector(s.FederatedServiceSelector)),
		prefixed("excludedLabels", checkExcluded(s.ExcludedLabels)),
		prefixed("excludedAnnotations", checkExcluded(s.ExcludedAnnotations)),
		prefixed("controller", s.Controller.check()),
		prefixed("trustAnchors", checkWord(s.TrustAnchors)),
		prefixed("credentials", s.Credentials.check()),
		prefixed("credentials", s.checkSecretRef()),
		prefixed("credentials", s.checkTTL()),
	)
}

func (c Credentials) check() []Finding {
	found := slices.Concat(prefixed("mode", checkWord(c.Mode)), prefixed("preflight", checkWord(c.Preflight)))
	if c.SecretRef == nil {
		return found
	}
	if c.Mode != Existing {
		found = append(found, prefixed("secretRef", findingWithHint("add mode: Existing, or remove secretRef", "only mode Existing uses secretRef"))...)
	}
	return append(found, prefixed("secretRef", prefixed("name", checkSyntax(c.SecretRef.Name, checkDNSName)))...)
}

// Bounds of credentials.ttl. The minimum leaves time for renewals, which happen during syncs; the maximum keeps a token
// that nobody revokes from living for ever. What the source's control plane uses lives longer: it reads its credential
// when it starts, and people need time to restart it.
const (
	minTTL, maxTTL  = time.Hour, 8760 * time.Hour
	minDiscoveryTTL = 7 * 24 * time.Hour
)

func (s LinkSpec) checkTTL() []Finding {
	c := s.Credentials
	if c.TTL == "" {
		return nil
	}
	if c.Mode != Bound {
		return prefixed("ttl", findingWithHint("add mode: Bound, or remove ttl", "only tokens of mode Bound expire"))
	}
	if found := checkDuration(c.TTL, minTTL); len(found) > 0 {
		return prefixed("ttl", found)
	}
	switch ttl := s.TokenTTL(); {
	case ttl > maxTTL:
		return prefixed("ttl", finding("%s is more than %s", c.TTL, maxTTL))
	case s.UsesRemoteDiscovery() && ttl < minDiscoveryTTL:
		return prefixed("ttl", findingWithHint("declare at least 168h",
			"%s is too short for remote discovery and federated services, because Linkerd's control plane reads its credential only when it starts", c.TTL))
	}
	return nil
}

// checkSecretRef: the Role of Linkerd's own chart lets its controller read one name only
// (multicluster/charts/linkerd-multicluster/templates/controller, since 2.18).
func (s LinkSpec) checkSecretRef() []Finding {
	if s.Credentials.SecretRef == nil || s.Controller.Mode != External {
		return nil
	}
	return prefixed("secretRef", findingWithHint("remove secretRef, and name the Secret cluster-credentials-<target>",
		"a controller of mode External can read only the Secret cluster-credentials-<target>"))
}

// checkExcluded: Linkerd takes a key, or <prefix>/* (controller/gen/apis/link/v1alpha3).
func checkExcluded(keys []string) []Finding {
	var found []Finding
	for i, key := range keys {
		prefix, all := strings.CutSuffix(key, "/*")
		if all && len(checkDNSName(prefix)) == 0 || !all && len(validation.IsQualifiedName(key)) == 0 {
			continue
		}
		found = append(found, prefixed(strconv.Itoa(i), findingWithHint("write a key such as example.com/team, or example.com/*",
			"%q is neither a key nor <prefix>/*", key))...)
	}
	return found
}

func (c Controller) check() []Finding {
	found := slices.Concat(
		prefixed("mode", checkWord(c.Mode)),
		prefixed("logLevel", checkWord(c.LogLevel)),
	)
	if c.Replicas != nil && *c.Replicas < 1 {
		found = append(found, prefixed("replicas", findingWithHint("remove the link instead", "%d is less than 1", *c.Replicas))...)
	}
	if c.Mode == Shared && c.Image == "" {
		found = append(found, findingWithHint("declare the image of linkwright itself, and start linkwright with --allow-controller-image and its repository", "mode Shared needs an image")...)
	}
	if strings.ContainsAny(c.Image, " \t\n") {
		found = append(found, prefixed("image", finding("%q is not an image, because it contains a space", c.Image))...)
	}
	return found
}

// checkSelector: a nil selector is absent, an empty one is valid.
func checkSelector(s *metav1.LabelSelector) []Finding {
	if s == nil {
		return nil
	}
	found := prefixed("matchLabels", checkLabels(s.MatchLabels))
	for i, r := range s.MatchExpressions {
		found = append(found, prefixed("matchExpressions", prefixed(strconv.Itoa(i), checkRequirement(r)))...)
	}
	return found
}

// checkRequirement has the rules of apimachinery's ValidateLabelSelectorRequirement, each finding at its own field.
func checkRequirement(r metav1.LabelSelectorRequirement) []Finding {
	found := slices.Concat(
		prefixed("key", checkSyntax(r.Key, validation.IsQualifiedName)),
		prefixed("operator", checkWord(operator(r.Operator))),
	)
	switch r.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			found = append(found, finding("operator %s needs values", r.Operator)...)
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			found = append(found, prefixed("values", finding("operator %s takes no values", r.Operator))...)
		}
	}
	for i, v := range r.Values {
		found = append(found, prefixed("values", prefixed(strconv.Itoa(i), checkSyntax(v, validation.IsValidLabelValue)))...)
	}
	return found
}
