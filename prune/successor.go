package prune

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// succeeds returns why what an end holds must stay for now.
func (h holdings) succeeds(end object.End) *object.Reason {
	if h.Successor == nil {
		return nil
	}
	return h.Successor(end)
}

// replaces reports whether a controller, which a declared end no longer wants, did its work, and that something else is to do it now. What
// merely falls away has no successor.
func replaces(surplus []object.Key) bool {
	return slices.ContainsFunc(surplus, func(k object.Key) bool { return k.Kind == "Deployment" })
}

// trims is the order in which a declared end loses what it no longer wants: who could write by it stops first.
func (h holdings) trims(end object.End, surplus []object.Key) []gate {
	rest := h.but(end, surplus)
	return []gate{
		h.entries(end, "replaced controller", stopping(rest)),
		h.entries(end, "undeclared objects", rest),
		h.entries(end, "credentials", h.credentials(end, surplus)),
		h.controlPlaneSecret(end, surplus),
	}
}

// stopping are the keys whose end stops a controller.
func stopping(keys []object.Key) []object.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool {
		return k.Kind != "Deployment" && k.Kind != "PodDisruptionBudget"
	})
}

// going is surplus, but for what is released: that stays, and no guard counts it.
func (h holdings) going(inv inventory.Inventory) []object.Key {
	frees := h.frees(inv.End)
	return slices.DeleteFunc(h.surplus(inv), frees)
}

// frees returns which surplus of an end is given up to the user's chart: the parts of a controller, by the names that the
// chart uses too, in the namespace where it would look for them.
func (h holdings) frees(end object.End) func(object.Key) bool {
	_, external := h.External[end]
	return func(k object.Key) bool {
		target, ok := linkerd.TargetOf(h.Linkerd, k)
		return external && ok && target == end.Link.Target && k.Kind != "Link" && k.Kind != "Secret"
	}
}

// releases gives up what the user's chart runs from now on.
func (h holdings) releases(inv inventory.Inventory) (out []object.Change) {
	to, external := h.External[inv.End]
	if !external {
		return nil
	}
	why := object.Reason{Code: reason.Released, Message: "the link's controller is declared External: released, and nothing owns it now"}
	if !to.IsZero() {
		why.Message = "the link's controller is declared External: released to Helm release " + to.Name + " in namespace " + to.Namespace
	}
	frees := h.frees(inv.End)
	for _, k := range h.surplus(inv) {
		if r := h.Seen.Record(k); frees(k) && h.Saw(k) && !r.Going {
			out = append(out, Release(object.Change{End: inv.End, Key: k, Was: r, Why: why}, to))
		}
	}
	return out
}

// passed reports whether a link goes on under another name of its source: all that its controller wrote by is wanted by another
// end, and nothing but what that does not want is taken.
func (u unlink) passed() bool { return u.inv.End.IsSource() && u.needs(u.link(u.inv.End)) }

// pass leaves an end to another that wants what it holds. What that does not want goes as from an end that is declared.
func (u unlink) pass(v Verdict) Verdict {
	end, frees := u.inv.End, u.frees(u.inv.End)
	v.Going, v.Go = u.going(u.inv), u.releases(u.inv)
	v.Next = v.Next.Settle(nil, func(k object.Key) bool { return u.handed(end, k) || u.gone(k) })
	surplus := slices.DeleteFunc(slices.Clone(u.inv.Entries), func(k object.Key) bool { return u.needs(k) || frees(k) })
	v = v.through(append(u.trims(end, surplus), u.handover(u.inv)))
	v.Drop = len(v.Go) == 0 && v.Waiting == nil
	return v
}
