package prune

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Census counts what one revision would remove in all clusters together, and what there is. It leaves out what no limit applies to:
// unlinks that began, and clusters with state Leaving.
//
//	a link between clusters that stay     Links: true if the revision removes it
//	a link of a cluster that is removed   in none: it is counted with its cluster
//	a link of a cluster never written to  Links: it counts for its other cluster alone
//	an unlink that began                  Begun: it is finished, whatever is denied
type Census struct {
	Clusters []api.ClusterName // whose declaration is gone
	Links    map[api.Pair]bool // that are recorded: whether they go
	Begun    []api.Pair        // unlinks that began in their source, or of which only a pending cleanup is left; sorted
	// Unread are clusters that stay and cannot be read now. Unlinks that began there count with those that would begin now. Otherwise
	// clusters that come back one after the other could each remove some more of their links.
	Unread map[api.ClusterName]bool
	// Unknown are clusters of Links that are no longer declared and were never written to: they lose nothing.
	Unknown   map[api.ClusterName]bool
	Names     map[api.ClusterName]api.ClusterName // of second names of targets: the clusters
	Mirrors   map[api.ClusterName]Mirrors         // of clusters that stay, which were read
	Selectors []SelectorChange
	Overlays  []Overlay
}

// Mirrors are the mirrored Services of one cluster: how many there are, and how many go with each unit.
type Mirrors struct {
	All  int
	Gone map[inventory.Unit]int
}

// SelectorChange is a declared link whose selectors change: how many of its Services the new ones no longer choose.
type SelectorChange struct {
	Unit      inventory.Unit
	Lost, All int
}

// Overlay is a cluster from which objects go that only its overlay brought.
type Overlay struct {
	Unit      inventory.Unit
	Lost, All int
}

// How many may always be deleted in one cluster: mirrored Services, and objects that only an overlay added.
const (
	minMirrors = 20
	MinOverlay = 20
)

// Limits are what a census is compared with: prune limits, what people approved, and what was denied before, which stays denied until
// it is declared again or approved. Unresolved are units of Denied in clusters that cannot be read now. They stay part of the removal,
// so that its hash does not change while a cluster is briefly unreachable.
type Limits struct {
	api.PruneLimits
	Approved   map[inventory.Unit]bool
	Denied     *inventory.Denial
	Unresolved []inventory.Unit
	In         object.Installation
}

// Removal is what one revision removes and nobody has approved. Over has one phrase for each limit that it exceeds; if it is empty,
// the removal may proceed.
type Removal struct {
	Units    []inventory.Unit // sorted
	Hash     string           // of Units
	Exceeded []string
	Approved map[inventory.Unit]bool
	Pending  []inventory.Unit                    // Units, and those that are approved
	Names    map[api.ClusterName]api.ClusterName // as in the Census
	In       object.Installation
}

// Evaluate compares what a revision removes with the limits.
func (c Census) Evaluate(l Limits) Removal {
	all := c.units(l.Unresolved)
	r := Removal{Approved: maps.Clone(l.Approved), Pending: all, Names: c.Names, In: l.In}
	if r.Approved == nil {
		r.Approved = map[inventory.Unit]bool{}
	}
	for _, p := range c.Begun {
		r.Approved[inventory.LinkUnit(p)] = true
	}
	r.Units = slices.DeleteFunc(slices.Clone(all), func(u inventory.Unit) bool { return l.Approved[u] })
	r.Hash = inventory.HashOf(r.Units)
	going := make(map[inventory.Unit]bool, len(r.Units))
	for _, u := range r.Units {
		going[u] = true
	}
	r.Exceeded = slices.Concat(c.clustersOver(l, going), c.linksOver(l, going), c.mirrorsOver(l, going), c.overlaysOver(l, going))
	if d := l.Denied; d != nil && len(r.Exceeded) == 0 && d.Has(going) {
		r.Exceeded = []string{deniedBefore(r.Units)}
	}
	return r
}

// deniedBefore words a removal that exceeds no limit now, and is denied because it was denied before.
func deniedBefore(units []inventory.Unit) string {
	var out []string
	for _, kind := range inventory.UnitKinds() {
		n := 0
		for _, u := range units {
			if u.Kind == kind {
				n++
			}
		}
		if n > 0 {
			out = append(out, ofKind(kind, n))
		}
	}
	return strings.Join(out, ", ") + " of a removal that was denied before"
}

// ofKind is how many units of a kind there are, in words.
func ofKind(kind inventory.UnitKind, n int) string {
	switch kind {
	case inventory.UnitSelectors:
		return "selectors of " + object.Count(n, "link")
	case inventory.UnitOverlay:
		return "overlay objects in " + object.Count(n, "cluster")
	}
	return object.Count(n, string(kind))
}

func (c Census) units(more []inventory.Unit) []inventory.Unit {
	out := slices.Clone(more)
	for _, name := range c.Clusters {
		out = append(out, inventory.Unit{Kind: inventory.UnitCluster, Cluster: name})
	}
	for p, goes := range c.Links {
		if goes {
			out = append(out, inventory.LinkUnit(p))
		}
	}
	for _, n := range c.Selectors {
		if n.Lost > 0 {
			out = append(out, n.Unit)
		}
	}
	for _, o := range c.Overlays {
		out = append(out, o.Unit)
	}
	slices.SortFunc(out, inventory.Unit.Compare)
	return slices.Compact(out)
}

func (c Census) clustersOver(l Limits, going map[inventory.Unit]bool) []string {
	var names []string
	for u := range going {
		if u.Kind == inventory.UnitCluster {
			names = append(names, string(u.Cluster))
		}
	}
	if len(names) <= l.MaxClusters {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("%s (%s; maxClusters %d)", object.Count(len(names), "cluster"), object.FirstNames(names, 5), l.MaxClusters)}
}

