package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Releasing says what is given up, without deleting it: links, declared or not, and with All what clusters hold beside them.
type Releasing struct {
	Links map[api.Pair]bool
	All   bool
}

func (r *Releasing) has(p api.Pair) bool { return r.All || r.Links[p] }

// Touches says that something may be given up in a cluster.
func (w World) Touches(r *Releasing, name api.ClusterName) bool {
	for p := range r.Links {
		if p.Source == name || w.holder(p) == name {
			return true
		}
	}
	return r.All
}

// untouched is the row of a cluster that nothing is done in: without one it would seem to hold nothing of ours.
func (p *planner) untouched(s Step) Step {
	s.Rows = []Row{{End: object.End{Cluster: p.name}, Standing: InPlace}}
	return s
}

// release plans, in place of everything else, to take our marks off what World.Release names. An inventory goes once none of
// its objects is ours any more, and the base after all others: whatever was interrupted is found again.
func (p *planner) release(s Step) Step {
	if !p.Touches(p.Release, p.name) {
		return p.untouched(s)
	}
	if s.Refused = p.refusal(); s.Refused != nil {
		return s
	}
	p.step = &s
	var base *inventory.Inventory
	others := 0
	for _, inv := range p.rebuilt(p.name, p.recorded, func(object.Key, object.Record) {}) {
		switch {
		case inv.End.IsBase():
			base = &inv
		case p.Release.has(inv.End.Link):
			p.giveUp(inv)
			others++
		default:
			others++
		}
	}
	switch {
	case base == nil:
	case others == 0 && (p.Release.All || len(base.Entries) == 0):
		p.giveUp(*base)
	default:
		p.tell(Row{End: base.End, Standing: InPlace})
	}
	p.sort()
	return s
}

// giveUp takes the marks off what an end recorded, or, where none is left, drops its inventory.
func (p *planner) giveUp(inv inventory.Inventory) {
	row := Row{End: inv.End, Standing: Changing}
	for _, k := range inv.Entries {
		r := p.side.Seen.Record(k)
		switch {
		case !p.side.Saw(k):
			row.Standing, row.Why = Held, object.Because(reason.Unknown, "%s was not looked for", k)
			p.tell(row)
			return
		case r.Mark == object.Ours:
			row.Going = append(row.Going, k)
		}
	}
	for _, k := range row.Going {
		c := object.Change{End: inv.End, Key: k, Was: p.side.Seen.Record(k), Why: object.Reason{Code: reason.Released, Message: "given up: it stays as it is"}}
		p.step.Changes = append(p.step.Changes, prune.Release(c, linkerd.Helm{}))
	}
	if len(row.Going) == 0 {
		if row.Standing = Removed; !inv.Was.IsZero() {
			p.drop(inv)
		}
	}
	p.tell(row)
}
