package plan

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Excess is what the guard against deleting much refuses in one cluster. Hash is by which people name it, and Approve what
// is written to let it go: the inventories of the ends that would lose it, each only as it was read.
type Excess struct {
	Cluster api.ClusterName
	Hash    string
	Objects int
	Ends    []object.End
	Approve []object.Change
}

// Shares says that both are of one link: neither of its ends goes before both may.
func (e Excess) Shares(o Excess) bool {
	return slices.ContainsFunc(e.Ends, func(a object.End) bool {
		return !a.IsBase() && slices.ContainsFunc(o.Ends, func(b object.End) bool { return a.Link == b.Link })
	})
}

// TooMuch gives what is refused in a cluster; false: nothing, or nothing may be written there at all.
func TooMuch(w World, name api.ClusterName, r Renderer) (Excess, bool) {
	p := &planner{World: w, name: name, side: w.Sides[name], renderer: r}
	if w.handed(name) || p.refusal() != nil {
		return Excess{}, false
	}
	in := p.pruneInput(name, p.wants(name), p.recorded)
	found := prune.TooMuch(in)
	out := Excess{Cluster: name, Hash: found.Hash, Ends: slices.SortedFunc(maps.Keys(found.Ends), object.End.Compare)}
	for _, end := range out.Ends {
		at := slices.IndexFunc(in.Recorded, func(i inventory.Inventory) bool { return i.End == end })
		old, _ := p.record(end)
		c, why := p.inventory(prune.Approve(in.Recorded[at], found.Hash, found.Ends[end]), old)
		if why != nil {
			return Excess{}, false
		}
		out.Objects += len(found.Ends[end])
		out.Approve = append(out.Approve, c)
	}
	return out, found.Hash != ""
}
