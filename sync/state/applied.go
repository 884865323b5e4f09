package state

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Applied returns the commit that was applied last in a cluster, as its base tells; empty where that is not known:
//
//	not read, or without a base   nothing was applied, or nobody knows
//	applied from a directory      there was no commit
//	not identified                whatever it tells is of another name
//
// Without the inventories of links it costs little: it is asked for every cluster at every revision.
func (i *Identities) Applied(name api.ClusterName) api.Commit {
	uid := i.Clusters[name].Facts.UID
	base, ok := inventory.ReadBase(i.Owner, i.Clusters[name].Live)
	if !ok || base.Commit == "" || i.unidentified(name, i.shared(uid)) != nil {
		return ""
	}
	if base.End.Cluster != name && i.Accepted[name] != uid {
		return ""
	}
	return base.Commit
}

// AllApplied returns Applied of all clusters, without those of which it is not known.
func (i *Identities) AllApplied() map[api.ClusterName]api.Commit {
	out := map[api.ClusterName]api.Commit{}
	for name := range i.Clusters {
		if last := i.Applied(name); last != "" {
			out[name] = last
		}
	}
	return out
}

// MayNotApply returns why the fleet must not be applied in a cluster at all: neither there, nor what depends on that.
func (i *Identities) MayNotApply(name api.ClusterName) *object.Reason {
	if len(i.DeniedAfter) == 0 {
		return nil
	}
	return i.DeniedAfter[i.Applied(name)]
}
