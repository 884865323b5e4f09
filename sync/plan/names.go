package plan

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/pair"
)

// targetEnd is the target's end of a declared link: it is in the cluster of which the target may be a second name.
func targetEnd(l fleet.Link) object.End {
	return object.End{Cluster: l.Target.Canonical(), Link: l.Pair()}
}

// targetSide is the target of a link as it was last seen: by a second name with the gateway that is declared of that.
func (p *planner) targetSide(l fleet.Link) pair.Side {
	side := p.Sides[l.Target.Canonical()]
	side.Facts = side.As(l.Target)
	return side
}

// other is the cluster in which the other end of a link is, by the name that it has now.
func (w World) other(end object.End) api.ClusterName {
	if end.IsSource() {
		return w.holder(end.Link)
	}
	return w.today(end.Link.Source)
}

// otherOf is other, or empty for a base.
func (w World) otherOf(end object.End) api.ClusterName {
	if end.IsBase() {
		return ""
	}
	return w.other(end)
}

// holder is the cluster in which the target's end of a link is: its target, by today's name, or the cluster of which that is a second name,
// as it is declared or as the cluster itself tells.
func (w World) holder(link api.Pair) api.ClusterName {
	if w.remembered(link.Target) {
		return w.today(link.Target)
	}
	var found []api.ClusterName
	for name, side := range w.Sides {
		if name != link.Source && !w.handed(name) && w.tellsOf(link, name, side) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return link.Target
	}
	return slices.Min(found)
}

// tellsOf says that a cluster records the target's end of a link, or the target as a second name of its own.
func (w World) tellsOf(link api.Pair, name api.ClusterName, side pair.Side) bool {
	if _, recorded := inventory.Of(w.Owner, object.End{Cluster: name, Link: link}, side.Seen); recorded {
		return true
	}
	base, found := inventory.ReadBase(w.Owner, side.Seen)
	return found && slices.Contains(base.Names, link.Target)
}

// inventories are those of a cluster. What the base and targets' ends say of its name is that of today; a source's end by a former name is
// one that nobody declares.
func (w World) inventories(name api.ClusterName) ([]inventory.Inventory, error) {
	recorded, err := inventory.Read(w.Owner, w.Sides[name].Seen)
	for i, inv := range recorded {
		if inv.End.IsBase() || !inv.End.IsSource() {
			recorded[i].End.Cluster = name
		}
	}
	slices.SortFunc(recorded, func(a, b inventory.Inventory) int { return a.End.Compare(b.End) })
	return recorded, err
}

// secondNames are those that the base is to list: the declared ones, and those by which links to the cluster are still recorded.
func (p *planner) secondNames() (out []api.ClusterName) {
	if p.Fleet != nil {
		out = p.Fleet.Names(p.name)
	}
	for _, inv := range p.recorded {
		if target := inv.End.Link.Target; !inv.End.IsBase() && !inv.End.IsSource() && target != p.name && !p.remembered(target) {
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *planner) isDeclared(name api.ClusterName) bool {
	c, _, _ := p.declared(name)
	return c != nil
}

// renamed says that a departed name's cluster is declared, and was accepted, under another: the one that it gives. What it
// holds by the old name is handed over there.
func (w World) renamed(name api.ClusterName) (api.ClusterName, bool) {
	side := w.Sides[name]
	if !side.Known || side.Facts.UID == "" || !w.departed(name) {
		return "", false
	}
	for _, other := range w.named(side.Facts.UID) {
		if !w.departed(other) && w.accepts(other) {
			return other, true
		}
	}
	return "", false
}

// today is the name that a cluster has now, other than a second one.
func (w World) today(name api.ClusterName) api.ClusterName {
	if c, _, _ := w.declared(name); c != nil {
		return c.Canonical()
	}
	if now, renamed := w.renamed(name); renamed {
		return now
	}
	return name
}

// handed says that a name was given up for another.
func (w World) handed(name api.ClusterName) bool {
	_, renamed := w.renamed(name)
	return renamed
}

// named gives all names under which a cluster was read, in order.
func (w World) named(uid string) (out []api.ClusterName) {
	for name, side := range w.Sides {
		if side.Known && side.Facts.UID == uid {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// accepts says that a cluster has its name by people's leave, or had it when it was last written to, also as a second one: its base says so.
func (w World) accepts(name api.ClusterName) bool {
	side := w.Sides[name]
	if w.Accepted[name] == side.Facts.UID {
		return true
	}
	base, ok := inventory.ReadBase(w.Owner, side.Seen)
	return ok && (base.End.Cluster == name || slices.Contains(base.Names, name))
}

// handingOver says that a cluster's former name still stands in inventories: until it does not, the name is remembered,
// since only it tells which cluster they mean.
func (p *planner) handingOver() *object.Reason {
	for _, name := range p.others() {
		side := p.Sides[name]
		if !side.Known {
			return object.Because(prune.WaitingForLinks, "cluster %s cannot be read, and may have links by the name %s", name, p.name)
		}
		if !p.mentioned(side.Seen) {
			continue
		}
		recorded, err := inventory.Read(p.Owner, side.Seen)
		if err != nil {
			return object.Because(prune.WaitingForLinks, "inventories of cluster %s cannot be read, and may name %s", name, p.name)
		}
		for _, inv := range recorded {
			if inv.End.Link.Source == p.name || inv.End.Link.Target == p.name {
				return object.Because(prune.WaitingForLinks, "%s is still to be handed over", inv.End)
			}
		}
	}
	return nil
}

// mentioned says that an inventory may be of an end that has the planner's name: reading all takes much longer.
func (p *planner) mentioned(seen object.Observation) bool {
	for k := range seen.Kind("", "ConfigMap") {
		if inventory.Named(p.Owner, k) && strings.Contains(k.Name, string(p.name)) {
			return true
		}
	}
	return false
}

// here is an end with the name that its cluster has now: what closes it is declared by that.
func (p *planner) here(end object.End) object.End {
	end.Cluster = p.name
	return end
}

// others are all names but the planner's own, in order.
func (p *planner) others() (out []api.ClusterName) {
	for name := range p.Sides {
		if name != p.name {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
