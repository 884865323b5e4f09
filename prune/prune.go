// Package prune answers: what is ours and no longer wanted, may it go, and may it go yet?
//
// Ours is what carries our owner label, set by our own manager, on no mirror, and stands in an
// inventory. What Linkerd's controller left of a link that we unlink has a proof of its own (unlink.go).
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

// Input is one cluster's side of the question: what was read there, what its ends want and hold, and what people decided.
type Input struct {
	Live
	Ends
	Rules
}

// Live is what was read of a cluster. It cannot be half a reading: Seen is an observation, which exists only complete, and Saw tells
// what it was complete for.
type Live struct {
	Linkerd api.Linkerd
	Seen    object.Observation
	Saw     func(object.Key) bool
	Mirrors func() map[api.ClusterName]linkerd.Mirror // asked for only where something of a link goes
}

// Ends are what the ends of a cluster want, and what they hold.
type Ends struct {
	Wanted   map[object.End]object.Wanted // every declared end; a held one keeps what it has
	Recorded []inventory.Inventory
	// Retired are the Secrets of tokens of declared links: they go by rotation, which no guard but a mark to keep stops.
	Retired map[object.Key]bool
	// External are ends in sources whose controller the user's chart runs, as they are declared, or the link that goes on under
	// another name of the source is, with the release of Helm's that the chart is of, if it is one: what they no longer want of a
	// controller is released to it.
	External map[object.End]linkerd.Helm
	// Successor says why what an undeclared end holds, or a declared one no longer wants, must stay until what takes its place
	// stands; nil: nothing does.
	Successor func(object.End) *object.Reason
}

// Rules are what people decided, and the moment.
type Rules struct {
	In      object.Installation
	Policy  api.SyncPolicy
	Leaving map[api.ClusterName]bool // clusters that are declared to leave: people said so themselves
	// Removal is what the revision takes away in all clusters together: asked for only if something goes here. nil: it may.
	Removal func() Removal
	Grace   time.Duration // for which a dead source keeps its access, from when the unlink began; zero: it does not
	Now     time.Time
}

// Verdict is what is to become of one end.
type Verdict struct {
	End     object.End
	Go      []object.Change     // now: deletes, and releases of federated memberships
	Going   []object.Key        // all of ours that goes in the end, gates included
	Waiting *object.Reason      // what must be gone before the next gate opens
	Until   time.Time           // when it is not waited for any more; zero: it is
	Denied  *object.Reason      // of a declared end: neither its deletes nor its drains may be
	Grace   time.Time           // of a target's end: until when its source keeps its access, unless it is back before; zero: no matter
	Next    inventory.Inventory // to be written before Go; Drop: to be deleted instead
	Drop    bool
}

// Select judges every recorded end, and gives verdicts sorted by end. Peers answers for the other end of
// an undeclared link.
func Select(in Input, peers func(object.End) Peer) []Verdict {
	j := in.judgement()
	refused := j.refused()
	out := make([]Verdict, 0, len(in.Recorded))
	for _, inv := range in.Recorded {
		want, declared := in.Wanted[inv.End]
		switch {
		case declared:
			out = append(out, j.trim(inv, want, refused[inv.End]))
		case inv.End.IsBase():
			out = append(out, j.leaveBase(inv, refused[inv.End]))
		default:
			out = append(out, unlink{j, inv, peers(inv.End)}.leave(refused[inv.End]))
		}
	}
	slices.SortFunc(out, func(a, b Verdict) int { return a.End.Compare(b.End) })
	return once(out)
}

// once writes an object for one end at a time: of several links that leave a federated Service together,
// each writes the members it leaves, and only the first would find the Service as it was seen.
func once(verdicts []Verdict) []Verdict {
	taken := map[object.Key]bool{}
	for i := range verdicts {
		v := &verdicts[i]
		v.Go = slices.DeleteFunc(v.Go, func(c object.Change) bool {
			again := taken[c.Key]
			taken[c.Key] = true
			if again {
				v.Waiting = object.Because(reason.Waiting, "linkwright writes %s for another link first", c.Key)
			}
			return again
		})
	}
	return verdicts
}

// trim takes from a declared end what it no longer wants.
func (j judgement) trim(inv inventory.Inventory, want object.Wanted, refused *object.Reason) Verdict {
	v := Verdict{End: inv.End, Next: inv}
	v.Next = v.Next.Stay()
	if want.Blocked != nil {
		return v // declared, so nothing of it goes
	}
	surplus := j.going(inv)
	v.Going, v.Go = surplus, j.releases(inv)
	if !inv.Lists(want.Objects) {
		v.Next = v.Next.Settle(keysOf(want), func(k object.Key) bool { return j.handed(inv.End, k) || j.gone(k) })
	}
	switch {
	case refused != nil:
		v.Denied = refused
	case len(surplus) == 0:
	case replaces(surplus):
		if v.Waiting = j.succeeds(inv.End); v.Waiting != nil {
			break
		}
		fallthrough
	default:
		v = v.through(j.trims(inv.End, surplus))
	}
	return v
}

// leaveBase takes away what a cluster holds once, when nothing else of ours is recorded there, and last the base itself.
func (j judgement) leaveBase(inv inventory.Inventory, refused *object.Reason) Verdict {
	v := Verdict{End: inv.End, Next: inv, Going: j.surplus(inv)}
	if v.Denied = begins(inv, Peer{}, refused); v.Denied != nil {
		return v
	}
	v.Next = v.Next.Settle(nil, func(k object.Key) bool { return j.handed(inv.End, k) || j.gone(k) })
	if len(v.Next.Entries) > 0 {
		v.Next = v.Next.Leave(j.Now)
	}
	if len(j.Recorded) > 1 {
		v.Waiting = object.Because(reason.WaitingForLinks, "linkwright is still removing links of this cluster")
		return v
	}
	v = v.through([]gate{j.entries(inv.End, "objects of the cluster", inv.Entries)})
	v.Drop = len(v.Go) == 0 && v.Waiting == nil
	return v
}

func keysOf(w object.Wanted) []object.Key {
	out := make([]object.Key, len(w.Objects))
	for i, o := range w.Objects {
		out[i] = o.Key
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}
