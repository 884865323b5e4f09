package plan

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// maxOrphans is how many orphans of a cluster are reported.
const maxOrphans = 10

// orphanFinder finds the orphans in the cluster of a step.
type orphanFinder struct {
	*cluster
	rows []Row
}

// orphans returns the first orphans by key, those with linkwright's label first.
func (c *cluster) orphans(rows []Row) Orphans {
	found := orphanFinder{c, rows}.all()
	n := min(len(found), maxOrphans)
	return Orphans{Listed: found[:n:n], More: len(found) - n}
}

func (s orphanFinder) all() []Orphan {
	left := slices.Concat(s.leftByLinkerd(), s.lookalikes())
	slices.SortFunc(left, func(a, b Orphan) int { return a.Key.Compare(b.Key) })
	left = slices.CompactFunc(left, func(a, b Orphan) bool { return a.Key == b.Key })
	return append(slices.DeleteFunc(s.labelledOrphans(), func(m Orphan) bool { // a label that was copied onto a mirror tells less
		_, ok := slices.BinarySearchFunc(left, m.Key, func(l Orphan, k object.Key) int { return l.Key.Compare(k) })
		return ok
	}), left...)
}

// labelledOrphans returns the orphans with linkwright's label, sorted.
func (s orphanFinder) labelledOrphans() (out []Orphan) {
	for _, m := range s.unrecorded {
		if why, do := s.whyOrphan(m.key, m.record); why != "" {
			out = append(out, Orphan{m.key, why, do})
		}
	}
	slices.SortFunc(out, func(a, b Orphan) int { return a.Key.Compare(b.Key) })
	return out
}

// whyOrphan returns why a label does not make an object linkwright's, and what to do; empty for inventories and other objects of linkwright's own.
func (s orphanFinder) whyOrphan(k object.Key, r object.Record) (why, do string) {
	switch {
	case r.Mark == object.Ours && (state.IsLedger(s.Owner, k) || s.isDesired(k)):
		return "", ""
	case r.Mark == object.Copied:
		return "it has linkwright's label, but others set it (" + r.Writers() + "), or copied it onto a mirror",
			"remove the label " + object.OwnerLabel + ", or delete it if nobody needs it"
	}
	do = "delete it if nobody needs it, or remove the label " + object.OwnerLabel
	if k.Group == linkerd.Group && k.Kind == "Link" { // what no report shows
		at := s.Spec(s.name).Linkerd
		do += "; if you delete it, delete " + linkerd.ControlPlaneSecret(at, api.ClusterName(k.Name)).String() + ", too" // read by name only
		if k.Namespace != at.MulticlusterNamespace {
			do += ", and everything else with that label in namespace " + k.Namespace + ", which linkwright does not read"
		}
	}
	return "it has linkwright's label, but no inventory lists it: it is a copy, or its inventory was deleted", do
}

// isDesired reports whether an end of the cluster needs the object: linkwright records it before it writes it again.
func (s orphanFinder) isDesired(k object.Key) bool {
	return slices.ContainsFunc(s.desiredEnds, func(w object.Desired) bool {
		return slices.ContainsFunc(w.Objects, func(o object.Object) bool { return o.Key == k })
	})
}

// leftByLinkerd returns what Linkerd's controllers left for targets without a Link, a controller, an inventory or a declaration. It may be from a
// link whose inventory was lost, or somebody else's.
func (s orphanFinder) leftByLinkerd() (out []Orphan) {
	targets := s.unlinkedTargets()
	if len(targets) == 0 {
		return nil
	}
	reported := map[object.Key]bool{} // a federated Service may be of several
	mirrors := linkerd.MirrorsOf(s.Spec(s.name).Linkerd, s.current.Live)
	for _, target := range targets {
		m := mirrors[target]
		if len(m.Pods) > 0 && !s.HasLeft(s.name) { // they may take it away yet; nobody may read a cluster that left once they are gone
			continue
		}
		why := "a controller of Linkerd left it for a link to " + string(target) + ", and nothing else of that link is here"
		for _, k := range slices.Concat(m.Services, m.Endpoints, m.Probe, m.Lease) {
			out = append(out, Orphan{k, why, "delete it if nobody needs it"})
		}
		for _, f := range m.Federated {
			if !reported[f.Key] {
				reported[f.Key] = true
				out = append(out, Orphan{f.Key, "it lists a member for a link to " + string(target) + ", and nothing else of that link is here", "remove that member from its annotation " + linkerd.RemoteDiscovery + ", or delete it if no other member is left"})
			}
		}
	}
	slices.SortFunc(out, func(a, b Orphan) int { return a.Key.Compare(b.Key) })
	return out
}

