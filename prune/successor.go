package prune

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// WaitingForSuccessor is the code of an end that holds what goes only when something else is in place and ready.
const WaitingForSuccessor = reason.WaitingForSuccessor

// succeeds says why what an end holds must stay for now.
func (in Input) succeeds(end object.End) *object.Reason {
	if in.Successor == nil {
		return nil
	}
	return in.Successor(end)
}

// replaces says that a controller, which a declared end no longer wants, did its work, and that something else is to do it now. What
// merely falls away has no successor.
func replaces(surplus []object.Key) bool {
	return slices.ContainsFunc(surplus, func(k object.Key) bool { return k.Kind == "Deployment" })
}

// trims is the order in which a declared end loses what it no longer wants: who could write by it stops first.
func (in Input) trims(end object.End, surplus []object.Key) []gate {
	rest := in.but(end, surplus)
	return []gate{
		in.entries(end, "replaced controller", stopping(rest)),
		in.entries(end, "undeclared objects", rest),
		in.entries(end, "credentials", in.credentials(end, surplus)),
		in.controlPlaneSecret(end, surplus),
	}
}

// stopping are the keys whose end stops a controller.
func stopping(keys []object.Key) []object.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool {
		return k.Kind != "Deployment" && k.Kind != "PodDisruptionBudget"
	})
}

// going is surplus, but for what is released: that stays, and no guard counts it.
func (in Input) going(inv inventory.Inventory) []object.Key {
	frees := in.frees(inv.End)
	return slices.DeleteFunc(in.surplus(inv), frees)
}

// frees says which surplus of an end is given up to the user's chart: the parts of a controller, by the names that the
// chart uses too, in the namespace where it would look for them.
func (in Input) frees(end object.End) func(object.Key) bool {
	_, external := in.External[end]
	return func(k object.Key) bool {
		target, ok := linkerd.TargetOf(in.Linkerd, k)
		return external && ok && target == end.Link.Target && k.Kind != "Link" && k.Kind != "Secret"
	}
}

// releases gives up what the user's chart runs from now on.
func (in Input) releases(inv inventory.Inventory) (out []object.Change) {
	to, external := in.External[inv.End]
	if !external {
		return nil
	}
	why := object.Reason{Code: reason.Released, Message: "the link's controller is declared External: given up, and nobody owns it now"}
	if !to.IsZero() {
		why.Message = "the link's controller is declared External: given up to release " + to.Name + " of Helm in namespace " + to.Namespace
	}
	frees := in.frees(inv.End)
	for _, k := range in.surplus(inv) {
		if r := in.Seen.Record(k); frees(k) && in.Saw(k) && !r.Going {
			out = append(out, Release(object.Change{End: inv.End, Key: k, Was: r, Why: why}, to))
		}
	}
	return out
}

// passed says that a link goes on under another name of its source: all that its controller wrote by is wanted by another
// end, and nothing but what that does not want is taken.
func (in Input) passed(end object.End) bool { return end.IsSource() && in.needs(in.link(end)) }

// pass leaves an end to another that wants what it holds. What that does not want goes as from an end that is declared.
func (in Input) pass(v Verdict, inv inventory.Inventory) Verdict {
	frees := in.frees(inv.End)
	v.Going, v.Go = in.going(inv), in.releases(inv)
	v.Next = v.Next.Settle(nil, func(k object.Key) bool { return in.handed(inv.End, k) || in.gone(k) })
	v = v.through(append(in.trims(inv.End, slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool { return in.needs(k) || frees(k) })), in.handover(inv)))
	v.Drop = len(v.Go) == 0 && v.Waiting == nil
	return v
}

// stays says why an unlink does not begin yet, or does not go on: a link that is declared again by another name of a cluster
// stays as one that is declared again.
func (in Input) stays(inv inventory.Inventory) *object.Reason { return in.succeeds(inv.End) }
