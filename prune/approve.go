package prune

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Excess is what the guard TooMuch refuses in one cluster, by the end that would lose it. Hash names it: whoever approves
// lets go these very objects, and no others. Where nothing is refused, it is zero.
type Excess struct {
	Hash            string
	Ends            map[object.End][]inventory.Identity
	going, recorded int
}

// TooMuch gives what one commit would take from a cluster beyond what may go, and nobody has approved.
func TooMuch(in Input) Excess {
	in = in.index()
	return in.excess(in.takings())
}

// excess counts what would go: both bounds must be exceeded to refuse it. Mirrors that a drain takes count on both sides.
// Ends of a cluster that is declared to leave count on neither, and what was approved goes.
func (in Input) excess(all []taking) Excess {
	e := Excess{Ends: map[object.End][]inventory.Identity{}}
	for _, inv := range in.Recorded {
		if !in.leaves(inv.End) {
			e.recorded += len(inv.Entries)
		}
	}
	approved := in.approved()
	for _, t := range all {
		if in.leaves(t.end) {
			continue
		}
		e.recorded += len(t.mirrors)
		for _, k := range t.all() {
			if id := in.identity(k); !approved[id] {
				e.Ends[t.end] = append(e.Ends[t.end], id)
				e.going++
			}
		}
	}
	fraction, allowed := in.Policy.PruneLimits()
	if e.going <= allowed || float64(e.going) <= fraction*float64(e.recorded) {
		return Excess{}
	}
	e.Hash = hashOf(e.Ends)
	return e
}

func (in Input) identity(k object.Key) inventory.Identity {
	return inventory.Identity{Key: k, UID: in.Seen.Record(k).UID}
}

func (in Input) approved() map[inventory.Identity]bool {
	out := map[inventory.Identity]bool{}
	for _, inv := range in.Recorded {
		for _, a := range inv.Approved {
			for _, id := range a.Entries {
				out[id] = true
			}
		}
	}
	return out
}

// hashOf is the first 12 hex digits of SHA-256 over the sorted lines of all that would go: cluster, kind, namespace, name
// and uid. It is a persisted format.
func hashOf(ends map[object.End][]inventory.Identity) string {
	var lines []string
	for end, ids := range ends {
		for _, id := range ids {
			lines = append(lines, strings.Join([]string{string(end.Cluster), id.Kind, id.Namespace, id.Name, id.UID}, " ")+"\n")
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(lines), "")))
	return hex.EncodeToString(sum[:])[:12]
}

// Approve adds to an inventory that these objects of its end may go.
func Approve(inv inventory.Inventory, hash string, ids []inventory.Identity) inventory.Inventory {
	rest := slices.DeleteFunc(slices.Clone(inv.Approved), func(a inventory.Approval) bool { return a.Hash == hash })
	inv.Approved = append(rest, inventory.Approval{Hash: hash, Entries: ids})
	return inv
}

// forget drops approvals of which nothing is left: of an object that was not looked for nobody knows.
func (in Input) forget(inv inventory.Inventory) inventory.Inventory {
	inv.Approved = slices.DeleteFunc(slices.Clone(inv.Approved), func(a inventory.Approval) bool {
		return !slices.ContainsFunc(a.Entries, func(id inventory.Identity) bool {
			left := in.Seen.Record(id.Key).UID == id.UID && id.UID != "" || !in.Saw(id.Key) && inv.Has(id.Key)
			return left && !in.outlives(inv, a, id.Key)
		})
	})
	return inv
}

// outlives says that a Link was let go to be drained, and stays: the mirrors that were let go with it, which nobody records, tell
// whether that is done.
func (in Input) outlives(inv inventory.Inventory, a inventory.Approval, k object.Key) bool {
	mirror := func(id inventory.Identity) bool { return !inv.Has(id.Key) }
	return k.Kind == "Link" && in.needs(k) && slices.ContainsFunc(a.Entries, mirror)
}

// tooMuch refuses what is beyond, and nothing else of the cluster.
func tooMuch(in Input, all []taking) map[object.End]*object.Reason {
	e := in.excess(all)
	fraction, allowed := in.Policy.PruneLimits()
	why := object.Because("TooMuch",
		"this commit would delete or drain %d of the %d objects recorded in this cluster or mirrored by what it drains, more than %d and more than %.0f %%: restore the declarations, raise spec.prune.maxFraction or minAllowed of the SyncPolicy, or let just these go: linkwright approve %s",
		e.going, e.recorded, allowed, fraction*100, e.Hash)
	out := make(map[object.End]*object.Reason, len(e.Ends))
	for end := range e.Ends {
		out[end] = why
	}
	return out
}
