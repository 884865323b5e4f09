package prune

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// waitsForReplacement returns why an end must keep what it holds for now; nil: it need not.
func (h holdings) waitsForReplacement(end object.End) *object.Reason {
	if h.Replacement == nil {
		return nil
	}
	return h.Replacement(end)
}

// removesController reports whether a declared end no longer needs a controller, whose work something else is to do. Other objects
// have no replacement.
func removesController(surplus []object.Key) bool {
	return slices.ContainsFunc(surplus, func(k object.Key) bool { return k.Kind == "Deployment" })
}

// trimGates is the order in which a declared end loses what it no longer needs: a controller stops before its rights go.
func (h holdings) trimGates(end object.End, surplus []object.Key) []gate {
	rest := h.withoutCredentials(end, surplus)
	return []gate{
		h.entries(end, "replaced controller", controllerKeys(rest)),
		h.entries(end, "undeclared objects", rest),
		h.entries(end, "credentials", h.mirrorCredential(end, surplus)),
		h.controlPlaneSecret(end, surplus),
	}
}

// controllerKeys are the keys whose deletion stops a controller.
func controllerKeys(keys []object.Key) []object.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool {
		return k.Kind != "Deployment" && k.Kind != "PodDisruptionBudget"
	})
}

// toDelete is surplus without what is released to the user's chart: that stays, and no guard counts it.
func (h holdings) toDelete(inv inventory.Inventory) []object.Key {
	releasable := h.releasable(inv.End)
	return slices.DeleteFunc(h.surplus(inv), releasable)
}

// releasable reports which surplus of an end is released to the user's chart: the parts of a controller that have the same names in
// the chart, in the namespace that it uses.
func (h holdings) releasable(end object.End) func(object.Key) bool {
	_, external := h.External[end]
	return func(k object.Key) bool {
		target, ok := linkerd.TargetOf(h.Linkerd, k)
		return external && ok && target == end.Link.Target && k.Kind != "Link" && k.Kind != "Secret" && k != linkerd.SharedBinding(h.Linkerd, target)
	}
}

// releases are the changes that release the controller to the user's chart.
func (h holdings) releases(inv inventory.Inventory) (out []object.Change) {
	to, external := h.External[inv.End]
	if !external {
		return nil
	}
	why := object.Reason{Code: reason.Released, Message: "the link's controller is declared External: released, and nothing owns it now"}
	if !to.IsZero() {
		why.Message = "the link's controller is declared External: released to Helm release " + to.Name + " in namespace " + to.Namespace
	}
	releasable := h.releasable(inv.End)
	for _, k := range h.surplus(inv) {
		if r := h.Observation.Record(k); releasable(k) && h.WasRead(k) && !r.Terminating {
			out = append(out, Release(object.Change{End: inv.End, Key: k, Was: r, Why: why}, to))
		}
	}
	return out
}

// neededElsewhere reports whether the link continues under another name of its source: another end needs its Linkerd Link.
func (u unlink) neededElsewhere() bool { return u.inv.End.IsSource() && u.needs(u.link(u.inv.End)) }

// leaveToOther keeps what the other end needs, and deletes the rest as of a declared end.
func (u unlink) leaveToOther(v Verdict) Verdict {
	end, releasable := u.inv.End, u.releasable(u.inv.End)
	v.ToDelete, v.Changes = u.toDelete(u.inv), u.releases(u.inv)
	v.Next = v.Next.Settle(nil, func(k object.Key) bool { return u.recordedElsewhere(end, k) || u.gone(k) })
	surplus := slices.DeleteFunc(slices.Clone(u.inv.Entries), func(k object.Key) bool { return u.needs(k) || releasable(k) })
	v = v.openGates(append(u.trimGates(end, surplus), u.untilRecordedElsewhere(u.inv)))
	v.Drop = len(v.Changes) == 0 && v.Waiting == nil
	return v
}
