package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/state"
)

// cluster is the cluster whose next step is planned, with what is known of all others.
type cluster struct {
	*comparison
	name        api.ClusterName
	current     state.Cluster
	desiredEnds []object.Desired
	recorded    []inventory.Inventory
	rebuilt     []inventory.Inventory // what is recorded, with what was lost of it
	unrecorded  []labelledObject      // what carries linkwright's mark and is in no inventory
	renamed     bool                  // the base is of the cluster's former name
	loading     credential.Loading    // what the destination controller has loaded
}

// labelledObject is an object with linkwright's label.
type labelledObject struct {
	key    object.Key
	record object.Record
}

func newCluster(w state.Snapshot, name api.ClusterName, r Renderer, policies []Policy) *cluster {
	p := &pruning{removals: &removals{tally: tally{newDesired(w, r)}}, policies: policies}
	return &cluster{comparison: &comparison{pruning: p}, name: name, current: w.Clusters[name], loading: p.Loading(name)}
}

// base returns the cluster's own end.
func (c *cluster) base() object.End { return object.End{Cluster: c.name} }

// inventoryOf returns what is recorded of an end.
func (c *cluster) inventoryOf(end object.End) (inventory.Inventory, bool) {
	i, ok := slices.BinarySearchFunc(c.recorded, end, func(i inventory.Inventory, e object.End) int { return i.End.Compare(e) })
	if !ok {
		return inventory.Inventory{End: end}, false
	}
	return c.recorded[i], true
}

// writeInventory returns the write of an inventory, or why it cannot be written. It needs the inventories as last read.
func (c *cluster) writeInventory(next, old inventory.Inventory) (object.Change, *object.Reason) {
	o, err := next.Object(c.Owner)
	if err != nil {
		return object.Change{}, object.Because(reason.InventoryInvalid, "%v", err)
	}
	if !c.current.Covers(o.Key) {
		return object.Change{}, object.Because(reason.Unknown, "linkwright has not read the inventories yet")
	}
	switch live := c.current.Live.Record(o.Key); {
	case live.IsZero():
	case live.Mark == object.Ours && old.Was.IsZero():
		return object.Change{}, object.Because(reason.ObjectExists, "%s is a copy of another inventory: delete it", o.Key)
	case live.Mark != object.Ours:
		return object.Change{}, object.Because(reason.ObjectExists, "%s exists and is %s (written by %s), but linkwright needs its name for an inventory: delete or rename it", o.Key, live.Mark, live.Writers())
	}
	w := change(next.End, object.Create, o, old.Was, reason.InventoryUpdated, inventoryUse(next.End))
	if !old.Was.IsZero() {
		w.Action = object.Update
	}
	w.Conditional = true
	return w, nil
}

// inventoryUse is why an inventory is written.
func inventoryUse(end object.End) string {
	if end.IsBase() {
		return "records the applied revision, and what the base may hold"
	}
	return "records what this end may hold"
}

// deleteInventory returns the delete of an inventory when nothing that it lists is left.
func (c *cluster) deleteInventory(inv inventory.Inventory) object.Change {
	return object.Change{
		End: inv.End, Action: object.Delete, Key: inventory.Key(c.Owner, inv.End), Was: inv.Was,
		Why: object.Reason{Code: reason.Undeclared, Message: "nothing of this end is left"},
	}
}

// mirrorsHidden returns why nothing of a source's end may be removed: linkwright may not read its mirrors. nil: it may.
func (c *cluster) mirrorsHidden(end object.End) *object.Reason {
	if end.IsBase() || !end.IsSource() {
		return nil
	}
	l := c.Spec(c.name).Linkerd
	links := object.Watch{Group: linkerd.Group, Kind: "Link"}
	return c.current.Live.HidesAny(append(linkerd.MirrorWatches(l), links)...)
}

// firstHidden returns why something in the cluster may not be read; nil: everything may.
func (c *cluster) firstHidden() *object.Reason {
	if hidden := c.current.Live.Hidden; len(hidden) > 0 {
		return hidden[0].Why()
	}
	return nil
}

// finishRow completes a row. An end that is suspended, or waits for a suspended one, is Suspended, and nothing of it is deleted.
func (c *cluster) finishRow(row Row) Row {
	if row.suspended() {
		row.Phase, row.Deleting = Suspended, nil
	}
	row.Other = c.OtherOf(row.End)
	return row
}