// linksOver compares, for each cluster that stays, the links that it loses with those that it had.
func (c Census) linksOver(l Limits, going map[inventory.Unit]bool) (over []string) {
	of := c.linkLosses(l, going)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		k := of[name]
		if lost, had := k.lost+k.begun, k.had+k.begun; k.lost > 0 && lost > l.MinAllowed && exceeds(lost, had, l.MaxLinks) {
			over = append(over, fmt.Sprintf("%s of cluster %s (maxLinks %d%%, minAllowed %d)",
				share(lost, had, "link"), name, l.MaxLinks, l.MinAllowed))
		}
	}
	return over
}

// linkLoss counts the links of a cluster: those it has, those it would lose, and those whose unlink began.
type linkLoss struct{ had, lost, begun int }

// linkLosses counts for all clusters that stay. A link whose narrowed selectors lose more than maxLinks of its mirrors counts as removed.
func (c Census) linkLosses(l Limits, going map[inventory.Unit]bool) map[api.ClusterName]linkLoss {
	of := map[api.ClusterName]linkLoss{}
	add := func(p api.Pair, count func(api.ClusterName, *linkLoss)) {
		for _, name := range []api.ClusterName{p.Source, canonical(c.Names, p.Target)} {
			if c.Unknown[name] {
				continue
			}
			k := of[name]
			count(name, &k)
			of[name] = k
		}
	}
	emptied := map[api.Pair]bool{}
	for _, n := range c.Selectors {
		emptied[n.Unit.Link()] = going[n.Unit] && exceeds(n.Lost, n.All, l.MaxLinks)
	}
	for p, goes := range c.Links {
		add(p, func(_ api.ClusterName, k *linkLoss) {
			k.had++
			if goes && going[inventory.LinkUnit(p)] || emptied[p] {
				k.lost++
			}
		})
	}
	for _, p := range c.Begun {
		add(p, func(name api.ClusterName, k *linkLoss) {
			if c.Unread[name] && !l.Approved[inventory.LinkUnit(p)] {
				k.begun++
			}
		})
	}
	return of
}

func (c Census) mirrorsOver(l Limits, going map[inventory.Unit]bool) (over []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Mirrors)) {
		lost := 0
		for u, n := range c.Mirrors[name].Gone {
			if going[u] {
				lost += n
			}
		}
		if all := c.Mirrors[name].All; lost > minMirrors && exceeds(lost, all, l.MaxMirrors) {
			over = append(over, fmt.Sprintf("%s in cluster %s (maxMirrors %d%%)",
				share(lost, all, "mirrored Service"), name, l.MaxMirrors))
		}
	}
	return over
}

func (c Census) overlaysOver(l Limits, going map[inventory.Unit]bool) (over []string) {
	for _, o := range c.Overlays {
		if going[o.Unit] && o.Lost > MinOverlay && exceeds(o.Lost, o.All, l.MaxLinks) {
			over = append(over, fmt.Sprintf("%s that the overlay added to cluster %s (maxLinks %d%%)",
				share(o.Lost, o.All, "object"), o.Unit.Cluster, l.MaxLinks))
		}
	}
	return over
}

func exceeds(lost, all, percent int) bool { return lost*100 > percent*all }

// Denial is what the revision may not remove; nil: it may remove all of it.
func (r Removal) Denial() *inventory.Denial {
	if len(r.Exceeded) == 0 {
		return nil
	}
	return &inventory.Denial{Hash: r.Hash, Units: r.Units, Exceeded: r.Exceeded}
}

// Why is the reason why nothing may be removed; nil: the removal may proceed.
func (r Removal) Why() *object.Reason {
	if d := r.Denial(); d != nil {
		return d.Why(r.In)
	}
	return nil
}

// Denies returns why an end may lose nothing now; nil: it may, because no limit is exceeded or people approved it.
func (r Removal) Denies(end object.End, declared bool) *object.Reason {
	why := r.Why()
	if why == nil || r.approves(end, declared) {
		return nil
	}
	return why
}

// approves reports whether people approved all that an end loses. Approving a removed cluster approves its links.
func (r Removal) approves(end object.End, declared bool) bool {
	if declared {
		kind := inventory.UnitSelectors
		if end.IsBase() {
			kind = inventory.UnitOverlay
		}
		of := func(u inventory.Unit) bool { return u.Kind == kind && covers(u, end) }
		return !slices.ContainsFunc(r.Units, of) && slices.ContainsFunc(slices.Collect(maps.Keys(r.Approved)), of)
	}
	return r.Approved[inventory.LinkUnit(end.Link)] || slices.ContainsFunc(
		[]api.ClusterName{end.Cluster, end.Link.Source, canonical(r.Names, end.Link.Target)}, func(name api.ClusterName) bool {
			return r.Approved[inventory.Unit{Kind: inventory.UnitCluster, Cluster: name}]
		})
}

// canonical is the name of the cluster that a second name stands for.
func canonical(names map[api.ClusterName]api.ClusterName, name api.ClusterName) api.ClusterName {
	if of, second := names[name]; second {
		return of
	}
	return name
}

func covers(u inventory.Unit, end object.End) bool {
	if u.Kind == inventory.UnitOverlay {
		return u.Cluster == end.Cluster
	}
	return u.Link() == end.Link
}

// share is how many of all are lost.
func share(lost, all int, noun string) string {
	if all == 1 {
		return "the only " + noun
	}
	return fmt.Sprintf("%d of the %s", lost, object.Count(all, noun))
}
