package state

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Inventories returns those of a cluster. What the base and targets' ends say of its name is that of today; a source's end by a former name is one
// that nobody declares.
func (s Snapshot) Inventories(name api.ClusterName) ([]inventory.Inventory, error) {
	recorded, err := inventory.Read(s.Owner, s.Clusters[name].Live)
	for i, inv := range recorded {
		if inv.End.IsBase() || !inv.End.IsSource() {
			recorded[i].End.Cluster = name
		}
	}
	slices.SortFunc(recorded, func(a, b inventory.Inventory) int { return a.End.Compare(b.End) })
	return recorded, err
}

// Rebuilt adds to what a cluster has recorded what carries linkwright's mark there and is in no inventory: one was lost, or written again since.
// Names tell to which end an object belongs, and something other than the object must tell of that end (see vouched). Everything else is left alone
// and reported: it may be a copy that somebody restored under another name. The inventory is written before anything of the end goes.
func (s Snapshot) Rebuilt(name api.ClusterName, recorded []inventory.Inventory, orphan func(object.Key, object.Record)) []inventory.Inventory {
	size := 0
	for _, inv := range recorded {
		size += len(inv.Entries)
	}
	known := make(map[object.Key]bool, size)
	for _, inv := range recorded {
		for _, k := range inv.Entries {
			known[k] = true
		}
	}
	lost := map[object.End][]object.Key{}
	for k, r := range s.Clusters[name].Live.Records() {
		if r.Mark == object.Copied {
			orphan(k, r)
		}
		if r.Mark != object.Ours || known[k] {
			continue
		}
		end, ok := s.EndOf(name, k)
		if !ok || !s.provenKeys(end, recorded) {
			orphan(k, r)
			continue
		}
		lost[end] = append(lost[end], k)
	}
	out := slices.Clone(recorded)
	for end, keys := range lost {
		i := slices.IndexFunc(out, func(inv inventory.Inventory) bool { return inv.End == end })
		if i < 0 {
			i = len(out)
			out = append(out, inventory.Inventory{End: end})
		}
		out[i] = out[i].Settle(append(keys, s.implied(end)...), func(object.Key) bool { return false })
	}
	slices.SortFunc(out, func(a, b inventory.Inventory) int { return a.End.Compare(b.End) })
	return out
}

// implied returns the control plane's secret of an end in a source: it is looked for by name only, so nothing would find it but what is recorded.
// Whatever else is left of the end implies it, not only a Link that makes the control plane use it: it is made before the Link, and an unlink
// empties the Link's selectors first. One that is not there leaves the inventory again.
func (s Snapshot) implied(end object.End) []object.Key {
	if !end.IsSource() {
		return nil
	}
	return []object.Key{linkerd.ControlPlaneSecret(s.Spec(end.Cluster).Linkerd, end.Link.Target)}
}

// provenKeys reports whether something other than a live object tells that it belongs to an end of a link:
//
//	an inventory of the end in this cluster, which lacks the object
//	the link is declared
//	the inventory of the link's other end, in the other cluster
//	a debt: the rest of the link went while this cluster could not be read
//
// A mark and a name alone are no proof: whoever copies an object, also to another cluster, may copy its managed fields, too, and the
// copy may have just the name of a link that nobody ever declared. The names of what an overlay brought in say nothing at all, so a
// base is never rebuilt.
func (s Snapshot) provenKeys(end object.End, recorded []inventory.Inventory) bool {
	for _, inv := range recorded {
		if inv.End == end && !end.IsBase() {
			return true
		}
	}
	return !end.IsBase() && (s.Declares(end.Link) || s.listedByPeer(end) || s.hasPending(end))
}

// listedByPeer reports whether the inventory of a link's other end tells of it.
func (s Snapshot) listedByPeer(end object.End) bool {
	far := object.End{Cluster: s.Other(end), Link: end.Link}
	_, found := inventory.Of(s.Owner, far, s.Clusters[far.Cluster].Live)
	return found
}

// hasPending reports whether the cleanup of an end is pending.
func (r Record) hasPending(end object.End) bool {
	return slices.ContainsFunc(r.Pending[end.Cluster], func(d inventory.Pending) bool { return d.Link() == end.Link })
}

// EndOf returns the end in a cluster whose objects have such a name. What no link's end holds, in the multicluster namespace, an overlay brought in:
// it is the base's.
func (s Snapshot) EndOf(name api.ClusterName, k object.Key) (object.End, bool) {
	end := object.End{Cluster: name}
	if target, ok := s.targetOf(name, k); ok {
		end.Link = api.Pair{Source: name, Target: target}
		return end, true
	}
	if source, ok := render.SourceOf(s.Owner, k); ok {
		end.Link = api.Pair{Source: source, Target: s.CalledAs(source, name)}
		return end, true
	}
	return end, k.Namespace == s.Spec(name).Linkerd.MulticlusterNamespace
}

// targetOf returns the target of the link whose end in a source has such an object. A legacy name counts where a Linkerd Link to its target is
// there, and none to the one that the same name would mean otherwise: it was adopted.
func (s Snapshot) targetOf(source api.ClusterName, k object.Key) (api.ClusterName, bool) {
	l, observed := s.Spec(source).Linkerd, s.Clusters[source].Live
	target, ok := linkerd.TargetOf(l, k)
	if ok && (k.Kind != "Service" || !observed.Record(linkerd.LinkKey(l, target)).IsZero()) {
		return target, true
	}
	if legacy, named := linkerd.LegacyTargetOf(l, k); named && !observed.Record(linkerd.LinkKey(l, legacy)).IsZero() {
		return legacy, true
	}
	return target, ok
}

// IsLedger reports whether an object is an inventory, or the namespace of all inventories, which stays.
func IsLedger(owner string, k object.Key) bool {
	return inventory.Named(owner, k) || k == object.Key{Kind: "Namespace", Name: object.AccessNamespace}
}
