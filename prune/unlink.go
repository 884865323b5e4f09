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

// gate is one step of an unlink: what goes now, and what must be gone by itself, before the next opens.
// It is judged anew on every observation, from the first on: a mirror that comes back is swept again.
type gate struct {
	name  string
	left  func() (take []object.Change, wait []object.Key)
	drain drain // that it waits for; zero: it waits as long as it takes
	// tell says what it waits for, where that is more than objects that must be gone; nil, or giving nil: that is all.
	tell func(left []object.Key) *object.Reason
}

// unlink takes one undeclared end away, one gate at a time.
type unlink struct {
	judgement
	inv  inventory.Inventory
	peer Peer
}

// made is what Linkerd's controller made for the link.
func (u unlink) made() linkerd.Mirror { return u.Mirrors()[u.inv.End.Link.Target] }

func (u unlink) leave(refused *object.Reason) Verdict {
	inv := u.inv
	v := Verdict{End: inv.End, Next: inv, Going: u.surplus(inv)}
	if v.Denied = begins(inv, u.peer, refused); v.Denied != nil {
		return v
	}
	if v.Waiting = u.stays(); v.Waiting != nil {
		return v
	}
	if u.passed() {
		return u.pass(v)
	}
	if !inv.Leaving && !inv.End.IsSource() && len(v.Going) == 0 { // nothing goes: it does not begin to leave
		if handing := v.through([]gate{u.handover(inv)}); handing.Waiting != nil {
			return handing
		}
	}
	v.Next = v.Next.Leave(u.Now)
	v.Next = v.Next.Settle(nil, u.done())
	if !inv.End.IsSource() {
		v = u.awaitSource(v)
		if v.Waiting != nil {
			return v
		}
	}
	u.inv.Since = v.Next.Since
	v = v.through(append(u.gates(), u.handover(u.inv)))
	v.Drop = len(v.Go) == 0 && v.Waiting == nil
	return v
}

// stays returns why an unlink does not begin yet, or does not go on. A link that is declared again by another name of a cluster stays as
// one that is declared again.
func (u unlink) stays() *object.Reason {
	for _, why := range []*object.Reason{u.succeeds(u.inv.End), u.unheard(), u.unseen()} {
		if why != nil {
			return why
		}
	}
	return nil
}

// begins: once begun, an unlink is finished, never judged again.
func begins(inv inventory.Inventory, peer Peer, refused *object.Reason) *object.Reason {
	switch {
	case inv.Leaving:
		return nil
	case peer.Closed != nil && !peer.State.gone():
		return object.Because(peer.Closed.Code, "the link's other end cannot be removed: %s", peer.Closed.Message)
	case refused != nil:
		return refused
	case peer.Denied != nil:
		return object.Because(peer.Denied.Code, "the link's other end cannot be removed: %s", peer.Denied.Message)
	}
	return nil
}

// unheard: an end does not begin while nobody knows what the guards of the other say. A dead source begins its grace; a dead
// target, or one that nobody can ask, has no say: mirrors of it serve nobody.
func (u unlink) unheard() *object.Reason {
	switch {
	case u.inv.Leaving || u.peer.State.Known() || u.peer.State == PeerDead:
		return nil
	case !u.inv.End.IsSource():
		return object.Because(reason.WaitingForSource, "cluster %s cannot be read, so linkwright cannot check whether its end of the link may be removed: its access stays until then", u.inv.End.Link.Source)
	case u.peer.Unread != nil:
		return object.Because(reason.WaitingForTarget,
			"cluster %s answers, but linkwright cannot read it to check whether its end of the link may be removed (%s: %s): repair that, or remove its declaration, if any, and run %s",
			u.inv.End.Link.Target, u.peer.Unread.Code, u.peer.Unread.Message, u.In.Command("abandon "+string(u.inv.End.Link.Target)))
	}
	return nil
}

