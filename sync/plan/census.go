package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// tally counts what a revision takes away.
type tally struct{ *desired }

// census counts what is recorded in all clusters that can be read, by their own inventories and those of their peers.
func (r tally) census() prune.Census {
	c := prune.Census{Links: map[api.Pair]bool{}, Unread: map[api.ClusterName]bool{}, Unknown: map[api.ClusterName]bool{}, Names: map[api.ClusterName]api.ClusterName{}, Mirrors: map[api.ClusterName]prune.Mirrors{}}
	for _, d := range r.Departed {
		if !r.Guard.Retiring[d.Name] && !r.Abandoned[d.Name] && !r.Renamed(d.Name) { // a renamed cluster stays
			c.Clusters = append(c.Clusters, d.Name)
		}
	}
	recorded := r.inventories()
	for name := range r.UIDs {
		if _, read := recorded[name]; !read && r.IsCluster(name) && !r.Leaves(name) {
			c.Unread[name] = true
		}
	}
	r.countLinks(&c, recorded)
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if !r.HasLeft(name) && !r.Leaves(name) {
			r.countIn(&c, name, recorded[name])
		}
	}
	return c
}

// countLinks adds the links that are recorded, if they are no part of a larger removal.
func (r tally) countLinks(c *prune.Census, recorded map[api.ClusterName][]inventory.Inventory) {
	begun := r.begun(recorded)
	for _, all := range recorded {
		for _, inv := range all {
			if pair := inv.End.Link; !inv.End.IsBase() && r.countsAlone(pair) && !begun[pair] {
				c.Links[pair] = !r.Linked(pair)
			}
		}
	}
	c.Begun = slices.SortedFunc(maps.Keys(begun), api.Pair.Compare)
	for pair := range c.Links {
		in := r.TargetCluster(pair)
		if in != pair.Target {
			c.Names[pair.Target] = in
		}
		for _, name := range []api.ClusterName{pair.Source, in} {
			if !r.IsDeclared(name) {
				c.Unknown[name] = true
			}
		}
	}
}

// begun returns the unlinks that are finished, whatever is denied: those whose end in the source leaves, or is gone, and those whose cleanup is
// pending. While a source cannot be read, or does not show its mirrors, nobody can judge what would disappear there: so its target's end alone
// begins nothing.
func (r tally) begun(recorded map[api.ClusterName][]inventory.Inventory) map[api.Pair]bool {
	out := map[api.Pair]bool{}
	add := func(pair api.Pair) {
		if r.countsAlone(pair) && !r.Linked(pair) {
			out[pair] = true
		}
	}
	for _, all := range recorded {
		for _, inv := range all {
			if !inv.End.IsBase() && inv.Leaving && (inv.End.IsSource() || r.goneFromSource(recorded, inv.End.Link)) {
				add(inv.End.Link)
			}
		}
	}
	for name := range r.Pending {
		for _, end := range r.PendingIn(name) {
			if !r.recreatedIn(recorded, name, end.Link) {
				add(end.Link)
			}
		}
	}
	return out
}

// goneFromSource reports whether the source was read and has no inventory of a link.
func (r tally) goneFromSource(recorded map[api.ClusterName][]inventory.Inventory, link api.Pair) bool {
	all, read := recorded[link.Source]
	return read && !slices.ContainsFunc(all, func(inv inventory.Inventory) bool { return inv.End.Link == link })
}

// recreatedIn reports whether the other cluster of a link has created it again since cleanup of the given one is pending.
func (r tally) recreatedIn(recorded map[api.ClusterName][]inventory.Inventory, pending api.ClusterName, link api.Pair) bool {
	other := link.Source
	if other == pending {
		other = r.TargetCluster(link)
	}
	return slices.ContainsFunc(recorded[other], func(inv inventory.Inventory) bool { return inv.End.Link == link && !inv.Leaving })
}

// inventories returns the inventories of all identified clusters that can be read.
func (r tally) inventories() map[api.ClusterName][]inventory.Inventory {
	out := map[api.ClusterName][]inventory.Inventory{}
	for name, current := range r.Clusters {
		if !current.Known() || r.Unidentified(name) != nil {
			continue
		}
		recorded, err := r.Inventories(name)
		if err == nil {
			out[name] = r.Rebuilt(name, recorded, func(object.Key, object.Record) {})
		}
	}
	return out
}

// countsAlone reports whether a link is no part of a larger removal: of a cluster that is removed, or leaves. A cluster that is neither declared nor
// in the record is none: nothing was written there, and so its links go by themselves.
func (r tally) countsAlone(pair api.Pair) bool {
	if r.Fleet == nil {
		return false
	}
	source := r.CurrentName(pair.Source)
	if source != pair.Source && r.Linked(api.Pair{Source: source, Target: pair.Target}) {
		return false // it goes on by the source's name of today
	}
	for _, name := range []api.ClusterName{source, r.TargetCluster(pair)} {
		if r.HasLeft(name) || r.Leaves(name) {
			return false
		}
	}
	return true
}

