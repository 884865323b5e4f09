package plan

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// LeftOver is what one cluster still holds of an installation.
type LeftOver struct {
	Cluster api.ClusterName
	Objects []object.Key   // objects of ours, and inventories, by key; namespace linkwright-access is none of them
	Unread  *object.Reason // why nobody knows what else is there; nil: the cluster was read
	Cleanup []Owed         // ends of removed links that the record says are still there
}

// Left lists what clusters still hold, by cluster, and only those that hold something or were not read. It tells what is live and
// recorded, never what a step would delete: a step that waits deletes nothing. asked chooses ends; nil: all of them.
//
// Orphans are not among them: nothing proves that they are ours (see World.vouched).
func Left(w World, asked func(object.End) bool) []LeftOver {
	if asked == nil {
		asked = func(object.End) bool { return true }
	}
	var out []LeftOver
	for _, name := range w.everywhere() {
		left := LeftOver{Cluster: name}
		for _, o := range w.Owed(name) {
			if asked(object.End{Cluster: name, Link: o.Link}) {
				left.Cleanup = append(left.Cleanup, o)
			}
		}
		left.Objects, left.Unread = w.holds(name, asked)
		if len(left.Objects)+len(left.Cleanup) > 0 || left.Unread != nil {
			out = append(out, left)
		}
	}
	return out
}

// everywhere are all clusters that may hold something, sorted: declared, departed, or with a pending cleanup.
func (w World) everywhere() []api.ClusterName {
	names := map[api.ClusterName]bool{}
	for _, c := range w.Departed {
		names[c.Name] = true
	}
	if w.Fleet != nil {
		for _, c := range w.Fleet.Clusters {
			names[c.Name] = true
		}
	}
	for name := range w.Debts {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// holds gives what of ours was seen in a cluster of the ends that are asked for.
func (w World) holds(name api.ClusterName, asked func(object.End) bool) ([]object.Key, *object.Reason) {
	side := w.Sides[name]
	if !side.Known {
		if side.Err != nil {
			return nil, side.Err
		}
		return nil, object.Because("NotRead", "cluster %s was not read", name)
	}
	recorded, err := inventory.Read(w.Owner, side.Seen)
	if err != nil {
		return nil, object.Because("Inventory", "%v", err)
	}
	var keys []object.Key
	for _, inv := range w.rebuilt(name, recorded, func(object.Key, object.Record) {}) {
		if !asked(inv.End) {
			continue
		}
		if !inv.Was.IsZero() {
			keys = append(keys, inventory.Key(w.Owner, inv.End))
		}
		for _, k := range inv.Entries {
			if side.Seen.Record(k).Mark == object.Ours {
				keys = append(keys, k)
			}
		}
	}
	slices.SortFunc(keys, object.Key.Compare)
	return slices.Compact(keys), nil
}
