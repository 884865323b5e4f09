package plan

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// external gives the ends of a cluster whose controller is the user's, each with the release of Helm's that installed the
// multicluster extension there: those that are declared so, and recorded ones by a former name of the source, of which the link
// by its name of today is.
func (p *planner) external(name api.ClusterName, in prune.Input) map[object.End]linkerd.Helm {
	var out map[object.End]linkerd.Helm
	add := func(end object.End) {
		if out == nil {
			out = map[object.End]linkerd.Helm{}
		}
		out[end] = linkerd.HelmOf(p.Sides[name].Seen)
	}
	_, links, _ := p.declared(name)
	for _, l := range links {
		if l.Spec.Controller.Mode == api.External {
			add(object.End{Cluster: name, Link: l.Pair()})
		}
	}
	for _, inv := range in.Recorded {
		if _, declared := in.Wanted[inv.End]; declared || !inv.End.IsSource() {
			continue
		}
		if l, ok := p.heir(name, inv.End); ok && l.Spec.Controller.Mode == api.External && l.Target.Name == inv.End.Link.Target {
			add(inv.End)
		}
	}
	return out
}

// successor says why what an end that is recorded in a cluster holds must stay: what takes its place is not in place and
// ready. That is
//
//	of a declared end              the end itself, as it is declared now
//	of a link between renamed ones the source's end of the link that is declared between the same two clusters
//	of any other                   nothing
//
// Where a target has another name, a federated Service whose only member is the former one's is waited for as well: it would
// go, and its address with it, and be made anew under the same name a moment later.
func (p *planner) successor(in api.ClusterName, end object.End, declared bool) *object.Reason {
	next := end
	if !declared {
		l, ok := p.heir(in, end)
		if !ok {
			return nil
		}
		next = object.End{Cluster: l.Source.Name, Link: l.Pair()}
	}
	lacks := p.unready(next)
	if lacks == "" {
		lacks = p.lastMember(end, next)
	}
	if lacks == "" {
		return nil
	}
	if why := Suspend(p.World, next, nil); why != nil {
		lacks = why.Message
	}
	return object.Because(prune.WaitingForSuccessor, "it stays until %s is ready, which takes its place: %s; "+
		"if that is never to be, declare it as it was before, or take that link out, and what is here goes", next, lacks)
}

// lastMember says which federated Service would go with the former name of a target, though the link by the new name makes
// members of the same services and only has not done so yet; empty: none.
func (p *planner) lastMember(end, next object.End) string {
	was, is := end.Link.Target, next.Link.Target
	if !end.IsSource() || was == is {
		return ""
	}
	l, seen := p.spec(next.Cluster).Linkerd, p.Sides[next.Cluster].Seen
	former, _ := seen.Body(linkerd.LinkKey(l, was))
	now, _ := seen.Body(linkerd.LinkKey(l, is))
	if !linkerd.FederateAlike(former, now) {
		return ""
	}
	for _, f := range linkerd.MirrorsOf(l, seen)[was].Federated {
		if !f.Others {
			return f.Key.String() + " has no member of it yet (if it is to have none, as nothing exports that service any more: delete it)"
		}
	}
	return ""
}

// heir is the declared link between the same two clusters as one that is declared no more, under another name of either.
// An inventory that names another cluster than the one it lies in is of that one's former name.
func (p *planner) heir(in api.ClusterName, end object.End) (fleet.Link, bool) {
	if p.Fleet == nil || p.isDeclared(end.Link.Source) && p.isDeclared(end.Link.Target) {
		return fleet.Link{}, false
	}
	called := func(name api.ClusterName) []api.ClusterName {
		if name == end.Cluster {
			name = in
		}
		return p.called(p.uid(name))
	}
	targets := called(end.Link.Target)
	for _, source := range called(end.Link.Source) {
		for _, target := range targets {
			if l, ok := p.Fleet.Link(api.Pair{Source: source, Target: target}); ok {
				return l, true
			}
		}
	}
	return fleet.Link{}, false
}

// called gives the declared names of the cluster with an identity, in order: where a cluster leaves a large fleet, each of its
// ends asks.
func (p *planner) called(uid string) []api.ClusterName {
	if p.declaredAs == nil {
		p.declaredAs = make(map[string][]api.ClusterName, len(p.Fleet.Clusters))
		for _, c := range p.Fleet.Clusters {
			if id := p.uid(c.Name); id != "" {
				p.declaredAs[id] = append(p.declaredAs[id], c.Name)
			}
		}
	}
	return p.declaredAs[uid]
}

func (p *planner) isDeclared(name api.ClusterName) bool {
	c, _, _ := p.declared(name)
	return c != nil
}

