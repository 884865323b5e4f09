package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Rewound is the code of what is refused because the fleet's commit does not follow what was applied before.
const Rewound = reason.Rewound

// Applied is the commit that was applied last in a cluster, as its base tells; empty where that is not known:
//
//	not read, or without a base   nothing was applied, or nobody knows
//	applied from a directory      there was no commit
//	a stranger                    whatever it tells is of another name
//
// Without the inventories of links it costs little: it is asked for every cluster in every pass.
func (w World) Applied(name api.ClusterName) api.Commit {
	return (&planner{World: w}).applied(name)
}

// Carried gives Applied of all clusters, without those of which it is not known.
func (w World) Carried() map[api.ClusterName]api.Commit {
	p, out := &planner{World: w}, map[api.ClusterName]api.Commit{}
	for name := range w.Sides {
		if last := p.applied(name); last != "" {
			out[name] = last
		}
	}
	return out
}

func (p *planner) applied(name api.ClusterName) api.Commit {
	uid := p.Sides[name].Facts.UID
	base, ok := inventory.ReadBase(p.Owner, p.Sides[name].Seen)
	if !ok || base.Commit == "" || p.unidentified(name, p.shared(uid)) != nil {
		return ""
	}
	if base.End.Cluster != name && p.Accepted[name] != uid {
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
