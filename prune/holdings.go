package prune

import (
	"slices"
	"sync"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// holdings tell what the ends of a cluster hold, and need.
type holdings struct {
	Live
	Ends
	needed func() map[object.Key]bool // see allNeeded
}

// newHoldings asks for what is needed only where an end holds something that it does not want.
func newHoldings(l Live, e Ends) holdings { return holdings{l, e, sync.OnceValue(e.allNeeded)} }

// allNeeded is what may not go, whichever end has recorded it: every wanted key, and all that held ends recorded.
func (e Ends) allNeeded() map[object.Key]bool {
	out := map[object.Key]bool{}
	for _, want := range e.Wanted {
		for _, o := range want.Objects {
			out[o.Key] = true
		}
	}
	for _, inv := range e.Recorded {
		if e.Wanted[inv.End].Blocked != nil {
			for _, k := range inv.Entries {
				out[k] = true
			}
		}
	}
	return out
}

func (h holdings) needs(k object.Key) bool { return h.needed()[k] }

// handed reports whether another end needs what this one recorded, and has recorded it: only then may this one forget it. One that cannot be written now
// has not, and nothing else would tell of it once its link is declared no more.
func (h holdings) handed(end object.End, k object.Key) bool {
	return h.needs(k) && slices.ContainsFunc(h.Recorded, func(inv inventory.Inventory) bool { return inv.End != end && inv.Has(k) })
}

// handover waits for that with what else an end recorded.
func (h holdings) handover(inv inventory.Inventory) gate {
	return gate{name: "objects that another end takes over", left: func() ([]object.Change, []object.Key) {
		return nil, slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool { return !h.needs(k) || h.gone(k) || h.handed(inv.End, k) })
	}}
}

// surplus is what an end has recorded, live or not yet known to be gone, and no end needs.
func (h holdings) surplus(inv inventory.Inventory) []object.Key {
	if inv.Lists(h.Wanted[inv.End].Objects) {
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

// entries takes recorded keys.
func (h holdings) entries(end object.End, name string, keys []object.Key) gate {
	return gate{name: name, tell: h.hides, left: func() ([]object.Change, []object.Key) {
		left := slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return h.needs(k) || h.gone(k) })
		return h.takes(end, left, object.Reason{Code: reason.Undeclared, Message: "no longer declared"})
	}}
}

// workloads stops the link's controller, where it is ours.
func (h holdings) workloads(inv inventory.Inventory) gate {
	var keys []object.Key
	for _, k := range inv.Entries {
		if k.Kind == "Deployment" || k.Kind == "PodDisruptionBudget" {
			keys = append(keys, k)
		}
	}
	return h.entries(inv.End, "controller", keys)
}
