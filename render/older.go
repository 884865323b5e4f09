package render

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// TooOld returns which part of a link one of its clusters' Linkerd is too old for, or nil. It reads only the versions and whether there
// is a gateway. Unknown versions count as new.
func TooOld(in Input) *object.Reason {
	if why := unsupportedByLinks(in); why != nil {
		return why
	}
	return skewed(in)
}

// unsupportedByLinks returns which part of a link the Linkerd Links of its source do not support, or nil.
func unsupportedByLinks(in Input) *object.Reason {
	version, spec, source := in.Source.LinkVersion(), in.Link.Spec, in.Link.Source.Name
	if version == linkerd.LinkVersion {
		return nil
	}
	what, remedy := "", "declare the link without it"
	switch {
	case spec.Controller.Mode != api.External:
		return object.Because(reason.LinkerdTooOld, "Linkerd %s in %s needs controllers from its own chart: upgrade it to 2.18 or later, or declare controller.mode External; it has Links %s",
			in.Source.Version, source, version)
	case in.Target.Gateway.Disabled && linkerd.NeedsGateway(version):
		what, remedy = "a link to a cluster without a gateway", "install one in "+string(in.Link.Target.Name)
	case nonEmpty(spec.FederatedServiceSelector) != nil && !linkerd.SupportsFederated(version):
		what = "federatedServiceSelector"
	case len(spec.ExcludedLabels) > 0:
		what = "excludedLabels"
	case len(spec.ExcludedAnnotations) > 0:
		what = "excludedAnnotations"
	case !spec.UsesRemoteDiscovery() && (in.Target.Gateway.Disabled || nonEmpty(spec.SelectorFor(in.Link.Target.Spec.Gateway)) == nil):
		what, remedy = "a link that selects no services", "declare a selector"
	default:
		return nil
	}
	return object.Because(reason.LinkerdTooOld, "Linkerd %s in %s does not support %s: upgrade it, or %s; it has Links %s",
		in.Source.Version, source, what, remedy, version)
}
