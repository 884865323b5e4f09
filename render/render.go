// Package render makes the desired objects of an end from its declaration, facts and credential.
//
// Names, labels and rules are those of Linkerd's own chart (linkerd2 multicluster/charts/linkerd-multicluster,
// templates/controller, version 2.18 and later), so that `linkerd multicluster check` passes.
package render

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Input is all that the objects of a link's ends depend on.
type Input struct {
	Link           fleet.Link
	Source, Target *linkerd.Facts      // nil: that cluster was not read
	Credential     *linkerd.Credential // nil: none yet
	// ControlPlaneSecretLive reports whether the Secret of the source's control plane exists. Only then may
	// the Linkerd Link have selectors that make the control plane use it: otherwise it can panic.
	ControlPlaneSecretLive bool
	// WithoutControlPlaneSecret leaves out the Secret of the source's control plane, which linkwright may not write yet.
	WithoutControlPlaneSecret bool
	// AppliedIn is the older version in which the live Linkerd Link was last applied, if its fields must be those of that version
	// (linkerd.AppliedIn); empty: no restriction.
	AppliedIn string
	// StillShared keeps the link with the source's shared controller, although its declared mode is another: what takes its place does not run yet.
	StillShared bool
	// CredentialMark is the linkerd.CredentialMark of the live Secret of the source's control plane; empty: there is none.
	CredentialMark string
	// Generations are the Secrets that tokens of mode Bound are bound to, in the target; Tokens are those that hold tokens of mode
	// LegacyToken, whatever the mode is now. In that mode none means the first.
	Generations, Tokens []object.Key
}

// Renderer renders for one installation: same input, same bytes. One made by New caches the objects of links that differ only in
// their target's name, and is much faster with many links. It may be copied, and is safe for concurrent use.
type Renderer struct {
	Owner string
	cache *stencilCache // nil: every object is encoded
}

// New makes a Renderer for many links.
func New(owner string) Renderer { return Renderer{Owner: owner, cache: &stencilCache{}} }

// family is one group of an end's objects; nil objects are left out.
type family func(*builder)

// Source is a link's end in its source: what mirrors the target's services there.
func (r Renderer) Source(in Input) object.Desired {
	end := object.End{Cluster: in.Link.Source.Name, Link: in.Link.Pair()}
	if why := sourceBlocked(in); why != nil {
		return object.Desired{End: end, Blocked: why}
	}
	families := make([]family, 0, 4) // nearly in the order of their phases, so that there is little to sort
	if in.Link.Spec.Controller.Mode != api.External {
		families = append(families, r.controllerObjects)
	}
	if in.isShared() {
		families = append(families, sharedBinding)
	}
	if in.Link.Spec.Credentials.Mode != api.Existing {
		families = append(families, credentials)
	}
	return r.build(end, in, append(families, link))
}

// Target is a link's end in its target: the source's account and its rights, or nothing if the credential is an existing one.
func (r Renderer) Target(in Input) object.Desired {
	end := object.End{Cluster: in.Link.Target.Canonical(), Link: in.Link.Pair()}
	if why := missingFacts(in.Link.Target.Name, in.Target, linkerd.AsTarget); why != nil {
		return object.Desired{End: end, Blocked: why}
	}
	if in.Link.Spec.Credentials.Mode == api.Existing {
		return object.Desired{End: end}
	}
	return r.build(end, in, []family{access})
}

// Complete adds the base: the objects that a cluster holds once. They are the shared controller of its links, if one is declared Shared, and what
// overlays add.
func (r Renderer) Complete(c fleet.Cluster, ends []object.Desired) []object.Desired {
	base := object.Desired{End: object.End{Cluster: c.Name}}
	if c.Shared != nil {
		base = r.build(base.End, sharedInput(c), []family{sharedController})
	}
	return append(slices.Clone(ends), base)
}

func (r Renderer) build(end object.End, in Input, families []family) object.Desired {
	const usual = 10 // mostly nine
	b := &builder{Input: in, owner: r.Owner, objects: make([]object.Object, 0, usual)}
	for _, f := range families {
		f(b)
	}
	if b.err != nil {
		return object.Desired{End: end, Blocked: object.Because(reason.RenderFailed, "%v", b.err)}
	}
	slices.SortFunc(b.objects, func(x, y object.Object) int {
		if x.Phase != y.Phase {
			return int(x.Phase) - int(y.Phase)
		}
		return x.Key.Compare(y.Key)
	})
	return object.Desired{End: end, Objects: b.objects}
}

