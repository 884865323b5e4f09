package state

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Facts returns those of the cluster that the name means: of an unidentified cluster only why there are none.
func (i *Identities) Facts(name api.ClusterName) *linkerd.Facts {
	cluster := i.Clusters[name]
	if !cluster.Known() {
		return nil
	}
	if why := i.Unidentified(name); why != nil {
		return &linkerd.Facts{Missing: []linkerd.Missing{{Role: linkerd.AsSource, Why: *why}, {Role: linkerd.AsTarget, Why: *why}}}
	}
	facts := cluster.Facts // not all of the side
	return &facts
}

// TargetFacts are as facts, of a link's target.
func (i *Identities) TargetFacts(l fleet.Link) *linkerd.Facts {
	facts := i.Facts(l.Target.Canonical())
	if facts == nil || l.Target.Spec.SameAs == "" || i.Unidentified(l.Target.Spec.SameAs) != nil {
		return facts
	}
	by := i.Clusters[l.Target.Spec.SameAs].As(l.Target)
	return &by
}
