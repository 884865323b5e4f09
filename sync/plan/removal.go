package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Guard is what the record says of removals, and by what the process itself limits them.
type Guard struct {
	Limits    *inventory.Limits // nil: not known yet
	Approvals []inventory.Approval
	Denied    *inventory.Denial        // nil: nothing is
	Retiring  map[api.ClusterName]bool // clusters whose removal was let through
	Cap       *api.PruneLimits         // nil: only declarations limit
}

// ApprovalLife is for how long an approval that nobody uses holds.
const ApprovalLife = 30 * 24 * time.Hour

// Judged is what a step found out about removals, to be written to the record; without News the record has it already.
type Judged struct {
	News        bool
	Denied, Was *inventory.Denial // to be written, and what it takes the place of
	Used        []Used            // what ends of approvals, or begins
	Retire      []api.ClusterName // clusters whose removal begins with this step; sorted
	Stay        []api.ClusterName // clusters that are declared again, and are to be judged once they are removed; sorted
}

// Used is what becomes of an approval: units that it lets go no more, and whether a revision asks for it.
type Used struct {
	Hash  string
	Units []inventory.Unit
	Asked bool
}

// Left are approvals once some of what they let go is used.
func (j Judged) Left(all []inventory.Approval) (out []inventory.Approval) {
	for _, a := range all {
		left := true
		if i := slices.IndexFunc(j.Used, func(u Used) bool { return u.Hash == a.Hash }); i >= 0 {
			a.Asked = a.Asked || j.Used[i].Asked
			a, left = a.Without(j.Used[i].Units)
		}
		if left {
			out = append(out, a)
		}
	}
	return out
}

// Removal is what the fleet takes away in all clusters together, and whether that is over a limit.
func Removal(w World, r Renderer) prune.Removal {
	return (&planner{World: w, renderer: r}).removal()
}

// removal is Removal, weighed once.
func (p *planner) removal() prune.Removal {
	if p.weighed == nil {
		l := prune.Limits{PruneLimits: p.limits(), Approved: p.approved(), Denied: p.Guard.Denied, In: p.installation()}
		if l.Denied != nil {
			l.Unresolved = slices.DeleteFunc(slices.Clone(l.Denied.Units), func(u inventory.Unit) bool { return !p.unresolved(u) })
		}
		r := p.census().Weigh(l)
		p.weighed = &r
	}
	return *p.weighed
}

// limits are those by which what is declared is judged.
func (w World) limits() api.PruneLimits {
	l := w.Guard.Limits.Judging(w.commit(), w.policy().Limits())
	if w.Guard.Cap != nil {
		l = l.Stricter(*w.Guard.Cap)
	}
	return l
}

// approved are the units that may go in any case: people said so, or they were let through and have begun to go.
func (w World) approved() map[inventory.Unit]bool {
	out := map[inventory.Unit]bool{}
	for _, c := range w.Departed {
		if !w.Guard.Retiring[c.Name] {
			continue
		}
		out[inventory.Unit{Kind: inventory.UnitCluster, Cluster: c.Name}] = true
	}
	for _, a := range w.Guard.Approvals {
		if w.Now.Sub(a.At) < ApprovalLife {
			for _, u := range a.Units {
				out[u] = true
			}
		}
	}
	return out
}

// judge says what of removals the record does not know yet.
func (p *planner) judge() {
	g := p.Guard
	stay := p.restored()
	if p.weighed == nil && g.Denied == nil && len(g.Approvals)+len(p.step.Judged.Retire)+len(stay) == 0 {
		return // nothing is taken away, and nothing was denied
	}
	r := p.removal()
	j := Judged{Retire: p.step.Judged.Retire, Stay: stay, Denied: r.Denial(), Was: g.Denied}
	for _, a := range g.Approvals {
		if used := p.used(a, r); len(used.Units) > 0 || used.Asked != a.Asked {
			j.Used = append(j.Used, used)
		}
	}
	j.News = !j.Denied.Same(g.Denied) || len(j.Used)+len(j.Retire)+len(j.Stay) > 0
	p.step.Judged = j
}

