package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Unread is the code of an end that waits for clusters to be read in this pass: see Step.Look.
const Unread = reason.Unread

// takes says that a write takes something away, or begins to: an object, a selector, an entry of an inventory. Whatever
// else is written can be taken back.
func takes(next, old inventory.Inventory, changes []object.Change) bool {
	return next.Leaving && !old.Leaving ||
		slices.ContainsFunc(changes, func(c object.Change) bool { return c.Action.Takes() }) ||
		slices.ContainsFunc(old.Entries, func(k object.Key) bool { return !next.Has(k) })
}

// unread asks for the clusters of an end that were not read in this pass, and says that it waits for them; nil: all were.
// Those that could not be read at all have been asked, but for a source that is to lose its access for that.
func (p *planner) unread(end object.End) *object.Reason {
	var first api.ClusterName
	source := p.today(end.Link.Source)
	for _, name := range []api.ClusterName{p.name, source, p.holder(end.Link)} {
		side := p.Sides[name]
		if side.Pass == p.Pass || !side.Known && (name != source || end.IsSource() || !p.remembered(name) || p.forsaken(name)) {
			continue
		}
		if first == "" {
			first = name
		}
		p.step.Look = append(p.step.Look, name)
	}
	if first == "" {
		return nil
	}
	return object.Because(Unread, "something is to be taken away, and before that cluster %s is read once more", first)
}

// lookBack orders Look, and looks once more before a cluster is forgotten of which nothing seems to be left.
func (p *planner) lookBack() {
	s := p.step
	if _, remembered := p.UIDs[p.name]; remembered && s.Left() && p.side.Pass != p.Pass {
		s.Look = append(s.Look, p.name)
	}
	slices.Sort(s.Look)
	s.Look = slices.Compact(s.Look)
}
