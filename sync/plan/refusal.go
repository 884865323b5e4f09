package plan

import (
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// refusal says why nothing may be written to the cluster at all: it is a stranger, its inventories cannot
// be read, no admission policies confine linkwright there though they must, its base is of a later term, so that another process took over, or of a commit that the fleet's does not follow.
func (p *planner) refusal() *object.Reason {
	if why := p.stranger(p.name); why != nil {
		return why
	}
	if why := p.unconfined(); why != nil && p.RequireConfinement {
		return why
	}
	recorded, err := p.inventories(p.name)
	if err != nil {
		return object.Because(reason.Inventory, "%v", err)
	}
	if why := p.elsewhere(recorded); why != nil {
		return why
	}
	for _, inv := range recorded {
		if inv.End.IsBase() && inv.Term > p.Term && !p.Elsewhere[p.name] {
			return object.Because(reason.LaterTerm, "a later process (term %d, ours is %d) has taken this cluster over", inv.Term, p.Term)
		}
	}
	if why := p.barred(p.name); why != nil {
		return why
	}
	p.recorded = recorded
	base, found := inventory.ReadBase(p.Owner, p.side.Seen)
	p.formerBase = found && base.End.Cluster != p.name
	return nil
}