// builder collects the objects of one end; the first error blocks the whole end.
type builder struct {
	Input
	owner   string
	objects []object.Object
	err     error
}

// identity is the key and labels of an object, and the metadata of its apply configuration, which they are written to.
type identity struct {
	key     object.Key
	version string
	phase   object.Phase
	meta    **metaac.ObjectMetaApplyConfiguration
	labels  map[string]string
}

// add seals one object. The configuration's identity is filled in here, and only here.
func (b *builder) add(n identity, config any) {
	if b.err != nil {
		return
	}
	if *n.meta == nil {
		*n.meta = &metaac.ObjectMetaApplyConfiguration{}
	}
	meta := *n.meta
	meta.WithName(n.key.Name)
	meta.Labels = n.labels // shared by objects of an end: nobody changes them
	if n.key.Namespace != "" {
		meta.WithNamespace(n.key.Namespace)
	}
	o, err := object.New(object.Spec{
		Key: n.key, Version: n.version, Phase: n.phase, Owner: b.owner, Meta: meta, Config: config,
	})
	if err != nil {
		b.err = err
		return
	}
	b.objects = append(b.objects, o)
}

// addEncoded is add for content that is JSON already, without metadata.
func (b *builder) addEncoded(n identity, content object.Encoded, annotations map[string]string) {
	meta := &metaac.ObjectMetaApplyConfiguration{Annotations: annotations}
	n.meta = &meta
	b.add(n, content)
}

func (b *builder) source() api.Linkerd     { return b.Link.Source.Spec.Linkerd }
func (b *builder) target() api.ClusterName { return b.Link.Target.Name }

// controllerLabels are the labels by which Linkerd finds the parts of a link's controller.
func (b *builder) controllerLabels() map[string]string {
	return map[string]string{
		linkerd.ExtensionLabel:   linkerd.Extension,
		linkerd.ComponentLabel:   linkerd.Component,
		linkerd.ClusterNameLabel: string(b.target()),
	}
}

// sourceBlocked returns the reason why the source's end cannot be rendered now, or nil.
func sourceBlocked(in Input) *object.Reason {
	if why := missingFacts(in.Link.Source.Name, in.Source, linkerd.AsSource); why != nil {
		return why
	}
	if why := missingFacts(in.Link.Target.Name, in.Target, linkerd.AsTarget); why != nil {
		return why
	}
	if why := TooOld(in); why != nil {
		return why
	}
	if in.Credential == nil {
		return noCredential(in.Link)
	}
	return nil
}

// skewed returns why the source's control plane must not get a credential for an older target, or nil: it would restart again and
// again, and the source's mesh with it.
func skewed(in Input) *object.Reason {
	if !in.Link.Spec.UsesRemoteDiscovery() || !linkerd.Incompatible(in.Source.Version, in.Target.Version) {
		return nil
	}
	return object.Because(reason.LinkerdTooOld, "Linkerd %s in %s is too old for remote discovery and federation from %s: upgrade it to 2.16 or later, or remove both selectors; "+
		"the control plane of %s (%s) cannot read its API; the selectors are remoteDiscoverySelector and federatedServiceSelector",
		in.Target.Version, in.Link.Target.Name, in.Link.Source.Name, in.Link.Source.Name, in.Source.Version)
}

func noCredential(l fleet.Link) *object.Reason {
	if l.Spec.Credentials.Mode == api.Bound {
		return object.Because(reason.CredentialNotIssued, "cluster %s has not issued a token for %s yet: linkwright requests it when the account exists and %s can use it",
			l.Target.Name, l.Source.Name, l.Source.Name)
	}
	return object.Because(reason.CredentialNotIssued, "cluster %s has not issued a token for %s yet: its token controller issues it when the account exists",
		l.Target.Name, l.Source.Name)
}

func missingFacts(name api.ClusterName, f *linkerd.Facts, role linkerd.Role) *object.Reason {
	if f == nil {
		return object.Because(reason.Unknown, "linkwright has not read cluster %s yet, and needs its facts", name)
	}
	if why := f.MissingFor(role); why != nil {
		return object.Because(why.Code, "cluster %s: %s", name, why.Message)
	}
	return nil
}

// matching makes the selector of a workload.
func matching(labels map[string]string) *metaac.LabelSelectorApplyConfiguration {
	return metaac.LabelSelector().WithMatchLabels(labels)
}

// nonEmpty drops an empty selector: for Linkerd it selects nothing, as an absent one.
func nonEmpty(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return nil
	}
	return s
}
