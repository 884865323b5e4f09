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

// replaces says that what a declared end no longer wants did its work, and that something else is to do it now: a
// controller, or all that lies where the multicluster extension was before. What merely falls away has no successor.
func (in Input) replaces(surplus []object.Key) bool {
	return slices.ContainsFunc(surplus, func(k object.Key) bool { return k.Kind == "Deployment" || in.former(k) })
}

// former says that a key is of a namespace that was the multicluster one when it was recorded.
func (in Input) former(k object.Key) bool {
	l := in.Linkerd
	return k.Namespace != "" && k.Namespace != l.MulticlusterNamespace && k.Namespace != l.Namespace && k.Namespace != object.AccessNamespace
}

// trims is the order in which a declared end loses what it no longer wants: who could write by it stops first. The accounts of
// controllers in former namespaces go after what those left there: while one is recorded, it is looked for.
func (in Input) trims(end object.End, surplus []object.Key) []gate {
	rest := in.but(end, surplus)
	accounts := slices.DeleteFunc(slices.Clone(rest), func(k object.Key) bool { return !in.formerAccount(end, k) })
	return []gate{
		in.entries(end, "replaced controller", stopping(rest)),
		in.replaced(end, accounts),
		in.entries(end, "undeclared objects", slices.DeleteFunc(rest, func(k object.Key) bool { return slices.Contains(accounts, k) })),
		in.abandoned(end, accounts),
		in.entries(end, "accounts of replaced controllers", accounts),
		in.entries(end, "credentials", in.credentials(end, surplus)),
		in.controlPlaneSecret(end, surplus),
	}
}

// formerAccount says that a key is the account of the end's controller in a former namespace.
func (in Input) formerAccount(end object.End, k object.Key) bool {
	return end.IsSource() && in.former(k) && alike(k, in.account(end))
}

// leftIn is what a controller of the end's link shows or left in the namespaces of these accounts. Endpoints of somebody else's
// Service are not: they are that one's.
func (in Input) leftIn(end object.End, accounts []object.Key) (out linkerd.Mirror) {
	for _, k := range accounts {
		at := in.Linkerd
		at.MulticlusterNamespace = k.Namespace
		m := linkerd.MirrorsOf(at, in.Seen)[end.Link.Target]
		for _, probe := range m.Probe {
			if r := in.Seen.Record(object.Key{Kind: "Service", Namespace: probe.Namespace, Name: probe.Name}); r.IsZero() || r.Mark == object.Ours {
				out.Probe = append(out.Probe, probe)
			}
		}
		out.Lease = append(out.Lease, m.Lease...)
		for _, pod := range m.Pods {
			if pod.Namespace == k.Namespace {
				out.Pods = append(out.Pods, pod)
			}
		}
	}
	return out
}

// vacated says that a controller's account tells of nothing more that it left in a former namespace: what may not be read there may be left.
func (in Input) vacated(end object.End, account object.Key) bool {
	if !in.former(account) {
		return true
	}
	m := in.leftIn(end, []object.Key{account})
	return len(m.Pods)+len(m.Probe)+len(m.Lease) == 0 && in.unreadIn(account) == nil
}

// unreadIn says that pods or leases in the namespace of an account may not be read, or nil.
func (in Input) unreadIn(account object.Key) *object.Reason {
	at := in.Linkerd
	at.MulticlusterNamespace = account.Namespace
	watches := slices.DeleteFunc(linkerd.MirrorWatches(at), func(w object.Watch) bool { return w.Namespace != account.Namespace })
	return in.Seen.HidesAny(watches...)
}

// replaced waits for the pods of controllers in former namespaces: they still write probe endpoints there. Pods that may not be read may
// be there.
func (in Input) replaced(end object.End, accounts []object.Key) gate {
	unread := slices.DeleteFunc(slices.Clone(accounts), func(k object.Key) bool { return in.unreadIn(k) == nil })
	return gate{
		name: "replaced controller",
		left: func() ([]object.Change, []object.Key) {
			return nil, append(in.leftIn(end, accounts).Pods, unread...)
		},
		tell: func([]object.Key) *object.Reason {
			if len(unread) == 0 {
				return nil
			}
			return in.unreadIn(unread[0])
		},
	}
}

// relinkedFrom says that somebody else links the end's target from the namespace of an account now.
func (in Input) relinkedFrom(end object.End, account object.Key) bool {
	link := in.link(end)
	link.Namespace = account.Namespace
	r := in.Seen.Record(link)
	return !r.IsZero() && r.Mark != object.Ours
}

// lingering are the accounts of a declared end's controllers in former namespaces that are gone before what those left there: an
// unlink had begun, and its link was declared again, or somebody took one away. Where somebody else links from there, or runs
// the controller by now, it is theirs.
func (in Input) lingering(inv inventory.Inventory) []object.Key {
	return slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool {
		if !in.formerAccount(inv.End, k) || in.needs(k) || !in.Saw(k) || !in.Seen.Record(k).IsZero() {
			return true
		}
		controller := in.deployment(inv.End)
		controller.Namespace = k.Namespace
		return in.vacated(inv.End, k) || in.relinkedFrom(inv.End, k) || in.theirs(inventory.Inventory{}, controller)
	})
}

// abandoned takes the lease and the probe's Endpoints that a replaced controller left in a former namespace, unless somebody else
// links the target from there now.
func (in Input) abandoned(end object.End, accounts []object.Key) gate {
	return gate{name: "left by the replaced controller", left: func() ([]object.Change, []object.Key) {
		left := in.leftIn(end, slices.DeleteFunc(slices.Clone(accounts), func(k object.Key) bool { return in.relinkedFrom(end, k) }))
		return in.takesForeign(end, slices.Concat(left.Probe, left.Lease), object.Reason{Code: reason.Swept, Message: "left by a replaced controller"})
	}}
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

// pass leaves an end to another that wants what it holds. What that does not want goes as from an end that is declared: it may
// be a controller in a former namespace, or one that the user's chart is to run from now on.
func (in Input) pass(v Verdict, inv inventory.Inventory) Verdict {
	frees := in.frees(inv.End)
	v.Going, v.Go = in.going(inv), in.releases(inv)
	v.Next = v.Next.Settle(nil, func(k object.Key) bool { return in.needs(k) || in.gone(k) && in.vacated(inv.End, k) })
	v = v.through(in.trims(inv.End, slices.DeleteFunc(slices.Clone(inv.Entries), func(k object.Key) bool { return in.needs(k) || frees(k) })))
	v.Drop = len(v.Go) == 0 && v.Waiting == nil
	return v
}

// stays says why an unlink does not begin yet, or does not go on: a link that is declared again by another name of a cluster
// stays as one that is declared again.
func (in Input) stays(inv inventory.Inventory) *object.Reason { return in.succeeds(inv.End) }
