package report

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// clusters are those of the record, each with the count of its links.
func (o Overview) clusters(m mask, links []output.Link) []output.Cluster {
	out := make([]output.Cluster, 0, len(o.Clusters))
	for _, c := range o.Clusters {
		ready, status, why := o.clusterStatus(c)
		one := output.Cluster{
			TypeMeta: output.Of(output.KindCluster), Name: string(c.Name), Ready: ready, Status: string(status),
			Reason: m.reason(why), Revision: string(c.Applied), Values: c.Values, Rollout: progressOf(m, c.Rollout),
		}
		for _, p := range c.Cleanup {
			if abandoned(why) { // the decision lists it
				break
			}
			one.PendingCleanup = append(one.PendingCleanup, output.PendingCleanup{Source: string(p.Link.Source), Target: string(p.Link.Target), Since: p.Since.UTC()})
		}
		for _, l := range links {
			if l.Source == one.Name || l.Target == one.Name {
				one.Links = counting(one.Links, l)
			}
		}
		out = append(out, one)
	}
	return out
}

// clusterStatus is how a cluster is, as far as the record and its base inventory show it:
//
//	people gave it up, and it was not read   Unknown  Unknown
//	it was not read                          Unknown  Unknown
//	its removal began                        False    Leaving
//	people decided or declared to suspend it  True   Suspended
//	it carries another revision              False    Progressing
//	else                                     True     Ready
func (o Overview) clusterStatus(c RecordedCluster) (ready string, status Status, why *object.Reason) {
	other := o.other(c.Name)
	if why := o.abandonedBy(c); why != nil {
		return object.Unknown, Unknown, why
	}
	switch {
	case c.Why != nil:
		return object.Unknown, Unknown, c.Why
	case c.Leaving:
		return object.False, Leaving, object.Because(reason.Leaving, "it is being removed")
	case c.Suspended != nil:
		return object.True, Suspended, c.Suspended
	case slices.Contains(o.Revision.Suspended, c.Name):
		return object.True, Suspended, plan.SuspendedCluster(c.Name)
	case other != "":
		return object.False, Progressing, object.Because(reason.RevisionMismatch, "revision %s is not applied, the cluster has %s", o.Revision.Applied.Short(), other.Short())
	}
	return object.True, Ready, nil
}
