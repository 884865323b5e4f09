package plan

import (
	"cmp"
	"slices"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// write plans an inventory ahead of everything else; it is fenced: it happens only on what was read.
func (p *planner) write(next, old inventory.Inventory) *object.Reason {
	c, why := p.inventory(next, old)
	if why == nil {
		p.step.Ahead = append(p.step.Ahead, c)
	}
	return why
}

func (p *planner) inventory(next, old inventory.Inventory) (object.Change, *object.Reason) {
	o, err := next.Object(p.Owner)
	if err != nil {
		return object.Change{}, object.Because("Inventory", "%v", err)
	}
	if !p.side.Saw(o.Key) {
		return object.Change{}, object.Because("Unknown", "inventories were not looked for")
	}
	c := change(next.End, object.Create, o, old.Was, "Recorded", "what this end may hold")
	if !old.Was.IsZero() {
		c.Action = object.Update
	}
	c.Fenced = true
	return c, nil
}

// drop plans the end of an inventory: nothing it records is left.
func (p *planner) drop(inv inventory.Inventory) {
	p.step.After = append(p.step.After, object.Change{
		End: inv.End, Action: object.Delete, Key: inventory.Key(p.Owner, inv.End), Was: inv.Was,
		Why: object.Reason{Code: "Undeclared", Message: "nothing of this end is left"},
	})
}

// finish orders the step, puts the base and our namespace before everything else, and says when to ask again.
func (p *planner) finish() {
	s := p.step
	slices.SortStableFunc(s.Changes, func(a, b object.Change) int {
		return cmp.Or(cmp.Compare(taking(a), taking(b)), cmp.Compare(a.Object.Phase, b.Object.Phase), a.Key.Compare(b.Key))
	})
	slices.SortFunc(s.Rows, func(a, b Row) int { return a.End.Compare(b.End) })
	slices.SortStableFunc(s.Ahead, func(a, b object.Change) int { return a.End.Compare(b.End) })
	p.base()
	if len(s.Ahead) > 0 {
		p.namespace()
	}
	for _, r := range s.Rows {
		if (r.Standing == Waiting || r.Standing == Held) && r.Why != nil && p.comes(r) {
			s.Next = p.Now.Add(soon)
		}
	}
}

// comes says that what an end waits for may happen without any write of ours. What another cluster's
// step must do first is told by that cluster, unless another process writes it.
func (p *planner) comes(r Row) bool {
	switch r.Why.Code {
	case "NoCredential":
		token := p.Sides[r.End.Link.Target].Seen.Own[render.TokenSecret(p.Owner, r.End.Link.Source)]
		return token.Mark == object.Ours || p.Elsewhere[r.End.Link.Target]
	case prune.WaitingForSource, pair.InUse:
		return p.Elsewhere[r.End.Link.Source]
	}
	return r.Why.Code == prune.Waiting || r.Why.Code == "Going"
}

// taking sorts what takes something away last, except a Link's drain, which keeps its phase.
func taking(c object.Change) int {
	if c.Action == object.Delete || c.Action == object.Release {
		return 1
	}
	return 0
}

// base records the commit and the term, once per commit, in a cluster that holds or gets anything of ours.
func (p *planner) base() {
	declared, _, _ := p.declared(p.name)
	if declared == nil || len(p.recorded)+len(p.step.Ahead) == 0 {
		return
	}
	end := object.End{Cluster: p.name}
	old, found := p.record(end)
	if !found {
		old = p.baseOfOtherName(old)
	}
	if found && old.Commit == p.step.Commit {
		return
	}
	for _, policy := range p.policies {
		if policy(p.World, end, nil) != nil {
			return
		}
	}
	next := inventory.Inventory{End: end, Commit: p.step.Commit, Term: p.Term}
	if c, why := p.inventory(next, old); why == nil {
		p.step.Ahead = append([]object.Change{c}, p.step.Ahead...)
	}
}

// baseOfOtherName finds the base that an accepted cluster has from its former name: it is taken over.
func (p *planner) baseOfOtherName(none inventory.Inventory) inventory.Inventory {
	key := inventory.Key(p.Owner, none.End)
	none.Was = p.side.Seen.Own[key]
	return none
}

// namespace creates ours where it is missing; it is never deleted.
func (p *planner) namespace() {
	key := object.Key{Kind: "Namespace", Name: object.AccessNamespace}
	if !p.side.Seen.Own[key].IsZero() {
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
	c := change(object.End{Cluster: p.name}, object.Create, o, object.Record{}, "Missing", "home of accounts and inventories")
	p.step.Ahead = append([]object.Change{c}, p.step.Ahead...)
}

// Ledger is what must be read before it is known what else to look at.
func Ledger() []object.Watch { return []object.Watch{inventory.Watch()} }

// Watches lists all that has to be looked at in a cluster: what ends hold and held, what facts are
// read from, and what Linkerd's controllers left. Ledger is an observation of Ledger().
func Watches(w World, c fleet.Cluster, ledger object.Observation) ([]object.Watch, error) {
	recorded, err := inventory.Read(w.Owner, ledger)
	if err != nil {
		return nil, err
	}
	l := c.Spec.Linkerd
	out := append(Ledger(), linkerd.Watches(c.Spec)...)
	out = append(out, linkerd.MirrorWatches(l)...)
	out = append(out, object.Watch{Version: "v1", Kind: "Namespace", Names: []string{object.AccessNamespace}})
	targets, elsewhere := w.lookups(c.Name, l.MulticlusterNamespace, recorded)
	out = append(out, render.Watches(l, targets)...)
	return append(out, elsewhere...), nil
}

// lookups gives the targets whose control-plane secrets are looked for by name, a look at what
// secret managers wrote, and one at each recorded object that lies where nothing is listed (the namespace was another one then).
func (w World) lookups(name api.ClusterName, multicluster string, recorded []inventory.Inventory) (targets []api.ClusterName, elsewhere []object.Watch) {
	_, out, _ := w.declared(name)
	elsewhere = existing(out)
	for _, l := range out {
		if l.Spec.UsesRemoteDiscovery() && l.Spec.Credentials.Mode != api.Existing {
			targets = append(targets, l.Target.Name)
		}
	}
	for _, inv := range recorded {
		for _, k := range inv.Entries {
			v := render.VersionOf(k.Group, k.Kind)
			if v != "" && k.Namespace != "" && k.Namespace != multicluster && k.Namespace != object.AccessNamespace {
				elsewhere = append(elsewhere, object.Watch{Group: k.Group, Version: v, Kind: k.Kind, Namespace: k.Namespace, Names: []string{k.Name}})
			}
		}
	}
	return targets, elsewhere
}
