package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// refusal says why nothing may be written to the cluster at all; the checks in order:
//
//	not read                           unknown is not absent
//	no identity                        it must be told from others
//	two names for one cluster          neither is written
//	another cluster than remembered    until --accept-cluster
//	an inventory we cannot read        what it records is unknown
//	a base of another cluster          until --accept-cluster
//	a base of a later term             another process took over
func (p *planner) refusal() *object.Reason {
	if !p.side.Known {
		if p.side.Err != nil {
			return p.side.Err
		}
		return object.Because("Unknown", "cluster %s has not been read yet", p.name)
	}
	uid := p.side.Facts.UID
	if uid == "" {
		return object.Because("NoIdentity", "namespace kube-system is missing: its uid identifies the cluster")
	}
	if twin := p.twin(uid); twin != "" {
		return object.Because("SameCluster", "%s and %s are one cluster (kube-system uid %s): remove one declaration", p.name, twin, uid)
	}
	accepted := p.Accepted[p.name] == uid
	if known := p.UIDs[p.name]; known != "" && known != uid && !accepted {
		return object.Because("ClusterChanged", "this is another cluster than the one linkwright wrote to (kube-system uid %s, was %s): if that is right, allow it with --accept-cluster %s=%s",
			uid, known, p.name, uid)
	}
	recorded, err := inventory.Read(p.Owner, p.side.Seen)
	if err != nil {
		return object.Because("Inventory", "%v", err)
	}
	for _, inv := range recorded {
		if why := p.inventoryRefusal(inv, accepted); why != nil {
			return why
		}
	}
	p.recorded = slices.DeleteFunc(recorded, func(i inventory.Inventory) bool { return i.End.Cluster != p.name })
	return nil
}

func (p *planner) inventoryRefusal(inv inventory.Inventory, accepted bool) *object.Reason {
	switch {
	case !inv.End.IsBase():
		return nil
	case inv.End.Cluster != p.name && !accepted:
		return object.Because("ClusterRenamed", "this cluster was written to as %s: if it has a new name, allow it with --accept-cluster %s=%s",
			inv.End.Cluster, p.name, p.side.Facts.UID)
	case inv.Term > p.Term && !p.Elsewhere[p.name]:
		return object.Because("LaterTerm", "a later process (term %d, ours is %d) has taken this cluster over", inv.Term, p.Term)
	}
	return nil
}

// twin gives another name with the same identity, the first in order.
func (p *planner) twin(uid string) api.ClusterName {
	var found []api.ClusterName
	for name, side := range p.Sides {
		if name != p.name && side.Known && side.Facts.UID == uid {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}
