package plan

import (
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// writeBase records what the base may hold, and with it commit and term: one write, whatever of it changed.
func (p *planner) writeBase() {
	end := object.End{Cluster: p.name}
	old, found := p.record(end)
	if p.base == nil && !p.owesCommit(old, found) {
		return
	}
	next := old
	if p.base != nil {
		next = *p.base
	}
	next.Commit, next.Term, next.Linkerd, next.Names = p.step.Commit, p.Term, p.spec(p.name).Linkerd, p.secondNames()
	if c, why := p.inventory(next, old); why == nil {
		p.step.Ahead = append([]object.Change{c}, p.step.Ahead...)
	}
}

// owesCommit: once per commit, in a cluster that is to stay and holds or gets anything of ours; never for a term alone.
func (p *planner) owesCommit(old inventory.Inventory, found bool) bool {
	declared, _, _ := p.declared(p.name)
	if p.Adopt != nil {
		return declared != nil && p.owesBase(found, old)
	}
	return declared != nil && !p.leaves(p.name) && len(p.recorded)+len(p.step.Ahead) > 0 &&
		(!found || p.formerBase || old.Commit != p.step.Commit || old.Linkerd != declared.Spec.Linkerd) && p.closed(old.End) == nil
}

// left tells of a cluster that is leaving that it is through.
func (p *planner) left() {
	if len(p.step.Rows) == 0 && p.leaves(p.name) {
		p.tell(Row{
			End: object.End{Cluster: p.name}, Standing: Removed, Leaving: true,
			Why: object.Because(reason.Left, "nothing of linkwright is left in cluster %s: its declaration can be removed", p.name),
		})
	}
}

// Left says that nothing of ours is left in the cluster: nobody need remember it.
func (s Step) Left() bool {
	if s.Refused != nil || s.Writes()+len(s.Look) > 0 {
		return false
	}
	for _, r := range s.Rows {
		if r.Standing != Removed {
			return false
		}
	}
	return true
}

// Quiet says that a row has nothing to tell: a base in place without a remark, or one that goes when the links do.
func (r Row) Quiet() bool {
	if !r.End.IsBase() {
		return false
	}
	switch r.Standing {
	case InPlace, Removed:
		return r.Why == nil
	case Waiting:
		return r.Why != nil && r.Why.Code == prune.WaitingForLinks
	}
	return false
}

// lacks says why the base's objects cannot be applied, though they can be rendered.
func (p *planner) lacks(want object.Wanted) *object.Reason {
	if !want.End.IsBase() || len(want.Objects) == 0 {
		return nil
	}
	if why := p.side.Facts.Lack(linkerd.AsSource); why != nil && why.Code == reason.NotInstalled {
		return why
	}
	return nil
}

// namespace creates ours where it is missing; it is never deleted.
func (p *planner) namespace() {
	key := object.Key{Kind: "Namespace", Name: object.AccessNamespace}
	if !p.side.Seen.Record(key).IsZero() {
		return
	}
	ns := coreac.Namespace(key.Name)
	o, err := object.New(object.Spec{
		Key: key, Version: "v1", Phase: object.PhaseAccess, Owner: p.Owner,
		Meta: ns.ObjectMetaApplyConfiguration, Config: ns,
	})
	if err != nil {
		return // a constant: it encodes
	}
	c := change(object.End{Cluster: p.name}, object.Create, o, object.Record{}, reason.Missing, "home of accounts and inventories")
	p.step.Ahead = append([]object.Change{c}, p.step.Ahead...)
}
