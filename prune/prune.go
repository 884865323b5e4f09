// Package prune decides which objects of linkwright are no longer desired, whether they may be deleted, and whether they may be
// deleted yet.
//
// An object is linkwright's if linkwright's own field manager set the owner label on it, it is no mirror, and an inventory lists
// it. Objects that Linkerd's controller left of a removed link need other evidence (unlink.go).
package prune

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Input is all that the decision for one cluster depends on: what was read there, what its ends hold and what is desired of them, and
// what people decided.
type Input struct {
	Live
	Ends
	Rules
}

// Live is what was read of a cluster. It is never half a read: Observation exists only complete, and WasRead reports
// whether a key was part of it.
type Live struct {
	Linkerd     api.Linkerd
	Observation object.Observation
	WasRead     func(object.Key) bool
	Mirrors     func() map[api.ClusterName]linkerd.Mirror // called only if something of a link is deleted
}

// Ends are the ends of a cluster: what is desired of them, and what their inventories list.
type Ends struct {
	Desired  map[object.End]object.Desired // every declared end; a blocked one keeps what it has
	Recorded []inventory.Inventory
	// Retired are token Secrets of declared links. Rotation deletes them; of the guards, only PruneDisabled applies to them.
	Retired map[object.Key]bool
	// External are ends in sources whose link declares controller mode External, with the user's Helm release, if there is one. The
	// parts of a controller that they no longer need are released to it instead of deleted.
	External map[object.End]linkerd.Helm
	// Replacement returns why objects that an end no longer needs must stay until their replacement is ready; nil: they need not.
	Replacement func(object.End) *object.Reason
}

// Rules are what people decided, and the moment.
type Rules struct {
	In      object.Installation
	Policy  api.SyncPolicy
	Leaving map[api.ClusterName]bool // clusters that are declared with state Leaving
	// Uninstall says that all clusters leave because people uninstall linkwright, whatever is declared.
	Uninstall bool
	// Removal is what the revision deletes in all clusters together. It is called only if something is deleted here. nil: no limit applies.
	Removal                  func() Removal
	UnreachableSourceTimeout time.Duration // how long an unreachable source keeps its access after the unlink began; zero: it does not
	Now                      time.Time
}

// Verdict is the decision for one end.
type Verdict struct {
	End         object.End
	Changes     []object.Change     // to make now: deletes, and releases of federated memberships
	ToDelete    []object.Key        // all objects of linkwright that are to be deleted, now or later
	Waiting     *object.Reason      // what must be gone before the next gate opens
	Until       time.Time           // when waiting ends; zero: it has no deadline
	Denied      *object.Reason      // why a guard denies the deletes and drains of this end
	AccessUntil time.Time           // when an unreachable source loses its access; zero: it does not
	Next        inventory.Inventory // to be written before Go, or deleted if Drop is set
	Drop        bool
}

// Select decides on every recorded end and returns verdicts sorted by end. peers reports on the other end of an undeclared link.
func Select(in Input, peers func(object.End) Peer) []Verdict {
	j := in.evaluation()
	denied := j.denials()
	out := make([]Verdict, 0, len(in.Recorded))
	for _, inv := range in.Recorded {
		want, declared := in.Desired[inv.End]
		switch {
		case declared:
			out = append(out, j.trim(inv, want, denied[inv.End]))
		case inv.End.IsBase():
			out = append(out, j.leaveBase(inv, denied[inv.End]))
		default:
			out = append(out, unlink{j, inv, peers(inv.End)}.verdict(denied[inv.End]))
		}
	}
	slices.SortFunc(out, func(a, b Verdict) int { return a.End.Compare(b.End) })
	return oneWritePerObject(out)
}

// oneWritePerObject writes an object for one end at a time: of several links that leave a federated Service together,
// each writes the members it leaves, and only the first would find the Service as it was read.
func oneWritePerObject(verdicts []Verdict) []Verdict {
	written := map[object.Key]bool{}
	for i := range verdicts {
		v := &verdicts[i]
		v.Changes = slices.DeleteFunc(v.Changes, func(c object.Change) bool {
			twice := written[c.Key]
			written[c.Key] = true
			if twice {
				v.Waiting = object.Because(reason.Waiting, "linkwright writes %s for another link first", c.Key)
			}
			return twice
		})
	}
	return verdicts
}

// trim removes from a declared end what is no longer desired of it.
func (j evaluation) trim(inv inventory.Inventory, want object.Desired, denied *object.Reason) Verdict {
	v := Verdict{End: inv.End, Next: inv}
	v.Next = v.Next.Stay()
	if want.Blocked != nil {
		return v // nothing of a blocked end is deleted
	}
	surplus := j.toDelete(inv)
	v.ToDelete, v.Changes = surplus, j.releases(inv)
	if !inv.Lists(want.Objects) {
		v.Next = v.Next.Settle(keysOf(want), func(k object.Key) bool { return j.recordedElsewhere(inv.End, k) || j.gone(k) })
	}
	switch {
	case denied != nil:
		v.Denied = denied
	case len(surplus) == 0:
	case removesController(surplus):
		if v.Waiting = j.waitsForReplacement(inv.End); v.Waiting != nil {
			break
		}
		fallthrough
	default:
		v = v.openGates(j.trimGates(inv.End, surplus))
	}
	return v
}

// leaveBase removes the base of a cluster once no inventory of a link is left there: its objects first, the base itself last.
func (j evaluation) leaveBase(inv inventory.Inventory, denied *object.Reason) Verdict {
	v := Verdict{End: inv.End, Next: inv, ToDelete: j.surplus(inv)}
	if v.Denied = mayNotBegin(inv, Peer{}, denied); v.Denied != nil {
		return v
	}
	v.Next = v.Next.Settle(nil, func(k object.Key) bool { return j.recordedElsewhere(inv.End, k) || j.gone(k) })
	if len(v.Next.Entries) > 0 {
		v.Next = v.Next.Leave(j.Now)
	}
	if len(inv.Values) > 0 { // whoever plans puts them back, and takes them out of the inventory
		v.Waiting = object.Because(reason.Waiting, "linkwright puts values of Linkerd's installation back first")
		return v
	}
	if len(j.Recorded) > 1 {
		v.Waiting = object.Because(reason.WaitingForLinks, "linkwright is still removing links of this cluster")
		return v
	}
	if v.Waiting = j.waitsForReplacement(inv.End); v.Waiting != nil {
		return v
	}
	v = v.openGates([]gate{j.entries(inv.End, "objects of the cluster", inv.Entries)})
	v.Drop = len(v.Changes) == 0 && v.Waiting == nil
	return v
}

func keysOf(w object.Desired) []object.Key {
	out := make([]object.Key, len(w.Objects))
	for i, o := range w.Objects {
		out[i] = o.Key
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}