// unseen: an end does not begin while something of it was not looked for: nobody knows whether people want that kept. Inventories
// say what is looked for. One that was lost is written again first: by it all of the end is found, also what nothing else tells of
// (seed 89042095), and judged.
func (u unlink) unseen() *object.Reason {
	switch {
	case u.inv.Leaving:
		return nil
	case u.inv.Was.IsZero():
		return object.Because(reason.Waiting, "the link's inventory was lost: linkwright writes it again, and reads all that it lists, before it removes the link")
	}
	for _, k := range u.surplus(u.inv) {
		if why := u.Seen.Hides(k); why != nil {
			return why
		}
		if !u.Saw(k) {
			return object.Because(reason.Waiting, "linkwright has not read %s yet, and needs it to decide whether the link may be removed", k)
		}
	}
	return nil
}

// awaitSource keeps the source's account until the source no longer uses it, or was dead for longer than people grant: since it was
// found dead first, and was not heard after that. If the source's end is gone, nothing is waited for, and no moment is kept.
func (u unlink) awaitSource(v Verdict) Verdict {
	source := v.End.Link.Source
	if u.peer.State != PeerDead {
		v.Next.Since = time.Time{}
	}
	switch {
	case u.peer.State.gone():
	case u.peer.Closed != nil:
		v.Waiting = object.Because(u.peer.Closed.Code, "the access of cluster %s stays until it has removed its end of the link: %s", source, u.peer.Closed.Message)
	case u.peer.State == PeerDead:
		if v.Next.Since.IsZero() {
			v.Next.Since = u.Now.UTC().Truncate(time.Second)
		}
		if until := v.Next.Since.Add(u.Grace); u.Now.Before(until) {
			v.Grace, v.Waiting = until, object.Because(reason.WaitingForSource, "cluster %s cannot be read: its access stays until its end of the link is gone, or until %s (--unreachable-source-timeout %s)",
				source, until.UTC().Format(time.RFC3339), u.Grace)
		}
	case !u.peer.State.Known():
		v.Waiting = object.Because(reason.WaitingForSource, "cluster %s cannot be read: its access stays until its end of the link is gone", source)
	default:
		v.Waiting = object.Because(reason.WaitingForSource, "the access of cluster %s stays until it has removed its end of the link", source)
	}
	return v
}

// done reports whether an entry may leave the inventory of an unlink. The account stays in it, though gone,
// until what its controller left is swept: without it the next step would take the controller for the
// user's. A Link stays until no mirror is seen (onceMore).
func (u unlink) done() func(object.Key) bool {
	end, m := u.inv.End, u.made()
	swept := len(m.Pods)+len(m.Probe)+len(m.Lease) == 0
	return func(k object.Key) bool {
		switch {
		case u.needs(k):
			return u.handed(end, k) || u.gone(k)
		case !end.IsSource() || !u.gone(k):
			return u.gone(k)
		case k == u.account(end):
			return swept
		case k == u.link(end):
			return !m.Left()
		}
		return true
	}
}

// gates is the order of an unlink at one end (LINKERD.md's derived order): who made the mirrors takes them away, and
// stops; what is left of them goes, then what they were made with, and the credential of the control plane last.
func (u unlink) gates() []gate {
	inv, end := u.inv, u.inv.End
	if !end.IsSource() {
		return []gate{u.entries(end, "access", inv.Entries)}
	}
	d := u.drain()
	link := u.entries(end, "Linkerd Link", only(inv, u.link(end)))
	rest := u.entries(end, "objects of the link", u.but(end, inv.Entries))
	credentials := u.entries(end, "credentials", u.credentials(end, inv.Entries))
	left := u.made()
	last := []gate{
		u.leftovers("probe endpoints", left.Probe), u.leftovers("lease", left.Lease),
		credentials, u.controlPlaneSecret(end, inv.Entries),
	}
	if inv.Has(u.account(end)) && !u.handedOver(end) {
		return append([]gate{u.selectors(d), u.mirrorsLeft(d), u.workloads(inv), u.pods(), u.mirrors(), link, rest}, last...)
	}
	// The user's chart runs the controller, or did, or nobody knows: without its Link it stops. Pods that end are waited for.
	return append([]gate{
		u.selectors(d), u.mirrorsLeft(d), u.workloads(inv), link, u.mirrors(), u.onceMore(), rest, u.ending(),
	}, last...)
}

