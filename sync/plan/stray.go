package plan

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Stray is an object that carries our label and is not provably ours, or that a controller of Linkerd's left for a link of which
// nothing else is there: nobody but people takes it away.
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

// ledger says that an object is an inventory, or the namespace of all inventories, which stays.
func (w World) ledger(k object.Key) bool {
	return inventory.Named(w.Owner, k) || k == object.Key{Kind: "Namespace", Name: object.AccessNamespace}
}

// provesNothing says why a mark proves nothing, and what to do: empty for what is part of how we keep account.
func (p *planner) provesNothing(k object.Key, r object.Record) (why, do string) {
	switch {
	case r.Mark == object.Ours && (p.ledger(k) || p.desires(k)):
		return "", ""
	case r.Mark == object.Copied:
		return "our label is on it, and was set by others (" + rivals(r) + "), or copied onto a mirror",
			"take the label " + object.OwnerLabel + " off, or delete it if nobody needs it"
	}
	do = "delete it if nobody needs it, or take the label " + object.OwnerLabel + " off"
	if k.Group == linkerd.Group && k.Kind == "Link" { // what no report shows
		at := p.spec(p.name).Linkerd
		do += "; if you delete it, delete " + linkerd.ControlPlaneSecret(at, api.ClusterName(k.Name)).String() + ", too" // read by name only
		if k.Namespace != at.MulticlusterNamespace {
			do += ", and what else carries that label in namespace " + k.Namespace + ", which linkwright does not read"
		}
	}
	return "it carries linkwright's mark, but no inventory lists it: it is a copy, or its inventory was deleted", do
}

// desires says that an end of the planner's own cluster wants an object: it is recorded before it is written again.
func (p *planner) desires(k object.Key) bool {
	return slices.ContainsFunc(p.wanted, func(w object.Wanted) bool {
		return slices.ContainsFunc(w.Objects, func(o object.Object) bool { return o.Key == k })
	})
}

// astray tells the first strays, by key: those with our label before others.
func (p *planner) astray() {
	slices.SortFunc(p.strays, func(a, b Stray) int { return a.Key.Compare(b.Key) })
	left := slices.Concat(p.abandoned(), p.lookalikes())
	slices.SortFunc(left, func(a, b Stray) int { return a.Key.Compare(b.Key) })
	left = slices.CompactFunc(left, func(a, b Stray) bool { return a.Key == b.Key })
	p.strays = append(slices.DeleteFunc(p.strays, func(s Stray) bool { // a label that was copied onto a mirror tells less
		_, ok := slices.BinarySearchFunc(left, s.Key, func(l Stray, k object.Key) int { return l.Key.Compare(k) })
		return ok
	}), left...)
	n := min(len(p.strays), mostStrays)
	p.step.Strays, p.step.MoreStrays = p.strays[:n:n], len(p.strays)-n
}

// Orphaned is the code of a cluster that left the fleet or is to leave, and in which nothing is left but orphans.
const Orphaned = reason.Orphaned

// orphaned keeps a cluster remembered that left the fleet or is to leave, while anything carries our mark there that no inventory lists, or
// its report would tell of that just once. An inventory of the other end may still prove whose it is; else people delete it, or abandon
// the cluster. What Linkerd's controllers left is told, and holds no cluster: it may be somebody else's.
func (p *planner) orphaned() {
	if !p.departed(p.name) && !p.leaves(p.name) || !p.step.Left() {
		return
	}
	var orphans []object.Key
	for _, s := range p.strays {
		if p.side.Seen.Record(s.Key).Mark == object.Ours {
			orphans = append(orphans, s.Key)
		}
	}
	why := "the cluster is declared no more"
	if !p.departed(p.name) {
		why = "the cluster is declared to leave"
	}
	switch {
	case len(orphans) == 0:
	case p.Forget[p.name] && p.departed(p.name):
		p.step.Rows = []Row{p.forsake()}
	default:
		p.step.Rows = []Row{{End: object.End{Cluster: p.name}, Standing: Held, Leaving: true, Why: object.Because(Orphaned,
			"%s, and has orphans (%d, the first is %s): delete those that nobody needs, or, once it is declared no more, give them up: %s",
			why, len(orphans), orphans[0], p.command("abandon "+string(p.name)))}}
	}
}