// restored are the clusters whose removal was let through, and that are declared again.
func (p *planner) restored() (out []api.ClusterName) {
	for name := range p.Guard.Retiring {
		if p.isDeclared(name) && !p.leaves(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// used tells what ends of an approval: all of it if it is too old, and each unit that is going or was restored.
func (p *planner) used(a inventory.Approval, r prune.Removal) Used {
	asked := a.Asked || slices.ContainsFunc(a.Units, func(u inventory.Unit) bool { return slices.Contains(r.Pending, u) })
	out := Used{Hash: a.Hash, Asked: asked}
	for _, u := range a.Units {
		if p.Now.Sub(a.At) >= ApprovalLife || !slices.Contains(r.Pending, u) && !p.unresolved(u) && (asked || !p.ahead(u)) {
			out.Units = append(out.Units, u)
		}
	}
	return out
}

// ahead says that a unit may be of a revision that is still to come: what it lets go is there.
func (p *planner) ahead(u inventory.Unit) bool {
	switch u.Kind {
	case inventory.UnitCluster:
		_, recorded := p.UIDs[u.Cluster]
		return recorded && !p.Guard.Retiring[u.Cluster]
	case inventory.UnitLink:
		return p.stands(u.Link())
	}
	asked, known := p.asks(u)
	return !known || !asked
}

// asks says that selectors or an overlay are declared as a unit has them; known: that somebody can tell.
func (p *planner) asks(u inventory.Unit) (asked, known bool) {
	if u.Kind == inventory.UnitOverlay {
		brought, ok := p.overlaid(u.Cluster)
		return ok && u == overlayUnit(u.Cluster, brought), ok
	}
	if p.Fleet == nil {
		return false, false
	}
	l, declared := p.Fleet.Link(u.Link())
	if !declared {
		return false, true
	}
	s, _ := p.chooses(l)
	return u == selectorsUnit(l.Pair(), s), true
}

// unresolved says that nobody knows whether a unit is still asked for: it was not restored, and a cluster of it cannot be read.
func (p *planner) unresolved(u inventory.Unit) bool {
	switch u.Kind {
	case inventory.UnitCluster:
		return false // the record tells
	case inventory.UnitLink:
		if p.linked(u.Link()) || !p.counts(u.Link()) {
			return false
		}
	default:
		if asked, known := p.asks(u); known && !asked {
			return false
		}
	}
	return slices.ContainsFunc([]api.ClusterName{u.Cluster, u.Source, p.holder(u.Link())}, func(name api.ClusterName) bool {
		return name != "" && p.remembered(name) && !p.Sides[name].Known
	})
}

// stands says that an end of a link is recorded that does not leave, or may be.
func (p *planner) stands(link api.Pair) bool {
	for _, name := range []api.ClusterName{link.Source, p.holder(link)} {
		side := p.Sides[name]
		inv, found := inventory.Of(p.Owner, object.End{Cluster: name, Link: link}, side.Seen)
		if p.remembered(name) && !side.Known || found && !inv.Leaving {
			return true
		}
	}
	return false
}

// retires notes the removed clusters of an end that begins to leave, if they may go themselves: they are not judged again. An end may begin
// for another reason, such as an approval of its other cluster.
func (p *planner) retires(next, old inventory.Inventory) {
	if !next.Leaving || old.Leaving {
		return
	}
	for _, name := range []api.ClusterName{next.End.Cluster, next.End.Link.Source, p.holder(next.End.Link)} {
		if p.departed(name) && !p.Guard.Retiring[name] && !slices.Contains(p.step.Judged.Retire, name) &&
			p.removal().Denies(object.End{Cluster: name}, false) == nil {
			p.step.Judged.Retire = append(p.step.Judged.Retire, name)
			slices.Sort(p.step.Judged.Retire)
		}
	}
}
