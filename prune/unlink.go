package prune

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// gate is one step of an unlink: what to delete now, and what must be gone before the next gate opens.
// All gates are evaluated again on every observation: a mirror that comes back is deleted again.
type gate struct {
	name      string
	remaining func() (take []object.Change, wait []object.Key)
	drain     drain // whose deadline ends the wait; zero: there is no deadline
	// explain returns a better reason for the wait than the default; nil, or returning nil: there is none.
	explain func(left []object.Key) *object.Reason
}

// unlink removes one undeclared end, one gate at a time.
type unlink struct {
	evaluation
	inv  inventory.Inventory
	peer Peer
}

// mirror are the objects of Linkerd's controller for the link.
func (u unlink) mirror() linkerd.Mirror { return u.Mirrors()[u.inv.End.Link.Target] }

func (u unlink) verdict(denied *object.Reason) Verdict {
	inv := u.inv
	v := Verdict{End: inv.End, Next: inv, ToDelete: u.surplus(inv)}
	if v.Denied = mayNotBegin(inv, u.peer, denied); v.Denied != nil {
		return v
	}
	if v.Waiting = u.mustWait(); v.Waiting != nil {
		return v
	}
	if u.neededElsewhere() {
		return u.leaveToOther(v)
	}
	if !inv.Leaving && !inv.End.IsSource() && len(v.ToDelete) == 0 { // nothing goes: it does not begin to leave
		if waiting := v.openGates([]gate{u.untilRecordedElsewhere(inv)}); waiting.Waiting != nil {
			return waiting
		}
	}
	v.Next = v.Next.Leave(u.Now)
	v.Next = v.Next.Settle(nil, u.mayForget())
	if !inv.End.IsSource() {
		v = u.awaitSource(v)
		if v.Waiting != nil {
			return v
		}
	}
	u.inv.Since = v.Next.Since
	v = v.openGates(append(u.gates(), u.untilRecordedElsewhere(u.inv)))
	v.Drop = len(v.Changes) == 0 && v.Waiting == nil
	return v
}

// mustWait returns why an unlink does not begin yet, or pauses.
func (u unlink) mustWait() *object.Reason {
	for _, why := range []*object.Reason{u.waitsForReplacement(u.inv.End), u.otherEndUnknown(), u.notRead()} {
		if why != nil {
			return why
		}
	}
	return nil
}

// mayNotBegin returns why guards stop an unlink from beginning. One that began is always finished.
func mayNotBegin(inv inventory.Inventory, peer Peer, denied *object.Reason) *object.Reason {
	switch {
	case inv.Leaving:
		return nil
	case peer.Closed != nil && !peer.State.gone():
		return object.Because(peer.Closed.Code, "the link's other end cannot be removed: %s", peer.Closed.Message)
	case denied != nil:
		return denied
	case peer.Denied != nil:
		return object.Because(peer.Denied.Code, "the link's other end cannot be removed: %s", peer.Denied.Message)
	}
	return nil
}

// otherEndUnknown returns why an unlink waits for the guards of the link's other end. It does not wait for an unreachable target,
// whose mirrors serve nobody. For an unreachable source a timeout runs (awaitSource).
func (u unlink) otherEndUnknown() *object.Reason {
	switch {
	case u.inv.Leaving || u.peer.State.Known() || u.peer.State == PeerUnreachable:
		return nil
	case !u.inv.End.IsSource():
		return object.Because(reason.WaitingForSource, "cluster %s cannot be read, so linkwright cannot check whether its end of the link may be removed: its access stays until then", u.inv.End.Link.Source)
	case u.peer.Unread != nil:
		return object.Because(reason.WaitingForTarget,
			"linkwright cannot check whether the end in %s may be removed: repair its access, or remove its declaration and run %s; the cluster answers, and was not read: %s: %s",
			u.inv.End.Link.Target, u.In.Command("abandon "+string(u.inv.End.Link.Target)), u.peer.Unread.Code, u.peer.Unread.Message)
	}
	return nil
}

// notRead returns why an unlink waits for reads: an object that was not read may be annotated as protected. Inventories list what is
// read, so a lost inventory is written again first (seed 89042095).
func (u unlink) notRead() *object.Reason {
	switch {
	case u.inv.Leaving:
		return nil
	case u.inv.Was.IsZero():
		return object.Because(reason.Waiting, "the link's inventory was lost: linkwright writes it again, and reads all that it lists, before it removes the link")
	}
	for _, k := range u.surplus(u.inv) {
		if why := u.Observation.Hides(k); why != nil {
			return why
		}
		if !u.WasRead(k) {
			return object.Because(reason.Waiting, "linkwright has not read %s yet, and needs it to decide whether the link may be removed", k)
		}
	}
	return nil
}

