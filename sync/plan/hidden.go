package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// What the account may not read is unknown, so what depends on it is neither made nor changed nor taken away:
//
//	an object that an end holds               the end is blocked: differs, and prune for what goes; its peer does not go
//	a fact                                    the ends made of it: linkerd.FactsOf
//	accounts and tokens in linkwright-access  the sources of links to the cluster, too: unissued
//	mirrors, pods, leases, Linkerd Links      nothing of a link's end in its source goes: blind
//	a control plane's Secret of a new link    only remote discovery and federation: undiscovered
//	anything, for adopt and release           the cluster: unsure
//	all that is left in a departed cluster    the cluster, once people abandon it: yields

// blind says that nothing of a source's end may go, since nobody sees what is mirrored for it, or nil.
func (p *planner) blind(end object.End) *object.Reason {
	if end.IsBase() || !end.IsSource() {
		return nil
	}
	l := p.spec(p.name).Linkerd
	links := object.Watch{Group: linkerd.Group, Kind: "Link"}
	return p.side.Seen.HidesAny(append(linkerd.MirrorWatches(l), links)...)
}

// unissued says that nobody sees which access the source of a link has in its target, or nil.
func (p *planner) unissued(l fleet.Link) *object.Reason {
	account := render.Account(p.Owner, l.Source.Name)
	seen := p.Sides[l.Target.Canonical()].Seen
	for _, kind := range []string{"Secret", "ServiceAccount"} {
		if why := seen.HidesAny(object.Watch{Kind: kind, Namespace: account.Namespace}); why != nil {
			return object.Because(why.Code, "cluster %s: %s", l.Target.Canonical(), why.Message)
		}
	}
	return nil
}

// undiscovered says that the source's control plane cannot be given the credential of a new link, since nobody granted its Secret by name
// yet, or nil: the link is made without remote discovery and federation. Where the Secret may be there, since it was recorded or the
// live Linkerd Link makes use of it, the whole end is blocked instead.
func (p *planner) undiscovered(l fleet.Link) *object.Reason {
	seen := p.Sides[l.Source.Name].Seen
	secret := linkerd.ControlPlaneSecret(l.Source.Spec.Linkerd, l.Target.Name)
	why := seen.Hides(secret)
	if why == nil || !l.Spec.UsesRemoteDiscovery() || l.Spec.Credentials.Mode == api.Existing || p.discovers(l) {
		return nil
	}
	end := object.End{Cluster: l.Source.Name, Link: l.Pair()}
	if inv, _ := inventory.Of(p.Owner, end, seen); inv.Has(secret) {
		return nil
	}
	return object.Because(why.Code, "remote discovery and federated services of this link are blocked, and all else of it goes on: %s", why.Message)
}

// withhold blocks an end of which all is in place but what undiscovered leaves out.
func (p *planner) withhold(row Row) Row {
	if row.End.IsBase() || !row.End.IsSource() || row.Standing != InPlace && row.Standing != Waiting || p.Fleet == nil {
		return row
	}
	if l, ok := p.Fleet.Link(row.End.Link); ok {
		if why := p.undiscovered(l); why != nil {
			row.Standing, row.Why = Held, why
		}
	}
	return row
}

// unsure says that something is hidden of what adopting or releasing links must see, or nil.
func (p *planner) unsure() *object.Reason {
	if hidden := p.side.Seen.Hidden; len(hidden) > 0 {
		return hidden[0].Why()
	}
	return nil
}

// yields gives up a departed cluster that can be read, and that people abandoned: once each end that is left there waits for something
// that the account may not read. What can go without that goes before. Until people abandon it, such ends say how.
func (p *planner) yields() {
	s := p.step
	if s.Writes()+len(s.Needs)+len(s.Look) == 0 && slices.ContainsFunc(s.Rows, p.concealed) {
		s.Rows, _ = p.givenUp(s.Rows, p.concealed)
	}
	for i, r := range s.Rows {
		if p.concealed(r) {
			s.Rows[i].Why = p.grantable(p.name, r.Why)
		}
	}
}

// grantable adds to what is hidden in a cluster how that is granted, or given up, once no declaration names the cluster any more.
func (p *planner) grantable(name api.ClusterName, hidden *object.Reason) *object.Reason {
	if hidden == nil || !p.departed(name) || p.Forget[name] {
		return hidden
	}
	return object.Because(hidden.Code, "%s, with a revision that still declares cluster %s; or give up what is left there: %s", hidden.Message, name, p.command("abandon "+string(name)))
}

// GiveUp gives a step of a departed cluster as it is if the account may do none of its writes: the cluster is given up if people abandoned it;
// false: they did not, or something there waits for something else.
func GiveUp(w World, s Step) (Step, bool) {
	p := &planner{World: w, name: s.Cluster, side: w.Sides[s.Cluster]}
	rows, ok := p.givenUp(s.Rows, func(r Row) bool { return r.Standing == Changing || r.Standing == Removed || p.concealed(r) })
	return Step{Cluster: s.Cluster, Commit: s.Commit, Rows: rows}, ok
}

// givenUp are the rows of a departed cluster that people abandoned, if nothing of what is left there can go; else they are as they were.
func (p *planner) givenUp(rows []Row, stuck func(Row) bool) ([]Row, bool) {
	if !p.Forget[p.name] || !p.departed(p.name) {
		return rows, false
	}
	var left []object.End
	for _, r := range rows {
		switch {
		case r.End.IsBase() && len(rows) > 1: // it goes when the links did
		case stuck(r):
			left = append(left, r.End)
		case r.Standing != Removed:
			return rows, false
		}
	}
	return []Row{p.forsake(left...)}, true
}

// concealed says that a row waits for something that may not be read in its own cluster.
func (p *planner) concealed(r Row) bool {
	return r.Why != nil && slices.ContainsFunc(p.side.Seen.Hidden, func(h object.Hidden) bool { return *h.Why() == *r.Why })
}

// unseen says that something that an end recorded may not be read, or nil.
func unseen(side pair.Side, inv inventory.Inventory) *object.Reason {
	for _, k := range inv.Entries {
		if why := side.Seen.Hides(k); why != nil {
			return why
		}
	}
	return nil
}
