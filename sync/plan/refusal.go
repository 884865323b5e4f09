package plan

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// refusal says why nothing may be written to the cluster at all: it is a stranger, its inventories cannot
// be read, its base is of a later term, so that another process took over, or of a commit that the fleet's does not follow.
func (p *planner) refusal() *object.Reason {
	if why := p.stranger(p.name); why != nil {
		return why
	}
	recorded, err := inventory.Read(p.Owner, p.side.Seen)
	if err != nil {
		return object.Because("Inventory", "%v", err)
	}
	for _, inv := range recorded {
		if inv.End.IsBase() && inv.Term > p.Term && !p.Elsewhere[p.name] {
			return object.Because("LaterTerm", "a later process (term %d, ours is %d) has taken this cluster over", inv.Term, p.Term)
		}
	}
	if why := p.barred(p.name); why != nil {
		return why
	}
	p.recorded = slices.DeleteFunc(recorded, func(i inventory.Inventory) bool { return i.End.Cluster != p.name })
	return nil
}