// through adds what the first gate that is not through takes, or waits for.
func (v Verdict) through(gates []gate) Verdict {
	for _, g := range gates {
		take, wait := g.left()
		switch {
		case len(take) > 0:
			v.Go = append(v.Go, take...)
			return v
		case len(wait) > 0:
			v.Waiting, v.Until = g.waits(wait), g.drain.until
			return v
		}
	}
	return v
}

func (g gate) waits(left []object.Key) *object.Reason {
	if !g.drain.until.IsZero() {
		return g.drain.waits(left)
	}
	if g.tell != nil {
		if why := g.tell(left); why != nil {
			return why
		}
	}
	return object.Because(reason.Waiting, "%s: %d not gone yet, the first is %s", g.name, len(left), left[0])
}

// pods waits for what a stopped controller could still write.
func (u unlink) pods() gate {
	return gate{name: "controller", left: func() ([]object.Change, []object.Key) { return nil, u.made().Pods }}
}

// ending waits for the pods of a controller that is not ours while all of them are being deleted: they still write what is swept
// behind this gate.
func (u unlink) ending() gate {
	return gate{name: "controller", left: func() ([]object.Change, []object.Key) {
		pods := u.made().Pods
		if u.staying(pods) {
			return nil, nil
		}
		return nil, pods
	}}
}

// mirrors sweeps what the controller left. The proof that we may: Linkerd's own labels name the target,
// our inventory says that we unlink it, and no Link of that name remains that is not ours, in any namespace.
func (u unlink) mirrors() gate {
	end := u.inv.End
	return gate{name: "mirrors", left: func() ([]object.Change, []object.Key) {
		if u.relinked(end.Link.Target) {
			return nil, nil
		}
		m := u.made()
		swept := object.Reason{Code: reason.LeftByController, Message: "mirror of an unlinked cluster"}
		take, wait := u.takesForeign(end, slices.Concat(m.Services, m.Endpoints), swept)
		for _, f := range m.Federated {
			take = append(take, Quit(end, f, u.Seen))
		}
		return take, wait
	}}
}

// onceMore lets a second look follow the one that found no mirror, since nothing waits for the pods of a
// controller that is not ours: the gone Link leaves the inventory on the first, and the gate opens on the
// next, after the mirrors' own was judged again.
func (u unlink) onceMore() gate {
	return gate{name: "second check for mirrors", left: func() ([]object.Change, []object.Key) {
		if u.relinked(u.inv.End.Link.Target) {
			return nil, nil
		}
		return nil, only(u.inv, u.link(u.inv.End))
	}}
}

// leftovers takes what Linkerd's controller wrote by names that only this link uses, on the proof of mirrors:
// a controller of somebody else's Link uses the same names, and so does one that the user's chart still runs.
func (u unlink) leftovers(name string, keys []object.Key) gate {
	return gate{name: name, left: func() ([]object.Change, []object.Key) {
		if u.theirs(u.link(u.inv.End)) || u.handedOver(u.inv.End) || u.staying(u.made().Pods) || !u.Saw(u.deployment(u.inv.End)) {
			return nil, nil
		}
		keys := slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool {
			service := object.Key{Kind: "Service", Namespace: k.Namespace, Name: k.Name}
			return k.Kind == "Endpoints" && u.theirs(service)
		})
		return u.takesForeign(u.inv.End, keys, object.Reason{Code: reason.LeftByController, Message: "left by the controller of an unlinked cluster"})
	}}
}

// Quit takes the target out of a federated Service, which goes only when it has no member left.
func Quit(end object.End, m linkerd.Membership, seen object.Observation) object.Change {
	c := object.Change{
		End: end, Key: m.Key, Was: seen.Record(m.Key), Action: object.Delete,
		Why: object.Reason{Code: reason.LeftByController, Message: "federated service without any member left"},
	}
	if m.Others {
		c.Action = object.Release
		c.Object = object.Object{Key: m.Key, Version: "v1", Body: object.NewBody(membersPatch(m.Rest))}
		c.Why.Message = "member of an unlinked cluster"
	}
	return c
}

// membersPatch is a JSON merge patch of the members' annotation; without members it is taken away.
func membersPatch(rest string) []byte {
	value, err := json.Marshal(rest)
	if rest == "" || err != nil {
		value = []byte("null")
	}
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, linkerd.RemoteDiscovery, value)
}