// uid is the identity of a cluster by name: as it is remembered, unless people accepted another. Of a name by which nothing was
// read yet, it is the one that people say it has.
func (p *planner) uid(name api.ClusterName) string {
	seen, accepted := p.Sides[name].Facts.UID, p.Accepted[name]
	if known := p.UIDs[name]; known != "" && (seen == "" || accepted != seen) {
		return known
	}
	if seen == "" {
		return accepted
	}
	return seen
}

// unready says what of a declared end is not in place and ready, in words; empty: nothing.
func (p *planner) unready(end object.End) string {
	if why := p.stranger(end.Cluster); why != nil {
		return why.Message
	}
	side, wanted := p.Sides[end.Cluster], p.wants(end.Cluster, end)
	i := slices.IndexFunc(wanted, func(w object.Wanted) bool { return w.End == end })
	switch {
	case i < 0:
		return "it is not wanted"
	case wanted[i].Held != nil:
		return wanted[i].Held.Message
	}
	objects := wanted[i].Objects
	for _, o := range objects {
		switch live := side.Seen.Record(o.Key); {
		case live.Mark != object.Ours, live.Digest != o.Digest, live.Going:
			return o.Key.String() + " is not written yet"
		case !live.Health.IsZero():
			return o.Key.String() + ": " + live.Health.String()
		}
	}
	return p.unrun(end, side.Seen)
}

// unrun says that the user's chart does not run the controller of a link that is declared so.
func (p *planner) unrun(end object.End, seen object.Observation) string {
	l, ok := p.Fleet.Link(end.Link)
	if !ok || !end.IsSource() || l.Spec.Controller.Mode != api.External {
		return ""
	}
	k := object.Key{Group: "apps", Kind: "Deployment", Namespace: p.spec(end.Cluster).Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
	switch live := seen.Record(k); {
	case live.IsZero():
		return k.String() + " is not there: let Linkerd's chart run it"
	case !live.Health.IsZero():
		return k.String() + ": " + live.Health.String()
	}
	return ""
}

// renamed says that a departed name's cluster is declared, and was accepted, under another: the one that it gives. What it
// holds by the old name is handed over there.
func (w World) renamed(name api.ClusterName) (api.ClusterName, bool) {
	side := w.Sides[name]
	if !side.Known || side.Facts.UID == "" || !w.departed(name) {
		return "", false
	}
	for _, other := range w.named(side.Facts.UID) {
		if !w.departed(other) && w.accepts(other) {
			return other, true
		}
	}
	return "", false
}

// today is the name that a cluster has now.
func (w World) today(name api.ClusterName) api.ClusterName {
	if now, renamed := w.renamed(name); renamed {
		return now
	}
	return name
}

// handed says that a name was given up for another.
func (w World) handed(name api.ClusterName) bool {
	_, renamed := w.renamed(name)
	return renamed
}

// named gives all names under which a cluster was read, in order.
func (w World) named(uid string) (out []api.ClusterName) {
	for name, side := range w.Sides {
		if side.Known && side.Facts.UID == uid {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// accepts says that a cluster has its name by people's leave, or had it when it was last written to: its base says so.
func (w World) accepts(name api.ClusterName) bool {
	side := w.Sides[name]
	if w.Accepted[name] == side.Facts.UID {
		return true
	}
	base, ok := inventory.ReadBase(w.Owner, side.Seen)
	return ok && base.End.Cluster == name
}

// handingOver says that a cluster's former name still stands in inventories: until it does not, the name is remembered,
// since only it tells which cluster they mean.
func (p *planner) handingOver() *object.Reason {
	for _, name := range p.others() {
		side := p.Sides[name]
		if !side.Known {
			return object.Because(prune.WaitingForLinks, "cluster %s cannot be read, and may have links by the name %s", name, p.name)
		}
		if !p.mentioned(side.Seen) {
			continue
		}
		recorded, err := inventory.Read(p.Owner, side.Seen)
		if err != nil {
			return object.Because(prune.WaitingForLinks, "inventories of cluster %s cannot be read, and may name %s", name, p.name)
		}
		for _, inv := range recorded {
			if inv.End.Link.Source == p.name || inv.End.Link.Target == p.name {
				return object.Because(prune.WaitingForLinks, "%s is still to be handed over", inv.End)
			}
		}
	}
	return nil
}

// mentioned says that an inventory may be of an end that has the planner's name: reading all takes much longer.
func (p *planner) mentioned(seen object.Observation) bool {
	for k := range seen.Kind("", "ConfigMap") {
		if inventory.Named(p.Owner, k) && strings.Contains(k.Name, string(p.name)) {
			return true
		}
	}
	return false
}

// here is an end with the name that its cluster has now: what closes it is declared by that.
func (p *planner) here(end object.End) object.End {
	end.Cluster = p.name
	return end
}

// others are all names but the planner's own, in order.
func (p *planner) others() (out []api.ClusterName) {
	for name := range p.Sides {
		if name != p.name {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
