package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/health"
)

// conditions writes the conditions of links into the inventories of their sources' ends, and into that of an end that leaves which of its writes
// failed. It writes them only for ends at rest, or whose writes fail, and only if they differ. It writes them for suspended ends, too: suspension
// keeps objects as they are, and READY must be true all the same. It plans the step again when conditions become due later.
type conditions struct{ *cluster }

func (c conditions) add(s Step) Step {
	written := map[object.Key]bool{}
	for _, all := range [][]object.Change{s.Ahead, s.Changes, s.After} {
		for _, w := range all {
			written[w.Key] = true
		}
	}
	for _, row := range s.Rows {
		n := c.updateFor(row)
		if n.at.IsZero() || c.Now.Before(n.at) && !c.Once {
			s.retry(earliest(n.at, n.due))
			continue
		}
		w, why := c.writeInventory(n.next, n.old)
		if why != nil || written[w.Key] { // why not is reported by whoever has more to write there
			continue
		}
		w.Why = object.Reason{Code: reason.ConditionsChanged, Message: n.what()}
		s.Ahead = append(s.Ahead, w)
	}
	return s
}

// conditionsUpdate is the inventory with the conditions of a link as they must be, and the one that exists.
type conditionsUpdate struct {
	next, old inventory.Inventory
	at        time.Time // when it may be written; zero: it need not be
	due       time.Time // when that may differ; zero: never
}

// what says which condition changed, in words: Ready, unless only the suspension did.
func (n conditionsUpdate) what() string {
	ready, suspended := health.Condition(n.next.Conditions, object.Ready), health.Condition(n.next.Conditions, object.Suspended)
	switch same := ready.SameState(health.Condition(n.old.Conditions, object.Ready)); {
	case n.old.Leaving && ready.Type == "":
		return "no write of the removal fails any more"
	case n.old.Leaving:
		return "the removal does not go on: " + ready.Message
	case ready.Type == "":
		return "nothing is denied any more"
	case same && suspended.Reason == reason.Leaving:
		return "the link is suspended, and its removal waits"
	case same && suspended.Message != "":
		return "the link is suspended, and changes wait"
	case same && suspended.Type != "":
		return "the link is suspended"
	case same && health.Condition(n.old.Conditions, object.Suspended).Type != "":
		return "the link is not suspended any more"
	}
	return "Ready is " + ready.Status + ": " + explained(ready)
}

// explained is the reason of a condition in the words of status.
func explained(c object.Condition) string {
	if strings.HasSuffix(c.Message, ": "+string(c.Reason)) {
		return c.Message
	}
	return strings.TrimSuffix(string(c.Reason)+": "+c.Message, ": ")
}

func (c conditions) updateFor(row Row) conditionsUpdate {
	old, recorded := c.inventoryOf(row.End)
	if recorded && old.Leaving && !row.End.IsBase() && !c.WrittenElsewhere[c.name] {
		return c.leavingUpdate(row, old)
	}
	if recorded && !row.End.IsBase() && !old.Leaving && !c.WrittenElsewhere[c.name] {
		switch {
		case row.Phase == Denied && c.denied(row.End) == nil:
			return c.deniedUpdate(row, old)
		case !row.End.IsSource() && old.Conditions != nil && c.atRest(row):
			next, at := old.WithConditions(nil, c.Now)
			return conditionsUpdate{next: next, old: old, at: at}
		}
	}
	if recorded && c.holdsRemoval(row, old) {
		next, at := old.WithConditions(health.RemovalSuspended(old.Conditions, c.Now), c.Now)
		return conditionsUpdate{next: next, old: old, at: at}
	}
	_, declared := c.declaredLink(row)
	if !declared || !recorded || old.Leaving || c.WrittenElsewhere[c.name] || !c.atRest(row) && row.Phase != Suspended {
		return conditionsUpdate{next: old, old: old}
	}
	all, due := health.Conditions(old.Conditions, row.Health, c.Now)
	if health.Condition(all, object.Ready).Status == object.Unknown { // what was told stands until it is known
		return conditionsUpdate{next: old, old: old}
	}
	if row.Phase == Suspended {
		all = health.Suspended(all, old.Conditions, row.Held > 0, c.Now)
	}
	n := conditionsUpdate{old: old}
	if n.next, n.at = old.WithConditions(all, c.Now); n.at.IsZero() {
		n.due = due
	}
	return n
}

// holdsRemoval reports whether people decided to suspend a source's end that would be removed. A suspension by declaration is known without a record.
func (c conditions) holdsRemoval(row Row, was inventory.Inventory) bool {
	_, decided := c.Suspension(row.End)
	return decided && row.Phase == Suspended && row.Leaving && row.End.IsSource() && !was.Leaving && !c.WrittenElsewhere[c.name]
}

// deniedUpdate records the denial of an end by a limit or a policy: also of an end in a target, and of one that is no longer declared, because
// nothing else records those.
func (c conditions) deniedUpdate(row Row, was inventory.Inventory) conditionsUpdate {
	why := object.Reason{}
	if row.Why != nil {
		why = *row.Why
	}
	n := conditionsUpdate{old: was}
	n.next, n.at = was.WithConditions(health.Denial(was.Conditions, why, c.Now), c.Now)
	return n
}

// leavingUpdate records of an end that leaves which of its writes failed, until it waits for something else. What waits for a read, or cannot be
// written, was not tried again.
func (c conditions) leavingUpdate(row Row, was inventory.Inventory) conditionsUpdate {
	n := conditionsUpdate{next: was, old: was}
	switch why, failing := c.Failing[c.name][row.End]; {
	case why.Code == reason.Conflict: // it is read again, and tried again at once
	case failing && row.Phase == Changing:
		n.next, n.at = was.WithConditions(health.RemovalFailed(was.Conditions, why, c.Now), c.Now)
	case !failing && row.Phase == Waiting && !awaitsRead(row.Why):
		n.next, n.at = was.WithConditions(nil, c.Now)
	}
	return n
}

// awaitsRead reports whether an end waits until a cluster is read.
func awaitsRead(why *object.Reason) bool {
	return why != nil && slices.Contains([]reason.Code{reason.WaitingForRead, reason.WaitingForSource, reason.WaitingForTarget}, why.Code)
}

// atRest reports whether an end will stay as it is for a while.
func (c conditions) atRest(row Row) bool {
	return slices.Contains([]Phase{Ready, Waiting, Blocked}, row.Phase) || row.Phase == Changing && c.failing(row.End)
}

// failing reports whether a write of an end failed when the cluster was last reconciled.
func (c conditions) failing(end object.End) bool {
	_, failing := c.Failing[c.name][end]
	return failing
}
