package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// asked is the rotation of a link that people ask for, as the inventory of its target's end tells, or nil.
func (p *planner) asked(l fleet.Link) *pair.Asked {
	r := inventory.Asked(p.Owner, targetEnd(l), p.Sides[l.Target.Canonical()].Seen)
	if r == nil || l.Spec.Credentials.Mode == api.Existing {
		return nil
	}
	return &pair.Asked{Past: r.After, Revoke: r.Revoke}
}

// unmet is what an inventory is to ask for from now on: nothing more once it is done.
func (p *planner) unmet(end object.End, asked *inventory.Rotation) *inventory.Rotation {
	if asked == nil {
		return nil
	}
	l, declared := p.Fleet.Link(end.Link)
	switch {
	case !declared:
		return asked
	case l.Spec.Credentials.Mode == api.Existing,
		l.Spec.Credentials.Mode == api.Bound && p.rotation(l).Met,
		l.Spec.Credentials.Mode == api.LegacyToken && p.lasting(l).Met:
		return nil
	}
	return asked
}

// goesOn says that the control plane of a link's source reads a former credential until it is told. Where nobody can tell it, it goes on
// until people restart it: tokens of mode Bound stay for a generation, and those of mode LegacyToken until people say that they go.
func (p *planner) goesOn(l fleet.Link, asked *pair.Asked) bool {
	if p.untellable(l) {
		return p.changed(l) != "" && l.Spec.Credentials.Mode == api.LegacyToken && (asked == nil || !asked.Revoke)
	}
	return p.behind(l)
}

// behind says that the control plane of a link's source is yet to be told of its credential.
func (p *planner) behind(l fleet.Link) bool {
	mark := p.changed(l)
	body, seen := p.Sides[l.Source.Name].Seen.Body(linkerd.Destination(l.Source.Spec.Linkerd))
	return mark != "" && seen && len(linkerd.ToldOf(p.Owner, body).Lacks([]string{mark})) > 0
}

// untellable says that the source's control plane uses a link's credential, and that nobody lets us see what it was told.
func (p *planner) untellable(l fleet.Link) bool {
	source := p.Sides[l.Source.Name]
	return l.Spec.UsesRemoteDiscovery() && source.Known && !source.Saw(linkerd.Destination(l.Source.Spec.Linkerd))
}

// unproven has the step asked again soon where the source took a new token, and nobody knows yet whether it works: no watch tells.
func (p *planner) unproven(l fleet.Link) {
	if now, _ := p.credential(l); p.known(l).Took(now) {
		p.until(p.Now.Add(soon))
	}
}

// Turn is a rotation of one link that people ask for. Refused: why it cannot be. Already: it is asked for, and not done yet. Else
// Change is what is written to ask for it, fenced, in the cluster of its End. Waits tells what keeps it from beginning, and Minds what
// people must see to themselves, or nil.
type Turn struct {
	Link                  api.Pair
	Past                  int
	Already               bool
	Change                object.Change
	Refused, Waits, Minds *object.Reason
}

// Turns asks for another token of each of these links than it has, and to revoke, for the end of all that it has.
func Turns(w World, links []fleet.Link, revoke bool, policies ...Policy) []Turn {
	out := make([]Turn, len(links))
	for i, l := range links {
		in := l.Target.Canonical()
		p := &planner{World: w, name: in, side: w.Sides[in], policies: policies}
		out[i] = p.turn(l, revoke)
	}
	return out
}

func (p *planner) turn(l fleet.Link, revoke bool) Turn {
	t := Turn{Link: l.Pair()}
	end := object.End{Cluster: p.name, Link: t.Link}
	old, why := p.turns(l, end, revoke)
	if why != nil {
		t.Refused = why
		return t
	}
	t.Waits = p.closed(end)
	if far := p.closed(object.End{Cluster: l.Source.Name, Link: t.Link}); t.Waits == nil {
		t.Waits = far
	}
	if p.untellable(l) {
		t.Minds = object.Because(Untold, "linkwright may not tell Linkerd's control plane in %s of the new token: restart it once that is in use", l.Source.Name)
	}
	newest, err := p.newest(l, old)
	switch {
	case old.Rotate != nil && (revoke && !old.Rotate.Revoke || p.using(l) <= old.Rotate.After):
		t.Past, t.Already = old.Rotate.After, old.Rotate.Revoke || !revoke
	case err != nil:
		t.Refused = object.Because(reason.Unknown, "%v", err)
		return t
	default:
		t.Past = newest
	}
	revoke = revoke || old.Rotate != nil && old.Rotate.Revoke
	if t.Already {
		return t
	}
	next := old
	next.Rotate = &inventory.Rotation{After: t.Past, Revoke: revoke}
	t.Change, t.Refused = p.inventory(next, old)
	return t
}

// newest is the number of the last token that a link has, or is to have by what its target's end has recorded.
func (p *planner) newest(l fleet.Link, recorded inventory.Inventory) (int, error) {
	a := p.access(l)
	a.Last, _ = pair.LastOf(a.Account, recorded.Entries)
	return p.known(l).Newest(a)
}

// using is the number of the token that a link's source took; 0: of none.
func (p *planner) using(l fleet.Link) int {
	used, number := p.lasting(l).Use, p.lasting(l).Number
	if l.Spec.Credentials.Mode == api.Bound {
		r := p.rotation(l)
		used, number = r.Use, r.Number
	}
	if !p.known(l).Took(used) {
		return 0
	}
	return number
}

// turns gives the inventory of a link's end in its target, or why its token cannot be replaced.
func (p *planner) turns(l fleet.Link, end object.End, revoke bool) (inventory.Inventory, *object.Reason) {
	policy := p.policy().Prune.Policy
	switch {
	case l.Spec.Credentials.Mode == api.Existing:
		return inventory.Inventory{}, object.Because(reason.Existing, "credentials.mode is Existing: its token is your secret manager's, have that write another one")
	case !p.side.Known:
		return inventory.Inventory{}, orElse(p.side.Err, "cluster %s was not read", p.name)
	case p.stranger(p.name) != nil:
		return inventory.Inventory{}, p.stranger(p.name)
	case policy == api.CreateOnly:
		return inventory.Inventory{}, object.Because(reason.PrunePolicy, "the SyncPolicy's prune.policy is %s: its source would never be given another token", policy)
	case revoke && policy != api.PruneSync:
		return inventory.Inventory{}, object.Because(reason.PrunePolicy, "the SyncPolicy's prune.policy is %s: nothing is deleted, no token either", policy)
	}
	inv, found := inventory.Of(p.Owner, end, p.side.Seen)
	if !found {
		return inv, object.Because(reason.NoCredential, "it has no token yet: there is nothing to replace")
	}
	return inv, nil
}

func orElse(why *object.Reason, format string, a ...any) *object.Reason {
	if why != nil {
		return why
	}
	return object.Because(reason.Unknown, format, a...)
}
