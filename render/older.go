package render

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// TooOld returns what of a link Linkerd in one of its clusters is too old for, by the facts of both, or nil. Of facts it reads versions
// and whether there is a gateway; of a version that it does not know it expects all.
func TooOld(in Input) *object.Reason {
	if why := older(in); why != nil {
		return why
	}
	return skew(in)
}

// older returns what of a link its source's Linkerd cannot hold, since its Links are of a version before linkerd.LinkVersion, or nil.
func older(in Input) *object.Reason {
	version, spec, source := in.Source.LinkVersion(), in.Link.Spec, in.Link.Source.Name
	if version == linkerd.LinkVersion {
		return nil
	}
	what, remedy := "", "declare the link without it"
	switch {
	case spec.Controller.Mode != api.External:
		return object.Because(reason.LinkerdTooOld, "cluster %s runs Linkerd %s with Links %s, whose controllers Linkerd's chart installs: upgrade Linkerd there to 2.18 or later, or declare controller.mode External",
			source, in.Source.Version, version)
	case in.Target.Gateway.Disabled && linkerd.NeedsGateway(version):
		what, remedy = "a link to a cluster without a gateway", "install one in "+string(in.Link.Target.Name)
	case chosen(spec.FederatedServiceSelector) != nil && !linkerd.HoldsFederated(version):
		what = "federatedServiceSelector"
	case len(spec.ExcludedLabels) > 0:
		what = "excludedLabels"
	case len(spec.ExcludedAnnotations) > 0:
		what = "excludedAnnotations"
	case !spec.UsesRemoteDiscovery() && (in.Target.Gateway.Disabled || chosen(spec.SelectorFor(in.Link.Target.Spec.Gateway)) == nil):
		what, remedy = "a link that selects no services", "declare a selector"
	default:
		return nil
	}
	return object.Because(reason.LinkerdTooOld, "cluster %s runs Linkerd %s, whose Links %s do not support %s: upgrade Linkerd there, or %s",
		source, in.Source.Version, version, what, remedy)
}
