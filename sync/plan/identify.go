package plan

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// identify returns why nothing may be written to the cluster at all, or nil, and then has its inventories. The checks in order:
//
//	another cluster than its name means          see state.Unidentified
//	no admission policies confine linkwright     if they must
//	inventories that cannot be read, or that list objects in other namespaces
//	a base of a later term                       another process took over
//	a base of a commit that the fleet's does not follow
func (c *cluster) identify() *object.Reason {
	if why := c.Unidentified(c.name); why != nil {
		return why
	}
	if why := c.unconfined(); why != nil && c.RequireConfinement {
		return why
	}
	recorded, err := c.Inventories(c.name)
	if err != nil {
		return object.Because(reason.InventoryInvalid, "%v", err)
	}
	if why := c.otherNamespaces(recorded); why != nil {
		return why
	}
	for _, inv := range recorded {
		if inv.End.IsBase() && inv.Term > c.Leadership && !c.WrittenElsewhere[c.name] {
			return object.Because(reason.NewerLeader, "another process took over this cluster: if leaders did not just change, restart this process; its leadership is %d, and that of this process is %d", inv.Term, c.Leadership)
		}
	}
	if why := c.MayNotApply(c.name); why != nil {
		return why
	}
	base, found := inventory.ReadBase(c.Owner, c.current.Live)
	c.recorded, c.renamed = recorded, found && base.End.Cluster != c.name
	return nil
}

// unconfined returns why no admission policies confine linkwright's account in the cluster, and what to do; nil: they do.
func (c *cluster) unconfined() *object.Reason {
	if !c.current.Known() || c.current.Gap == "" {
		return nil
	}
	add := c.Command("cluster add " + string(c.name) + " PATH --context CONTEXT")
	if c.current.NotServiceAccount {
		return object.Because(reason.NotServiceAccount, "%s: fine for a trial, else run %s; "+
			"PATH is your checkout of the declarations, and CONTEXT the context of cluster %s in your kubeconfig", c.current.Gap, add, c.name)
	}
	return object.Because(reason.NotConfined, "admission policies do not confine linkwright's account: with your own login, run %s; %s", add, c.current.Gap)
}

// otherNamespaces returns a reason if inventories, of which the base may be lost, list something in another namespace than those that are declared;
// else nil.
func (c *cluster) otherNamespaces(recorded []inventory.Inventory) *object.Reason {
	l := c.Spec(c.name).Linkerd
	for _, inv := range recorded {
		for _, k := range inv.Entries {
			switch k.Namespace {
			case "", object.AccessNamespace, l.Namespace, l.MulticlusterNamespace:
			default:
				return state.OtherNamespaces(c.name, "holds objects of linkwright in namespace "+k.Namespace)
			}
		}
	}
	return nil
}

// allBlocked returns the rows of a cluster to which nothing may be written.
func (c *cluster) allBlocked(why *object.Reason) []Row {
	rows := make([]Row, len(c.desiredEnds))
	for i, want := range c.desiredEnds {
		rows[i] = Row{End: want.End, Phase: Blocked, Why: why, Other: c.OtherOf(want.End)}
	}
	return rows
}

// formerName is a name that a cluster no longer has.
type formerName struct{ *cluster }

// rows returns the row of the name while inventories have it; none: the name can leave the record.
func (f formerName) rows() []Row {
	why := f.mentions()
	if why == nil {
		return nil
	}
	return []Row{f.finishRow(Row{End: f.base(), Phase: Waiting, Why: why})}
}

// mentions returns why the former name stays in the record: an inventory has it, and only the record says which cluster it means. nil: none has.
func (f formerName) mentions() *object.Reason {
	for _, name := range f.others() {
		current := f.Clusters[name]
		if !current.Known() {
			return object.Because(reason.WaitingForLinks, "cluster %s cannot be read, and may still have links under the former name %s", name, f.name)
		}
		if !f.mayMention(current.Live) {
			continue
		}
		recorded, err := inventory.Read(f.Owner, current.Live)
		if err != nil {
			return object.Because(reason.WaitingForLinks, "the inventories of cluster %s cannot be read, and may still have the former name %s", name, f.name)
		}
		for _, inv := range recorded {
			if inv.End.Link.Source == f.name || inv.End.Link.Target == f.name {
				return object.Because(reason.WaitingForLinks, "the inventory of %s still has the former name", inv.End)
			}
		}
	}
	return nil
}

// mayMention reports whether the name of an inventory contains the cluster's name. Reading all inventories takes much longer.
func (f formerName) mayMention(observed object.Observation) bool {
	for k := range observed.Kind("", "ConfigMap") {
		if inventory.Named(f.Owner, k) && strings.Contains(k.Name, string(f.name)) {
			return true
		}
	}
	return false
}

// others returns all names but the cluster's own, in order.
func (f formerName) others() (out []api.ClusterName) {
	for name := range f.Clusters {
		if name != f.name {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
