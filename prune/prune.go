// Package prune answers: what is ours and no longer wanted, may it go, and may it go yet?
//
// Ours is what carries our owner label, set by our own manager, on no mirror, and stands in an
// inventory. What Linkerd's controller left of a link that we unlink has a proof of its own (unlink.go).
package prune

import (
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Input is one cluster's side of the question. It cannot be built from half a reading: Seen is an
// observation, which exists only complete, and Saw tells what it was complete for.
type Input struct {
	Linkerd  api.Linkerd
	Wanted   map[object.End]object.Wanted // every declared end; a held one keeps what it has
	Recorded []inventory.Inventory
	Seen     object.Observation
	In       object.Installation
	Saw      func(object.Key) bool
	Mirrors  func() map[api.ClusterName]linkerd.Mirror // asked for only where something of a link goes
	Policy   api.SyncPolicy
	Leaving  map[api.ClusterName]bool // clusters that are declared to leave: people said so themselves
	Now      time.Time
	// Removal is what the revision takes away in all clusters together: asked for only if something goes here. nil: it may.
	Removal func() Removal
	Grace   time.Duration // for which a dead source keeps its access, from when the unlink began; zero: it does not

	// Retired are the Secrets of tokens of declared links: they go by rotation, which no guard but a mark to keep stops.
	Retired map[object.Key]bool

	// External are ends in sources whose controller the user's chart runs, as they are declared, or the link that goes on under
	// another name of the source is, with the release of Helm's that the chart is of, if it is one: what they no longer want of a
	// controller is released to it.
	External map[object.End]linkerd.Helm
	// Successor says why what an undeclared end holds, or a declared one no longer wants, must stay until what takes its place
	// stands; nil: nothing does.
	Successor func(object.End) *object.Reason

	needed func() map[object.Key]bool // see index
}

// Peer is what an unlink must know of its other end.
type Peer struct {
	Known   bool           // that cluster was read
	Gone    bool           // nothing of the link is left there
	Dead    bool           // that cluster was tried, and gave no answer at all
	Alive   bool           // it is the cluster of that name, and answers
	Unread  *object.Reason // it was tried and answered, and could not be read: why
	Refused *object.Reason // a guard refuses its end: then neither end begins
	Closed  *object.Reason // nothing is written there: then neither end begins, nor does its own go on
}

// Verdict is what is to become of one end.
type Verdict struct {
	End     object.End
	Go      []object.Change     // now: deletes, and releases of federated memberships
	Going   []object.Key        // all of ours that goes in the end, gates included
	Waiting *object.Reason      // what must be gone before the next gate opens
	Until   time.Time           // when it is not waited for any more; zero: it is
	Refused *object.Reason      // of a declared end: neither its deletes nor its drains may be
	Grace   time.Time           // of a target's end: until when its source keeps its access, unless it is back before; zero: no matter
	Next    inventory.Inventory // to be written before Go; Drop: to be deleted instead
	Drop    bool
}

// Select judges every recorded end, and gives verdicts sorted by end. Peers answers for the other end of
// an undeclared link.
func Select(in Input, peers func(object.End) Peer) []Verdict {
	in = in.index()
	refused := in.judge()
	out := make([]Verdict, 0, len(in.Recorded))
	for _, inv := range in.Recorded {
		want, declared := in.Wanted[inv.End]
		switch {
		case declared:
			out = append(out, in.trim(inv, want, refused[inv.End]))
		case inv.End.IsBase():
			out = append(out, in.leaveBase(inv, refused[inv.End]))
		default:
			out = append(out, in.leave(inv, peers(inv.End), refused[inv.End]))
		}
	}
	slices.SortFunc(out, func(a, b Verdict) int { return a.End.Compare(b.End) })
	return once(out)
}

// index makes it known what may not go whichever end has recorded it: every wanted key, and all that held ends recorded.
// Where each end holds what it wants nobody asks.
func (in Input) index() Input {
	in.needed = sync.OnceValue(in.allNeeded)
	return in
}

func (in Input) allNeeded() map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, want := range in.Wanted {
		for _, o := range want.Objects {
			out[o.Key] = true
		}
	}
	for _, inv := range in.Recorded {
		if in.Wanted[inv.End].Held != nil {
			for _, k := range inv.Entries {
				out[k] = true
			}
		}
	}
	return out
}

