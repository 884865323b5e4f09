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
	Spent       []string          // hashes of approvals that end
	Retire      []api.ClusterName // clusters whose removal begins with this step; sorted
	Stay        []api.ClusterName // clusters that are declared again, and are to be judged once they are removed; sorted
}

// Removal is what the fleet takes away in all clusters together, and whether that is over a limit.
func Removal(w World, r Renderer) prune.Removal {
	return (&planner{World: w, renderer: r}).removal()
}

// removal is Removal, weighed once.
func (p *planner) removal() prune.Removal {
	if p.weighed == nil {
		l := prune.Limits{PruneLimits: p.limits(), Approved: p.approved(), Denied: p.Guard.Denied}
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
		if p.spent(a, r) {
			j.Spent = append(j.Spent, a.Hash)
		}
	}
	j.News = !j.Denied.Same(g.Denied) || len(j.Spent)+len(j.Retire)+len(j.Stay) > 0
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

// spent says that an approval ends: all that it let go is going, or it is too old.
func (p *planner) spent(a inventory.Approval, r prune.Removal) bool {
	return p.Now.Sub(a.At) >= ApprovalLife || !slices.ContainsFunc(a.Units, func(u inventory.Unit) bool { return p.open(u, r) })
}

// open says that a unit that was approved has not begun to go: also one of a revision that is still to come. Of a cluster that cannot be
// read nobody knows.
func (p *planner) open(u inventory.Unit, r prune.Removal) bool {
	switch u.Kind {
	case inventory.UnitCluster:
		_, recorded := p.UIDs[u.Cluster]
		return recorded && !p.Guard.Retiring[u.Cluster]
	case inventory.UnitLink:
		return p.stands(u.Link())
	}
	return !p.asks(u) || slices.Contains(r.Pending, u) || p.unresolved(u)
}

// asks says that selectors or an overlay are declared as a unit has them.
func (p *planner) asks(u inventory.Unit) bool {
	if u.Kind == inventory.UnitOverlay {
		brought, ok := p.overlaid(u.Cluster)
		return ok && u == overlayUnit(u.Cluster, brought)
	}
	if p.Fleet == nil {
		return false
	}
	l, declared := p.Fleet.Link(u.Link())
	if !declared {
		return false
	}
	s, _ := p.chooses(l)
	return u == selectorsUnit(l.Pair(), s)
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
	}
	return slices.ContainsFunc([]api.ClusterName{u.Cluster, u.Source, u.Target}, func(name api.ClusterName) bool {
		return name != "" && p.remembered(name) && !p.Sides[name].Known
	})
}

// stands says that an end of a link is recorded that does not leave, or may be.
func (p *planner) stands(link api.Pair) bool {
	for _, name := range []api.ClusterName{link.Source, link.Target} {
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
	for _, name := range []api.ClusterName{next.End.Cluster, next.End.Link.Source, next.End.Link.Target} {
		if p.departed(name) && !p.Guard.Retiring[name] && !slices.Contains(p.step.Judged.Retire, name) &&
			p.removal().Denies(object.End{Cluster: name}, false) == nil {
			p.step.Judged.Retire = append(p.step.Judged.Retire, name)
			slices.Sort(p.step.Judged.Retire)
		}
	}
}
