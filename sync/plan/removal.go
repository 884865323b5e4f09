package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
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
	News   bool
	Denied *inventory.Denial
	Spent  []string          // hashes of approvals that end
	Retire []api.ClusterName // clusters whose removal begins with this step; sorted
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

// census counts what is recorded in all clusters that can be read, by their own inventories and those of their peers.
func (p *planner) census() prune.Census {
	c := prune.Census{Links: map[api.Pair]bool{}, Mirrors: map[api.ClusterName]prune.Mirrors{}}
	for _, d := range p.Departed {
		if !p.Guard.Retiring[d.Name] && !p.Forget[d.Name] && !p.handed(d.Name) { // a renamed cluster stays
			c.Clusters = append(c.Clusters, d.Name)
		}
	}
	recorded := p.holdings()
	p.countLinks(&c, recorded)
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if !p.departed(name) && !p.leaves(name) {
			p.countIn(&c, name, recorded[name])
		}
	}
	return c
}

// countLinks adds the links that are recorded between clusters that stay.
func (p *planner) countLinks(c *prune.Census, recorded map[api.ClusterName][]inventory.Inventory) {
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		for _, inv := range recorded[name] {
			pair := inv.End.Link
			if inv.End.IsBase() || !p.counts(pair) {
				continue
			}
			c.Links[pair] = !p.linked(pair)
			if inv.Leaving && c.Links[pair] {
				c.Begun = append(c.Begun, pair)
			}
		}
	}
	for _, pair := range c.Begun {
		delete(c.Links, pair)
	}
}

// holdings are the inventories of all clusters that can be read and are who they are said to be.
func (p *planner) holdings() map[api.ClusterName][]inventory.Inventory {
	out := map[api.ClusterName][]inventory.Inventory{}
	for name, side := range p.Sides {
		if !side.Known || p.stranger(name) != nil {
			continue
		}
		recorded, err := inventory.Read(p.Owner, side.Seen)
		if err == nil {
			out[name] = p.rebuilt(name, recorded, func(object.Key, object.Record) {})
		}
	}
	return out
}

// counts says that a link is between clusters that stay: it is not part of a larger removal.
func (p *planner) counts(pair api.Pair) bool {
	for _, name := range []api.ClusterName{pair.Source, pair.Target} {
		if !p.isDeclared(name) || p.leaves(name) {
			return false
		}
	}
	return true
}

// countIn adds what goes in one cluster that stays: mirrors, what selectors no longer choose, what the overlay no longer brings.
func (p *planner) countIn(c *prune.Census, name api.ClusterName, recorded []inventory.Inventory) {
	side, at := p.Sides[name], p.spec(name).Linkerd
	gone := map[api.ClusterName]inventory.Unit{} // by target
	for _, inv := range recorded {
		if target := inv.End.Link.Target; inv.End.IsSource() && !inv.Leaving {
			if slices.Contains(c.Clusters, target) {
				gone[target] = inventory.Unit{Kind: inventory.UnitCluster, Cluster: target}
			} else if c.Links[inv.End.Link] {
				gone[target] = inventory.LinkUnit(inv.End.Link)
			}
		}
		if inv.End.IsBase() {
			p.countOverlay(c, name, inv)
		}
	}
	narrows := p.narrowed(name)
	if len(gone)+len(narrows) == 0 {
		return
	}
	mirrors := linkerd.MirrorsOf(at, side.Seen)
	all, m := map[object.Key]bool{}, prune.Mirrors{Gone: map[inventory.Unit]int{}}
	for target, mirror := range mirrors {
		selected := mirror.Selected()
		for _, k := range selected {
			all[k] = true
		}
		if u, goes := gone[target]; goes {
			m.Gone[u] = len(selected)
		}
	}
	for _, l := range narrows {
		mirror, live := mirrors[l.Target.Name], p.selectors(l)
		u := inventory.Unit{Kind: inventory.UnitSelectors, Source: name, Target: l.Target.Name, To: short(render.Selectors(l))}
		lost := len(render.Selectors(l).Lost(live, mirror, side.Seen))
		c.Selectors = append(c.Selectors, prune.Narrowing{Unit: u, Lost: lost, All: len(mirror.Selected())})
		m.Gone[u] = lost
	}
	m.All = len(all)
	c.Mirrors[name] = m
}

// narrowed are the declared links of a source whose live Linkerd Link chooses services that it may choose no longer.
func (p *planner) narrowed(name api.ClusterName) (out []fleet.Link) {
	_, links, _ := p.declared(name)
	for _, l := range links {
		if p.linked(l.Pair()) && render.Selectors(l).Narrows(p.selectors(l)) {
			out = append(out, l)
		}
	}
	return out
}

// selectors are those of a link's live Linkerd Link; of one that is not ours, none.
func (p *planner) selectors(l fleet.Link) linkerd.Selectors {
	seen, key := p.Sides[l.Source.Name].Seen, linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name)
	if seen.Record(key).Mark != object.Ours {
		return linkerd.Selectors{}
	}
	body, _ := seen.Body(key)
	return linkerd.SelectorsIn(body)
}

// countOverlay adds the objects that only an overlay brought and no longer does. Few may always go, and are not counted.
func (p *planner) countOverlay(c *prune.Census, name api.ClusterName, base inventory.Inventory) {
	if len(base.Entries) <= prune.MinOverlay {
		return
	}
	desired := map[object.Key]bool{}
	for _, want := range p.wants(name, object.End{Cluster: name}) {
		if want.End.IsBase() && want.Held != nil {
			return
		}
		for _, o := range want.Objects {
			desired[o.Key] = true
		}
	}
	lost := slices.DeleteFunc(slices.Clone(base.Entries), func(k object.Key) bool { return desired[k] })
	if len(lost) > prune.MinOverlay {
		u := inventory.Unit{Kind: inventory.UnitOverlay, Cluster: name, To: short(lost)}
		c.Overlays = append(c.Overlays, prune.Overlay{Unit: u, Lost: len(lost), All: len(base.Entries)})
	}
}

// short names a value: 8 hex digits.
func short(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:8]
}

// judge says what of removals the record does not know yet.
func (p *planner) judge() {
	g := p.Guard
	if p.weighed == nil && g.Denied == nil && len(g.Approvals)+len(p.step.Judged.Retire) == 0 {
		return // nothing is taken away, and nothing was denied
	}
	j, r := Judged{Retire: p.step.Judged.Retire}, p.removal()
	if j.Denied = r.Denial(); j.Denied != nil {
		j.Denied.Commit = p.commit()
	}
	for _, a := range g.Approvals {
		if p.spent(a, r) {
			j.Spent = append(j.Spent, a.Hash)
		}
	}
	j.News = !j.Denied.Same(g.Denied) || len(j.Spent)+len(j.Retire) > 0
	p.step.Judged = j
}

// spent says that an approval ends: all that it let go is going, or nothing asks for it.
func (p *planner) spent(a inventory.Approval, r prune.Removal) bool {
	return p.Now.Sub(a.At) >= ApprovalLife || !slices.ContainsFunc(a.Units, func(u inventory.Unit) bool { return p.open(u, r) })
}

// open says that a unit that was approved has not begun to go. Of a cluster that cannot be read nobody knows.
func (p *planner) open(u inventory.Unit, r prune.Removal) bool {
	switch u.Kind {
	case inventory.UnitCluster:
		_, recorded := p.UIDs[u.Cluster]
		return recorded && !p.Guard.Retiring[u.Cluster]
	case inventory.UnitLink:
		return p.stands(u.Link())
	}
	return slices.Contains(r.Pending, u) || p.unresolved(u)
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