// lookalikes returns objects with Linkerd's labels for a link that is being removed, or is gone, which no controller of Linkerd provably created.
// They stay.
func (s orphanFinder) lookalikes() (out []Orphan) {
	targets := s.unlinkedTargets()
	for _, row := range s.rows {
		if row.Leaving && row.End.IsSource() {
			targets = append(targets, row.End.Link.Target)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	mirrors := linkerd.MirrorsOf(s.Spec(s.name).Linkerd, s.current.Live)
	for _, target := range targets {
		for _, k := range mirrors[target].Unverified {
			out = append(out, Orphan{
				k, "it has the labels of a mirror from " + string(target) + ", but not its name, annotations and field manager, or it has a selector",
				"delete it if nobody needs it, or remove those labels",
			})
		}
	}
	return out
}

// unlinkedTargets returns, in order, the targets that controllers wrote for and that no link leads to.
func (s orphanFinder) unlinkedTargets() []api.ClusterName {
	observed := s.current.Live
	claimed := map[api.ClusterName]bool{}
	for k, body := range observed.Bodies() {
		s.checkTargets(claimed, linkerd.Hints(k, body))
	}
	for k := range observed.Kind("coordination.k8s.io", "Lease") {
		s.checkTargets(claimed, linkerd.Hints(k, object.Body{}))
	}
	maps.DeleteFunc(claimed, func(_ api.ClusterName, is bool) bool { return is })
	return slices.Sorted(maps.Keys(claimed))
}

func (s orphanFinder) checkTargets(claimed map[api.ClusterName]bool, targets []api.ClusterName) {
	for _, target := range targets {
		if _, known := claimed[target]; !known {
			claimed[target] = s.mayBeLinked(target)
		}
	}
}

// mayBeLinked reports whether a link to a target has anything here but what a controller wrote, or may have.
func (s orphanFinder) mayBeLinked(target api.ClusterName) bool {
	end := object.End{Cluster: s.name, Link: api.Pair{Source: s.name, Target: target}}
	controller := object.Watch{Group: "apps", Kind: "Deployment", Namespace: s.Spec(s.name).Linkerd.MulticlusterNamespace}
	if (Step{Rows: s.rows}).row(end).Phase != "" || !s.current.Covers(linkerd.LinkKey(s.Spec(s.name).Linkerd, target)) || s.current.Live.HidesAny(controller) != nil {
		return true
	}
	for k := range s.current.Live.Kind(linkerd.Group, "Link") {
		if k.Name == string(target) {
			return true
		}
	}
	for k := range s.current.Live.Kind("apps", "Deployment") {
		if k.Name == linkerd.Controller(target) || k.Name == linkerd.LegacyController(target) {
			return true
		}
	}
	return false
}

// keepWhileOrphans keeps a cluster that left the fleet, or leaves it, in the record while it has objects with linkwright's label that no inventory
// lists. An inventory of the other end may still prove whose they are; else people delete them, or abandon the cluster. Objects of Linkerd's
// controllers are reported, and keep no cluster.
func (p departure) keepWhileOrphans(s Step) Step {
	if !p.HasLeft(p.name) && !p.Leaves(p.name) || !s.Left() {
		return s
	}
	var orphans []object.Key
	for _, m := range (orphanFinder{p.cluster, s.Rows}).labelledOrphans() {
		if p.current.Live.Record(m.Key).Mark == object.Ours {
			orphans = append(orphans, m.Key)
		}
	}
	why := "the cluster is no longer declared"
	switch {
	case p.Uninstall:
		why = "linkwright is being uninstalled"
	case !p.HasLeft(p.name):
		why = "the cluster has state: Leaving"
	}
	switch {
	case len(orphans) == 0:
	case p.Abandoned[p.name] && p.HasLeft(p.name):
		s.Rows = []Row{p.abandonedRow()}
	default:
		s.Rows = []Row{{End: p.base(), Phase: Blocked, Leaving: true, Why: object.Because(reason.OrphanedObjects,
			"%s, and has orphans (%d, the first is %s): delete those that nobody needs, or remove the declaration, if any, and run %s",
			why, len(orphans), orphans[0], p.Command("abandon "+string(p.name)))}}
	}
	return s
}