func (in Input) needs(k object.Key) bool { return in.needed()[k] }

// handed says that another end needs what this one recorded, and has recorded it: only then may this one forget it. One that cannot be written now
// has not, and nothing else would tell of it once its link is declared no more.
func (in Input) handed(end object.End, k object.Key) bool {
	return in.needs(k) && slices.ContainsFunc(in.Recorded, func(inv inventory.Inventory) bool { return inv.End != end && inv.Has(k) })
}

// handover waits for that with what else an end recorded.
func (in Input) handover(inv inventory.Inventory) gate {
	return gate{name: "handed over to another end", left: func() ([]object.Change, []object.Key) {
		return nil, slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool { return !in.needs(k) || in.gone(k) || in.handed(inv.End, k) })
	}}
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
				v.Waiting = object.Because(reason.Waiting, "%s is written for another link first", c.Key)
			}
			return again
		})
	}
	return verdicts
}

// trim takes from a declared end what it no longer wants.
func (in Input) trim(inv inventory.Inventory, want object.Wanted, refused *object.Reason) Verdict {
	v := Verdict{End: inv.End, Next: inv}
	v.Next = v.Next.Stay()
	if want.Held != nil {
		return v // declared, so nothing of it goes
	}
	surplus := in.going(inv)
	v.Going, v.Go = surplus, in.releases(inv)
	if !inv.Lists(want.Objects) {
		v.Next = v.Next.Settle(keysOf(want), func(k object.Key) bool { return in.handed(inv.End, k) || in.gone(k) })
	}
	switch {
	case refused != nil:
		v.Refused = refused
	case len(surplus) == 0:
	case replaces(surplus):
		if v.Waiting = in.succeeds(inv.End); v.Waiting != nil {
			break
		}
		fallthrough
	default:
		v = v.through(in.trims(inv.End, surplus))
	}
	return v
}

// leaveBase takes away what a cluster holds once, when nothing else of ours is recorded there, and last the base itself.
func (in Input) leaveBase(inv inventory.Inventory, refused *object.Reason) Verdict {
	v := Verdict{End: inv.End, Next: inv, Going: in.surplus(inv)}
	if v.Refused = begins(inv, Peer{}, refused); v.Refused != nil {
		return v
	}
	v.Next = v.Next.Settle(nil, func(k object.Key) bool { return in.handed(inv.End, k) || in.gone(k) })
	if len(v.Next.Entries) > 0 {
		v.Next = v.Next.Leave(in.Now)
	}
	if len(in.Recorded) > 1 {
		v.Waiting = object.Because(WaitingForLinks, "links of this cluster are still being removed")
		return v
	}
	v = v.through([]gate{in.entries(inv.End, "objects of the cluster", inv.Entries)})
	v.Drop = len(v.Go) == 0 && v.Waiting == nil
	return v
}

// surplus is what an end has recorded, live or not yet known to be gone, and no end needs.
func (in Input) surplus(inv inventory.Inventory) []object.Key {
	if inv.Lists(in.Wanted[inv.End].Objects) {
		return nil
	}
	var out []object.Key
	for _, k := range inv.Entries {
		if !in.needs(k) && !in.gone(k) {
			out = append(out, k)
		}
	}
	return out
}

// gone says that an entry is confirmed to be no longer there, or no longer ours: an object that lost
// our mark is somebody else's, and is given up. What was not looked for is not gone.
func (in Input) gone(k object.Key) bool {
	if !in.Saw(k) {
		return false
	}
	r := in.Seen.Record(k)
	return r.IsZero() || r.Mark != object.Ours
}

// takes makes the deletes of keys; what is being deleted already, or was not looked for, is waited for.
func (in Input) takes(end object.End, keys []object.Key, why object.Reason) (out []object.Change, wait []object.Key) {
	for _, k := range keys {
		r := in.Seen.Record(k)
		if !in.Saw(k) || r.Going {
			wait = append(wait, k)
			continue
		}
		out = append(out, object.Change{End: end, Action: object.Delete, Key: k, Was: r, Why: why})
	}
	return out, wait
}

func keysOf(w object.Wanted) []object.Key {
	out := make([]object.Key, len(w.Objects))
	for i, o := range w.Objects {
		out[i] = o.Key
	}
	slices.SortFunc(out, object.Key.Compare)
	return out
}
