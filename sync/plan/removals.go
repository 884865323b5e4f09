package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// Removal returns what the fleet removes in all clusters together, and whether that exceeds a limit.
func Removal(w state.Snapshot, r Renderer) prune.Removal {
	return (&removals{tally: tally{newDesired(w, r)}}).removal()
}

// removals is what a revision removes in all clusters together. It is computed once, if needed.
type removals struct {
	tally
	cached *prune.Removal
}

// removal is Removal, computed once.
func (r *removals) removal() prune.Removal {
	if r.cached == nil {
		l := prune.Limits{PruneLimits: r.limits(), Approved: r.approved(), Denied: r.Guard.Denied, In: r.Installation}
		if l.Denied != nil {
			l.Unresolved = slices.DeleteFunc(slices.Clone(l.Denied.Units), func(u inventory.Unit) bool { return !r.unresolved(u) })
		}
		all := r.census().Evaluate(l)
		r.cached = &all
	}
	return *r.cached
}

// limits returns the limits by which the declarations are judged.
func (r *removals) limits() api.PruneLimits {
	l := r.Guard.Limits.Applicable(r.Commit(), r.Policy().Limits())
	if r.Guard.Cap != nil {
		l = l.Stricter(*r.Guard.Cap)
	}
	return l
}

// approved returns the units that may go in any case: people approved them, or their removal has begun.
func (r *removals) approved() map[inventory.Unit]bool {
	out := map[inventory.Unit]bool{}
	for _, c := range r.Departed {
		if !r.Guard.Retiring[c.Name] {
			continue
		}
		out[inventory.Unit{Kind: inventory.UnitCluster, Cluster: c.Name}] = true
	}
	for _, a := range r.Guard.Approvals {
		if !a.Expired(r.Now) {
			for _, u := range a.Units {
				out[u] = true
			}
		}
	}
	return out
}

// judge returns what of removals the record does not know yet. Retire are clusters whose removal begins.
func (r *removals) judge(retire []api.ClusterName) RemovalChanges {
	g, stay := r.Guard, r.restored()
	if r.cached == nil && g.Denied == nil && len(g.Approvals)+len(retire)+len(stay) == 0 {
		return RemovalChanges{} // nothing is taken away, and nothing was denied
	}
	all := r.removal()
	j := RemovalChanges{Retire: retire, Stay: stay, Denied: all.Denial(), Was: g.Denied}
	for _, a := range g.Approvals {
		if used := r.used(a, all); len(used.Units) > 0 || used.Asked != a.Needed {
			j.Used = append(j.Used, used)
		}
	}
	j.Changed = !j.Denied.Same(g.Denied) || len(j.Used)+len(j.Retire)+len(j.Stay) > 0
	return j
}

// restored returns the clusters whose removal was allowed, and that are declared again.
func (r *removals) restored() (out []api.ClusterName) {
	for name := range r.Guard.Retiring {
		if r.IsDeclared(name) && !r.Leaves(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// used returns which units of an approval end: all of them if it is too old, else each unit that is being removed or was restored.
func (r *removals) used(a inventory.Approval, all prune.Removal) Used {
	asked := a.Needed || slices.ContainsFunc(a.Units, func(u inventory.Unit) bool { return slices.Contains(all.Pending, u) })
	out := Used{Hash: a.Hash, Asked: asked}
	for _, u := range a.Units {
		if a.Expired(r.Now) || !slices.Contains(all.Pending, u) && !r.unresolved(u) && (asked || !r.mayBeUpcoming(u)) {
			out.Units = append(out.Units, u)
		}
	}
	return out
}

// mayBeUpcoming reports whether a unit may belong to a revision that is still to come: what it removes exists.
func (r *removals) mayBeUpcoming(u inventory.Unit) bool {
	switch u.Kind {
	case inventory.UnitCluster:
		_, recorded := r.UIDs[u.Cluster]
		return recorded && !r.Guard.Retiring[u.Cluster]
	case inventory.UnitLink:
		return r.recordedAndStays(u.Link())
	}
	asked, known := r.declaredAs(u)
	return !known || !asked
}

// declaredAs reports whether selectors or an overlay are declared as a unit has them, and whether that is known.
func (r *removals) declaredAs(u inventory.Unit) (asked, known bool) {
	if u.Kind == inventory.UnitOverlay {
		brought, ok := r.overlayObjects(u.Cluster)
		return ok && u == overlayUnit(u.Cluster, brought), ok
	}
	if r.Fleet == nil {
		return false, false
	}
	l, declared := r.Fleet.Link(u.Link())
	if !declared {
		return false, true
	}
	s, _ := r.desiredSelectors(l)
	return u == selectorsUnit(l.Pair(), s), true
}

// unresolved reports whether nobody knows whether a unit is still asked for: it was not restored, and a cluster of it cannot be read.
func (r *removals) unresolved(u inventory.Unit) bool {
	switch u.Kind {
	case inventory.UnitCluster:
		return false // the record tells
	case inventory.UnitLink:
		if r.Linked(u.Link()) || !r.countsAlone(u.Link()) {
			return false
		}
	default:
		if asked, known := r.declaredAs(u); known && !asked {
			return false
		}
	}
	return slices.ContainsFunc([]api.ClusterName{u.Cluster, u.Source, r.TargetCluster(u.Link())}, func(name api.ClusterName) bool {
		return name != "" && r.IsRecorded(name) && !r.Clusters[name].Known()
	})
}

// recordedAndStays reports whether an inventory has an end of the link that is not being removed, or may have.
func (r *removals) recordedAndStays(link api.Pair) bool {
	for _, name := range []api.ClusterName{link.Source, r.TargetCluster(link)} {
		current := r.Clusters[name]
		inv, found := inventory.Of(r.Owner, object.End{Cluster: name, Link: link}, current.Live)
		if r.IsRecorded(name) && !current.Known() || found && !inv.Leaving {
			return true
		}
	}
	return false
}

// retiredBy returns the removed clusters of an end whose removal begins, if no limit denies their removal: they are not judged again.
func (r *removals) retiredBy(next, old inventory.Inventory) (out []api.ClusterName) {
	if !next.Leaving || old.Leaving {
		return nil
	}
	for _, name := range []api.ClusterName{next.End.Cluster, next.End.Link.Source, r.TargetCluster(next.End.Link)} {
		if r.HasLeft(name) && !r.Guard.Retiring[name] && r.removal().Denies(object.End{Cluster: name}, false) == nil {
			out = append(out, name)
		}
	}
	return out
}