// abandoned is what controllers of Linkerd's left for targets of which nothing else is here: no Link, no controller, no inventory
// and no declaration. It may be a link of ours of which the inventory was lost, or somebody else's: nothing proves either.
func (p *planner) abandoned() (out []Stray) {
	targets := p.unclaimed()
	if len(targets) == 0 {
		return nil
	}
	told := map[object.Key]bool{} // a federated Service may be of several
	mirrors := linkerd.MirrorsOf(p.spec(p.name).Linkerd, p.side.Seen)
	for _, target := range targets {
		m := mirrors[target]
		if len(m.Pods) > 0 && !p.departed(p.name) { // they may take it away yet; nobody may look at a cluster that left once they are gone
			continue
		}
		why := "a controller of Linkerd's left it for a link to " + string(target) + ", of which nothing else is here"
		for _, k := range slices.Concat(m.Services, m.Endpoints, m.Probe, m.Lease) {
			out = append(out, Stray{k, why, "delete it if nobody needs it"})
		}
		for _, f := range m.Federated {
			if !told[f.Key] {
				told[f.Key] = true
				out = append(out, Stray{f.Key, "it lists a member for a link to " + string(target) + ", of which nothing else is here", "take that out of its annotation " + linkerd.RemoteDiscovery + ", or delete it if nobody else is left there"})
			}
		}
	}
	slices.SortFunc(out, func(a, b Stray) int { return a.Key.Compare(b.Key) })
	return out
}

// lookalikes are what has Linkerd's labels for a link that is being removed, or is gone, and that no controller of Linkerd's provably
// made: it stays, whatever becomes of the link.
func (p *planner) lookalikes() (out []Stray) {
	targets := p.unclaimed()
	for _, row := range p.step.Rows {
		if row.Leaving && row.End.IsSource() {
			targets = append(targets, row.End.Link.Target)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	mirrors := linkerd.MirrorsOf(p.spec(p.name).Linkerd, p.side.Seen)
	for _, target := range targets {
		for _, k := range mirrors[target].Unproven {
			out = append(out, Stray{
				k, "it has the labels of what Linkerd mirrors from " + string(target) + ", but not the name, annotations and field manager, or it has a selector",
				"delete it if nobody needs it, or take those labels off",
			})
		}
	}
	return out
}

// unclaimed are, in order, the targets that controllers wrote for and that nobody links.
func (p *planner) unclaimed() []api.ClusterName {
	seen := p.side.Seen
	claimed := map[api.ClusterName]bool{}
	for k, body := range seen.Bodies() {
		p.claim(claimed, linkerd.Hints(k, body))
	}
	for k := range seen.Kind("coordination.k8s.io", "Lease") {
		p.claim(claimed, linkerd.Hints(k, object.Body{}))
	}
	maps.DeleteFunc(claimed, func(_ api.ClusterName, is bool) bool { return is })
	return slices.Sorted(maps.Keys(claimed))
}

func (p *planner) claim(claimed map[api.ClusterName]bool, targets []api.ClusterName) {
	for _, target := range targets {
		if _, known := claimed[target]; !known {
			claimed[target] = p.links(target)
		}
	}
}

// links says that something but what a controller wrote is there of a link to a target, or may be: a Link was not looked for.
func (p *planner) links(target api.ClusterName) bool {
	end := object.End{Cluster: p.name, Link: api.Pair{Source: p.name, Target: target}}
	controller := object.Watch{Group: "apps", Kind: "Deployment", Namespace: p.spec(p.name).Linkerd.MulticlusterNamespace}
	if p.step.row(end).Standing != "" || !p.side.Saw(linkerd.LinkKey(p.spec(p.name).Linkerd, target)) || p.side.Seen.HidesAny(controller) != nil {
		return true
	}
	for k := range p.side.Seen.Kind(linkerd.Group, "Link") {
		if k.Name == string(target) {
			return true
		}
	}
	for k := range p.side.Seen.Kind("apps", "Deployment") {
		if k.Name == linkerd.Controller(target) || k.Name == linkerd.LegacyController(target) {
			return true
		}
	}
	return false
}
