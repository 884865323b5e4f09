package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Stray is an object that carries our label and is not provably ours: nobody but people takes it away.
type Stray struct {
	Key object.Key `json:"key"`
	Why string     `json:"why"` // it proves nothing
	Do  string     `json:"do"`  // about it
}

// mostStrays bounds how many are told of a cluster.
const mostStrays = 10

// strayIn notes the strays of the planner's own cluster, of all that is read anyway.
func (p *planner) strayIn(name api.ClusterName) func(object.Key, object.Record) {
	if name != p.name {
		return func(object.Key, object.Record) {}
	}
	return func(k object.Key, r object.Record) {
		if why, do := p.provesNothing(k, r); why != "" {
			p.strays = append(p.strays, Stray{k, why, do})
		}
	}
}

// provesNothing says why a mark proves nothing, and what to do: empty for what is part of how we keep account.
func (p *planner) provesNothing(k object.Key, r object.Record) (why, do string) {
	ledger := inventory.Named(p.Owner, k) || k == object.Key{Kind: "Namespace", Name: object.AccessNamespace}
	switch {
	case ledger && r.Mark == object.Ours:
		return "", ""
	case r.Mark == object.Copied:
		return "our label is on it, and was set by others (" + rivals(r) + "), or copied onto a mirror",
			"take the label " + object.OwnerLabel + " off, or delete it if nobody needs it"
	}
	return "it carries our mark, stands in no inventory, and has the name of nothing that linkwright writes",
		"delete it if nobody needs it, or take the label " + object.OwnerLabel + " off"
}

// astray tells the first strays, by key.
func (p *planner) astray() {
	slices.SortFunc(p.strays, func(a, b Stray) int { return a.Key.Compare(b.Key) })
	n := min(len(p.strays), mostStrays)
	p.step.Strays, p.step.MoreStrays = p.strays[:n:n], len(p.strays)-n
}
