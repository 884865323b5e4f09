package render

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// foreignLabels and foreignAnnotations are marks of GitOps tools, which would manage a mirror if Linkerd copied
// them to it.
func foreignLabels() []string {
	return []string{"argocd.argoproj.io/*", "helm.toolkit.fluxcd.io/*", "kustomize.toolkit.fluxcd.io/*"}
}

func foreignAnnotations() []string {
	return []string{
		"argocd.argoproj.io/*", "helm.toolkit.fluxcd.io/*", "kubectl.kubernetes.io/last-applied-configuration",
		"kustomize.toolkit.fluxcd.io/*", "meta.helm.sh/*",
	}
}

// link renders the Linkerd Link, named after the target, as link-gen would.
func link(b *builder) {
	key := linkerd.LinkKey(b.source(), b.target())
	version := b.Source.LinkVersion()
	content, err := b.linkSpec().In(cmp.Or(b.AppliedIn, version)).Encode(version)
	if err != nil {
		b.err = err
		return
	}
	b.addEncoded(identity{key: key, version: version, phase: object.PhaseLinks, labels: b.mirrorLabels()}, content, b.mirrorAnnotations())
}

func (b *builder) linkSpec() linkerd.LinkSpec {
	spec, target, declared := b.Link.Spec, b.Link.Target.Spec, Selectors(b.Link)
	s := linkerd.LinkSpec{
		TargetClusterName:             string(b.target()),
		TargetClusterDomain:           b.Target.Domains.Cluster,
		TargetClusterLinkerdNamespace: target.Linkerd.Namespace,
		ClusterCredentialsSecret:      spec.SecretFor(b.target()),
		ExcludedLabels:                declared.ExcludedLabels,
		ExcludedAnnotations:           excluded(spec.ExcludedAnnotations, foreignAnnotations(), linkerd.CredentialEntry(b.Credential.Fingerprint)),
	}
	if g := b.Target.Gateway; !g.Disabled {
		s.GatewayAddress, s.GatewayPort, s.GatewayIdentity = strings.Join(g.Addresses, ","), g.Port, g.Identity
		s.ProbeSpec = &linkerd.ProbeSpec{Path: g.Probe.Path, Port: g.Probe.Port, Period: g.Probe.Period}
		s.Selector = declared.Mirror
	}
	if b.ControlPlaneSecretLive {
		s.RemoteDiscoverySelector, s.FederatedServiceSelector = declared.Discovery, declared.Federated
	}
	return s
}

// Selectors are the declared selectors of a link, which apply once all that they need exists.
func Selectors(l fleet.Link) linkerd.Selectors {
	var mirror *metav1.LabelSelector // without a gateway nothing is mirrored through it, whatever is declared
	if l.Target.Spec.Gateway.On() {
		mirror = nonEmpty(l.Spec.SelectorFor(l.Target.Spec.Gateway))
	}
	return linkerd.Selectors{
		Mirror: mirror, Discovery: nonEmpty(l.Spec.RemoteDiscoverySelector),
		Federated: nonEmpty(l.Spec.FederatedServiceSelector), ExcludedLabels: excluded(l.Spec.ExcludedLabels, foreignLabels()),
	}
}

// excluded joins declared entries with those that always go in, sorted and without doubles.
func excluded(declared, always []string, more ...string) []string {
	all := slices.Concat(declared, always, more, []string{object.Prefix + "*"})
	slices.Sort(all)
	return slices.Compact(all)
}