// awaitSource keeps the source's account until the source's end is gone, or until the source has been unreachable for
// --unreachable-source-timeout without a break.
func (u unlink) awaitSource(v Verdict) Verdict {
	source := v.End.Link.Source
	if u.peer.State != PeerUnreachable {
		v.Next.Since = time.Time{}
	}
	switch {
	case u.peer.State.gone():
	case u.peer.Closed != nil:
		v.Waiting = object.Because(u.peer.Closed.Code, "the access of cluster %s stays until it has removed its end of the link: %s", source, u.peer.Closed.Message)
	case u.peer.State == PeerUnreachable:
		if v.Next.Since.IsZero() {
			v.Next.Since = u.Now.UTC().Truncate(time.Second)
		}
		if until := v.Next.Since.Add(u.UnreachableSourceTimeout); u.Now.Before(until) {
			v.AccessUntil, v.Waiting = until, object.Because(reason.WaitingForSource, "cluster %s cannot be read: its access stays until its end of the link is gone, or until %s (--unreachable-source-timeout %s)",
				source, until.UTC().Format(time.RFC3339), u.UnreachableSourceTimeout)
		}
	case !u.peer.State.Known():
		v.Waiting = object.Because(reason.WaitingForSource, "cluster %s cannot be read: its access stays until its end of the link is gone", source)
	default:
		v.Waiting = object.Because(reason.WaitingForSource, "the access of cluster %s stays until it has removed its end of the link", source)
	}
	return v
}

// mayForget reports whether an entry may leave the inventory of an unlink. The account stays listed, though it is gone, until the
// leftovers of its controller are deleted: without it the next step would take the controller for the
// user's. A Link stays listed until no mirror is left (secondCheck).
func (u unlink) mayForget() func(object.Key) bool {
	end, m := u.inv.End, u.mirror()
	swept := len(m.Pods)+len(m.Probe)+len(m.Lease) == 0
	return func(k object.Key) bool {
		switch {
		case u.needs(k):
			return u.recordedElsewhere(end, k) || u.gone(k)
		case !end.IsSource() || !u.gone(k):
			return u.gone(k)
		case k == u.account(end):
			return swept
		case k == u.link(end):
			return !m.HasMirrors()
		}
		return true
	}
}

// gates is the order of an unlink at one end: Linkerd's controller removes its mirrors and stops; then linkwright deletes the mirrors
// that are left, the objects of the link, and the credential of the control plane last.
func (u unlink) gates() []gate {
	inv, end := u.inv, u.inv.End
	if !end.IsSource() {
		return []gate{u.entries(end, "access", inv.Entries)}
	}
	d := u.drain()
	link := u.entries(end, "Linkerd Link", ifRecorded(inv, u.link(end)))
	rest := u.entries(end, "objects of the link", u.withoutCredentials(end, inv.Entries))
	credentials := u.entries(end, "credentials", u.mirrorCredential(end, inv.Entries))
	left := u.mirror()
	last := []gate{
		u.leftovers("probe endpoints", left.Probe), u.leftovers("lease", left.Lease),
		credentials, u.controlPlaneSecret(end, inv.Entries),
	}
	if inv.Has(u.account(end)) && !u.foreignController(end) && !u.isShared() {
		return append([]gate{u.selectors(d), u.mirrorsRemaining(d), u.workloads(inv), u.podsGone(), u.mirrors(), link, rest}, last...)
	}
	// The user's chart runs the controller, or did, or other links share it: without its Link it stops.
	return append([]gate{
		u.selectors(d), u.mirrorsRemaining(d), u.workloads(inv), link, u.leaseReleased(d), u.mirrors(), u.secondCheck(), rest, u.terminatingPodsGone(),
	}, last...)
}

// isShared reports whether the source's shared controller mirrors the link, and does not stop with it.
func (u unlink) isShared() bool {
	return u.inv.Has(linkerd.SharedBinding(u.Linkerd, u.inv.End.Link.Target))
}

// leaseReleased waits until the shared controller has released the Lease of the link, which it does after its last write. A pod that was killed
// releases nothing: the wait ends with the drain's deadline.
func (u unlink) leaseReleased(d drain) gate {
	return gate{name: "shared controller", remaining: func() ([]object.Change, []object.Key) {
		if !u.isShared() || len(u.Mirrors()[""].Pods) == 0 || !u.within(d.until) {
			return nil, nil
		}
		return nil, slices.DeleteFunc(slices.Clone(u.mirror().Lease), func(k object.Key) bool {
			return u.Observation.Record(k).Health.Cause() == object.NoHolder
		})
	}}
}

