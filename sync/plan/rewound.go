package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Rewound is the code of what is refused because the fleet's commit does not follow what was applied before.
const Rewound = "Rewound"

// Applied is the commit that was applied last in a cluster, as its base tells; empty where that is not known:
//
//	not read, or without a base   nothing was applied, or nobody knows
//	applied from a directory      there was no commit
//	a stranger                    whatever it tells is of another name
//
// Without the inventories of links it costs little: it is asked for every cluster in every pass.
func (w World) Applied(name api.ClusterName) api.Commit {
	base, ok := inventory.ReadBase(w.Owner, w.Sides[name].Seen)
	if !ok || base.Commit == "" || w.unidentified(name, true) != nil {
		return ""
	}
	if base.End.Cluster != name && w.Accepted[name] != w.Sides[name].Facts.UID {
		return ""
	}
	return base.Commit
}

// barred says why the fleet must not be applied in a cluster at all: neither there, nor what depends on that.
func (w World) barred(name api.ClusterName) *object.Reason {
	if len(w.Barred) == 0 {
		return nil
	}
	return w.Barred[w.Applied(name)]
}
