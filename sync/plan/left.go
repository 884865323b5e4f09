package plan

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// LeftOver is what one cluster still holds of an installation.
type LeftOver struct {
	Cluster api.ClusterName
	Objects []object.Key    // objects of linkwright, and inventories, by key; namespace linkwright-access is none of them
	Unread  *object.Reason  // why nobody knows what else is there; nil: the cluster was read
	Cleanup []state.Pending // ends of removed links that the record says are still there
	Orphans []object.Key    // with linkwright's mark and in no inventory, by key: nothing proves that they are linkwright's (see state.Rebuilt)
}

// Left lists what clusters still hold, by cluster: only clusters that hold something or were not read. It lists what is live and recorded, not what
// a step would delete. asked chooses ends; nil: all ends, and orphans.
func Left(w state.Snapshot, asked func(object.End) bool) []LeftOver {
	orphans := asked == nil
	if orphans {
		asked = func(object.End) bool { return true }
	}
	var out []LeftOver
	for _, name := range everywhere(w) {
		left := LeftOver{Cluster: name}
		for _, o := range w.PendingIn(name) {
			if asked(object.End{Cluster: name, Link: o.Link}) {
				left.Cleanup = append(left.Cleanup, o)
			}
		}
		left.fill(w, asked)
		if !orphans {
			left.Orphans = nil
		}
		if len(left.Objects)+len(left.Cleanup)+len(left.Orphans) > 0 || left.Unread != nil {
			out = append(out, left)
		}
	}
	return out
}

// everywhere returns all clusters that may hold something, sorted: declared, departed, or with a pending cleanup.
func everywhere(w state.Snapshot) []api.ClusterName {
	names := map[api.ClusterName]bool{}
	for _, c := range w.Departed {
		names[c.Name] = true
	}
	if w.Fleet != nil {
		for _, c := range w.Fleet.Clusters {
			names[c.Name] = true
		}
	}
	for name := range w.Pending {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// fill adds what was seen in a cluster of the ends that are asked for, and orphans.
func (left *LeftOver) fill(w state.Snapshot, asked func(object.End) bool) {
	current := w.Clusters[left.Cluster]
	recorded, err := w.Inventories(left.Cluster)
	switch {
	case !current.Known() && current.Err != nil:
		left.Unread = current.Err
		return
	case !current.Known():
		left.Unread = object.Because(reason.NotRead, "cluster %s was not read", left.Cluster)
		return
	case err != nil:
		left.Unread = object.Because(reason.InventoryInvalid, "%v", err)
		return
	}
	orphan := func(k object.Key, r object.Record) {
		if r.Mark == object.Ours && !state.IsLedger(w.Owner, k) {
			left.Orphans = append(left.Orphans, k)
		}
	}
	for _, inv := range w.Rebuilt(left.Cluster, recorded, orphan) {
		if !asked(inv.End) {
			continue
		}
		if !inv.Was.IsZero() {
			left.Objects = append(left.Objects, inventory.Key(w.Owner, inv.End))
		}
		for _, k := range inv.Entries {
			if current.Live.Record(k).Mark == object.Ours {
				left.Objects = append(left.Objects, k)
			}
		}
	}
	slices.SortFunc(left.Objects, object.Key.Compare)
	slices.SortFunc(left.Orphans, object.Key.Compare)
	left.Objects = slices.Compact(left.Objects)
}