// openGates adds what the first gate that is not open deletes or waits for.
func (v Verdict) openGates(gates []gate) Verdict {
	for _, g := range gates {
		take, wait := g.remaining()
		switch {
		case len(take) > 0:
			v.Changes = append(v.Changes, take...)
			return v
		case len(wait) > 0:
			v.Waiting, v.Until = g.waitReason(wait), g.drain.until
			return v
		}
	}
	return v
}

func (g gate) waitReason(left []object.Key) *object.Reason {
	if !g.drain.until.IsZero() {
		return g.drain.waitReason(left)
	}
	if g.explain != nil {
		if why := g.explain(left); why != nil {
			return why
		}
	}
	return object.Because(reason.Waiting, "%s: %d not gone yet, the first is %s", g.name, len(left), left[0])
}

// podsGone waits for the pods of a stopped controller, which may still write.
func (u unlink) podsGone() gate {
	return gate{name: "controller", remaining: func() ([]object.Change, []object.Key) { return nil, u.mirror().Pods }}
}

// terminatingPodsGone waits for the pods of a foreign controller while all of them are being deleted: they still write what the next
// gates delete.
func (u unlink) terminatingPodsGone() gate {
	return gate{name: "controller", remaining: func() ([]object.Change, []object.Key) {
		pods := u.mirror().Pods
		if u.anyRunning(pods) {
			return nil, nil
		}
		return nil, pods
	}}
}

// mirrors deletes the mirrors that the controller left. It may do so if Linkerd's own labels name the target,
// linkwright's inventory lists the link as leaving, and no foreign Link of that name is left in any namespace.
func (u unlink) mirrors() gate {
	end := u.inv.End
	return gate{name: "mirrors", remaining: func() ([]object.Change, []object.Key) {
		if u.foreignLink(end.Link.Target) {
			return nil, nil
		}
		m := u.mirror()
		swept := object.Reason{Code: reason.LeftByController, Message: "mirror of an unlinked cluster"}
		take, wait := u.foreignDeletions(end, slices.Concat(m.Services, m.Endpoints), swept)
		for _, f := range m.Federated {
			take = append(take, LeaveFederated(end, f, u.Observation))
		}
		return take, wait
	}}
}

// secondCheck reads once more after no mirror was found, because no gate waits for the running pods of a foreign controller: the gone
// Link leaves the inventory on the first read, and the gate opens on the next, after the gate of the mirrors was evaluated again.
func (u unlink) secondCheck() gate {
	return gate{name: "second check for mirrors", remaining: func() ([]object.Change, []object.Key) {
		if u.foreignLink(u.inv.End.Link.Target) {
			return nil, nil
		}
		return nil, ifRecorded(u.inv, u.link(u.inv.End))
	}}
}

// leftovers deletes what Linkerd's controller wrote by names that only this link uses, under the same conditions as mirrors:
// a controller of somebody else's Link uses the same names, and so does one that the user's chart still runs.
func (u unlink) leftovers(name string, keys []object.Key) gate {
	return gate{name: name, remaining: func() ([]object.Change, []object.Key) {
		if u.isForeign(u.link(u.inv.End)) || u.foreignController(u.inv.End) || u.anyRunning(u.mirror().Pods) || !u.WasRead(u.deployment(u.inv.End)) {
			return nil, nil
		}
		keys := slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool {
			service := object.Key{Kind: "Service", Namespace: k.Namespace, Name: k.Name}
			return k.Kind == "Endpoints" && u.isForeign(service)
		})
		return u.foreignDeletions(u.inv.End, keys, object.Reason{Code: reason.LeftByController, Message: "left by the controller of an unlinked cluster"})
	}}
}

// LeaveFederated removes the target from a federated Service, or deletes the Service if no other member is left.
func LeaveFederated(end object.End, m linkerd.Membership, observed object.Observation) object.Change {
	c := object.Change{
		End: end, Key: m.Key, Was: observed.Record(m.Key), Action: object.Delete,
		Why: object.Reason{Code: reason.LeftByController, Message: "federated service without any member left"},
	}
	if m.Others {
		c.Action = object.Release
		c.Object = object.Object{Key: m.Key, Version: "v1", Body: object.NewBody(membersPatch(m.Rest))}
		c.Why.Message = "member of an unlinked cluster"
	}
	return c
}

// membersPatch is a JSON merge patch of the members' annotation; without members it removes the annotation.
func membersPatch(rest string) []byte {
	value, err := json.Marshal(rest)
	if rest == "" || err != nil {
		value = []byte("null")
	}
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, linkerd.RemoteDiscovery, value)
}