// countIn adds what goes in one cluster that stays: mirrors, what selectors no longer choose, what the overlay no longer brings.
func (r tally) countIn(c *prune.Census, name api.ClusterName, recorded []inventory.Inventory) {
	current, at := r.Clusters[name], r.Spec(name).Linkerd
	gone := map[api.ClusterName]inventory.Unit{} // by target
	for _, inv := range recorded {
		if target := inv.End.Link.Target; inv.End.IsSource() && !inv.Leaving {
			if in := r.TargetCluster(inv.End.Link); slices.Contains(c.Clusters, in) {
				gone[target] = inventory.Unit{Kind: inventory.UnitCluster, Cluster: in}
			} else if c.Links[inv.End.Link] {
				gone[target] = inventory.LinkUnit(inv.End.Link)
			}
		}
		if inv.End.IsBase() {
			r.countOverlay(c, name, inv)
		}
	}
	narrows := r.narrowed(name)
	if len(gone)+len(narrows) == 0 {
		return
	}
	mirrors := linkerd.MirrorsOf(at, current.Live)
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
	for _, n := range narrows {
		mirror, live := mirrors[n.Target.Name], r.liveSelectors(n.Link)
		u := selectorsUnit(n.Pair(), n.selectors)
		lost := len(n.selectors.Lost(live, mirror, current.Live))
		c.Selectors = append(c.Selectors, prune.SelectorChange{Unit: u, Lost: lost, All: len(mirror.Selected())})
		m.Gone[u] = lost
	}
	m.All = len(all)
	c.Mirrors[name] = m
}

// narrowing is a link that is to choose less than it does.
type narrowing struct {
	fleet.Link
	selectors linkerd.Selectors
}

// narrowed returns the declared links of a source whose live Linkerd Link chooses services that it may choose no longer, with what it is to choose.
func (r tally) narrowed(name api.ClusterName) (out []narrowing) {
	_, links, _ := r.Declared(name)
	for _, l := range links {
		if !r.Linked(l.Pair()) {
			continue
		}
		if s, narrows := r.desiredSelectors(l); narrows {
			out = append(out, narrowing{l, s})
		}
	}
	return out
}

// desiredSelectors returns the selectors that a link's Linkerd Link is to have, and whether these take something from the live ones. A live Link as
// we wrote it last takes nothing: whoever widened it since is corrected.
func (r tally) desiredSelectors(l fleet.Link) (s linkerd.Selectors, narrows bool) {
	s, narrows = render.Selectors(l), render.Selectors(l).Narrows(r.liveSelectors(l))
	if !narrows && l.Source.Overlay == nil {
		return s, false
	}
	end, link := object.End{Cluster: l.Source.Name, Link: l.Pair()}, linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name)
	for _, want := range r.ends(end.Cluster, end) {
		for _, o := range want.Objects {
			if want.End == end && o.Key == link {
				if l.Source.Overlay != nil {
					s = linkerd.SelectorsIn(o.Body)
				}
				return s, prune.Drains(o, r.Clusters[end.Cluster].Live)
			}
		}
	}
	return s, narrows
}

// liveSelectors returns the selectors of a link's live Linkerd Link, or none if that is not linkwright's.
func (r tally) liveSelectors(l fleet.Link) linkerd.Selectors {
	observed, key := r.Clusters[l.Source.Name].Live, linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name)
	if observed.Record(key).Mark != object.Ours {
		return linkerd.Selectors{}
	}
	body, _ := observed.Body(key)
	return linkerd.SelectorsIn(body)
}

// countOverlay adds the objects that only an overlay brought and no longer does. Few may always go, and are not counted.
func (r tally) countOverlay(c *prune.Census, name api.ClusterName, base inventory.Inventory) {
	if len(base.Entries) <= prune.MinOverlay {
		return
	}
	brought, ok := r.overlayObjects(name)
	if !ok {
		return
	}
	lost := slices.DeleteFunc(slices.Clone(base.Entries), func(k object.Key) bool { return slices.Contains(brought, k) })
	if len(lost) > prune.MinOverlay {
		c.Overlays = append(c.Overlays, prune.Overlay{Unit: overlayUnit(name, brought), Lost: len(lost), All: len(base.Entries)})
	}
}

// overlayObjects returns the objects of a cluster's overlay, sorted; false: they are not known.
func (r tally) overlayObjects(name api.ClusterName) (brought []object.Key, ok bool) {
	for _, want := range r.ends(name, object.End{Cluster: name}) {
		if want.End.IsBase() {
			if want.Blocked != nil {
				return nil, false
			}
			brought = append(brought, keys(want)...)
		}
	}
	slices.SortFunc(brought, object.Key.Compare)
	return brought, true
}

// overlayUnit returns what an overlay takes away by bringing only these objects: the same however much of it is done.
func overlayUnit(name api.ClusterName, brought []object.Key) inventory.Unit {
	return inventory.Unit{Kind: inventory.UnitOverlay, Cluster: name, To: shortHash(brought)}
}

// selectorsUnit returns what a link's selectors take away, as they are to be.
func selectorsUnit(p api.Pair, s linkerd.Selectors) inventory.Unit {
	return inventory.Unit{Kind: inventory.UnitSelectors, Source: p.Source, Target: p.Target, To: shortHash(s)}
}

// shortHash returns the first 8 hex digits of a value's hash.
func shortHash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:8]
}
