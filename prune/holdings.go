package prune

import (
	"slices"
	"sync"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// holdings are the ends of a cluster, and what they need.
type holdings struct {
	Live
	Ends
	needed func() map[object.Key]bool // see allNeeded
	cause  func(object.End) string    // see Rules
}

// newHoldings computes what is needed only if somebody asks.
func newHoldings(in Input) holdings {
	return holdings{in.Live, in.Ends, sync.OnceValue(in.allNeeded), in.cause}
}

// allNeeded are the keys that may not be deleted, whichever end lists them: every desired key, and all that blocked ends list.
func (e Ends) allNeeded() map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, want := range e.Desired {
		for _, o := range want.Objects {
			out[o.Key] = true
		}
	}
	for _, inv := range e.Recorded {
		if e.Desired[inv.End].Blocked != nil {
			for _, k := range inv.Entries {
				out[k] = true
			}
		}
	}
	return out
}

func (h holdings) needs(k object.Key) bool { return h.needed()[k] }

// recordedElsewhere reports whether another end needs a key and lists it in its inventory. Only then may this end drop the key: if the
// other end could not be written yet, no inventory would list the object.
func (h holdings) recordedElsewhere(end object.End, k object.Key) bool {
	return h.needs(k) && slices.ContainsFunc(h.Recorded, func(inv inventory.Inventory) bool { return inv.End != end && inv.Has(k) })
}

// untilRecordedElsewhere waits until other ends list what they take over.
func (h holdings) untilRecordedElsewhere(inv inventory.Inventory) gate {
	return gate{name: "objects that another end takes over", remaining: func() ([]object.Change, []object.Key) {
		return nil, slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool { return !h.needs(k) || h.gone(k) || h.recordedElsewhere(inv.End, k) })
	}}
}

// surplus are the keys that an end lists, that no end needs, and that are not confirmed to be gone.
func (h holdings) surplus(inv inventory.Inventory) []object.Key {
	if inv.Lists(h.Desired[inv.End].Objects) {
		return nil
	}
	var out []object.Key
	for _, k := range inv.Entries {
		if !h.needs(k) && !h.gone(k) {
			out = append(out, k)
		}
	}
	return out
}

// entries deletes listed keys that no end needs.
func (h holdings) entries(end object.End, name string, keys []object.Key) gate {
	return gate{name: name, explain: h.hides, remaining: func() ([]object.Change, []object.Key) {
		left := slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return h.needs(k) || h.gone(k) })
		return h.deletions(end, left, object.Reason{Code: reason.Undeclared, Message: h.cause(end)})
	}}
}

// workloads deletes the link's controller, if linkwright runs it.
func (h holdings) workloads(inv inventory.Inventory) gate {
	var keys []object.Key
	for _, k := range inv.Entries {
		if k.Kind == "Deployment" || k.Kind == "PodDisruptionBudget" {
			keys = append(keys, k)
		}
	}
	return h.entries(inv.End, "controller", keys)
}
