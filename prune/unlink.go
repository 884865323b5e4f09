package prune

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Codes of what an end waits for.
const (
	WaitingForSource = reason.WaitingForSource // the link's end in the source must go first
	WaitingForTarget = reason.WaitingForTarget // the target answers, and its guards are not known
	WaitingForLinks  = reason.WaitingForLinks  // the ends of a departed cluster must go first
	Waiting          = reason.Waiting          // something must go by itself
	Draining         = reason.Draining         // Linkerd's controller takes its mirrors away: for how long is in Verdict.Until
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

// leave takes an undeclared end away, one gate at a time.
func (in Input) leave(inv inventory.Inventory, peer Peer, refused *object.Reason) Verdict {
	v := Verdict{End: inv.End, Next: inv, Going: in.surplus(inv)}
	if v.Refused = begins(inv, peer, refused); v.Refused != nil {
		return v
	}
	if v.Waiting = in.stays(inv); v.Waiting != nil {
		return v
	}
	if v.Waiting = in.unheard(inv, peer); v.Waiting != nil {
		return v
	}
	if v.Waiting = in.unseen(inv); v.Waiting != nil {
		return v
	}
	if in.passed(inv.End) {
		return in.pass(v, inv)
	}
	if !inv.Leaving && !inv.End.IsSource() && len(v.Going) == 0 { // nothing goes: it does not begin to leave
		if handing := v.through([]gate{in.handover(inv)}); handing.Waiting != nil {
			return handing
		}
	}
	v.Next = v.Next.Leave(in.Now)
	v.Next = v.Next.Settle(nil, in.done(inv.End))
	if !inv.End.IsSource() {
		v = in.awaitSource(v, peer)
		if v.Waiting != nil {
			return v
		}
	}
	inv.Since = v.Next.Since
	v = v.through(append(in.gates(inv, peer), in.handover(inv)))
	v.Drop = len(v.Go) == 0 && v.Waiting == nil
	return v
}

// begins: once begun, an unlink is finished, never judged again.
func begins(inv inventory.Inventory, peer Peer, refused *object.Reason) *object.Reason {
	switch {
	case inv.Leaving:
		return nil
	case peer.Closed != nil && !peer.gone():
		return object.Because(peer.Closed.Code, "the link's other end may not go: %s", peer.Closed.Message)
	case refused != nil:
		return refused
	case peer.Refused != nil:
		return object.Because(peer.Refused.Code, "the link's other end may not go: %s", peer.Refused.Message)
	}
	return nil
}

func (p Peer) gone() bool { return p.Known && p.Gone }

// unheard: an end does not begin while nobody knows what the guards of the other say. A dead source begins its grace; a dead
// target, or one that nobody can ask, has no say: mirrors of it serve nobody.
func (in Input) unheard(inv inventory.Inventory, peer Peer) *object.Reason {
	switch {
	case inv.Leaving || peer.Known || peer.Dead:
		return nil
	case !inv.End.IsSource():
		return object.Because(WaitingForSource, "cluster %s cannot be read: until it can, nobody knows whether its end of the link may go, and its access stays", inv.End.Link.Source)
	case peer.Unread != nil:
		return object.Because(WaitingForTarget,
			"cluster %s answers, but cannot be read, and nobody knows whether its end of the link may go: repair that, or, once it is declared no more, give it up: %s (%s: %s)",
			inv.End.Link.Target, in.In.Command("abandon "+string(inv.End.Link.Target)), peer.Unread.Code, peer.Unread.Message)
	}
	return nil
}

// unseen: an end does not begin while something of it was not looked for: nobody knows whether people want that kept. Inventories
// say what is looked for. One that was lost is written again first: by it all of the end is found, also what nothing else tells of
// (seed 89042095), and judged.
func (in Input) unseen(inv inventory.Inventory) *object.Reason {
	switch {
	case inv.Leaving:
		return nil
	case inv.Was.IsZero():
		return object.Because(Waiting, "its inventory was lost: before the link is removed, linkwright writes the inventory again and reads all that it lists")
	}
	for _, k := range in.surplus(inv) {
		if why := in.Seen.Hides(k); why != nil {
			return why
		}
		if !in.Saw(k) {
			return object.Because(Waiting, "%s was not looked for yet: until it is, nobody knows whether the link may go", k)
		}
	}
	return nil
}

// awaitSource keeps the source's account until the source no longer uses it, or was dead for longer than people grant: since it was
// found dead first, and was not heard after that. If the source's end is gone, nothing is waited for, and no moment is kept.
func (in Input) awaitSource(v Verdict, peer Peer) Verdict {
	source := v.End.Link.Source
	if !peer.Dead {
		v.Next.Since = time.Time{}
	}
	switch {
	case peer.gone():
	case peer.Closed != nil:
		v.Waiting = object.Because(peer.Closed.Code, "its access stays until cluster %s has removed its end of the link: %s", source, peer.Closed.Message)
	case peer.Dead:
		if v.Next.Since.IsZero() {
			v.Next.Since = in.Now.UTC().Truncate(time.Second)
		}
		if until := v.Next.Since.Add(in.Grace); in.Now.Before(until) {
			v.Grace, v.Waiting = until, object.Because(WaitingForSource, "cluster %s cannot be read: its access stays until its end of the link is gone, or until %s (--access-grace %s)",
				source, until.UTC().Format(time.RFC3339), in.Grace)
		}
	case !peer.Known:
		v.Waiting = object.Because(WaitingForSource, "cluster %s cannot be read: its access stays until its end of the link is gone", source)
	default:
		v.Waiting = object.Because(WaitingForSource, "its access stays until cluster %s has removed its end of the link", source)
	}
	return v
}

// account is that of a link's controller: an end that recorded one like it runs the controller itself.
func (in Input) account(end object.End) object.Key {
	return object.Key{Kind: "ServiceAccount", Namespace: in.Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
}

func (in Input) deployment(end object.End) object.Key {
	return object.Key{Group: "apps", Kind: "Deployment", Namespace: in.Linkerd.MulticlusterNamespace, Name: linkerd.Controller(end.Link.Target)}
}

func (in Input) link(end object.End) object.Key { return linkerd.LinkKey(in.Linkerd, end.Link.Target) }

// done says that an entry may leave the inventory of an unlink. The account stays in it, though gone,
// until what its controller left is swept: without it the next step would take the controller for the
// user's. A Link stays until no mirror is seen (onceMore).
func (in Input) done(end object.End) func(object.Key) bool {
	m := in.Mirrors()[end.Link.Target]
	swept := len(m.Pods)+len(m.Probe)+len(m.Lease) == 0
	return func(k object.Key) bool {
		switch {
		case in.needs(k):
			return in.handed(end, k) || in.gone(k)
		case !end.IsSource() || !in.gone(k):
			return in.gone(k)
		case k == in.account(end):
			return swept
		case k == in.link(end):
			return !m.Left()
		}
		return true
	}
}

// gates is the order of an unlink at one end (LINKERD.md's derived order): who made the mirrors takes them away, and
// stops; what is left of them goes, then what they were made with, and the credential of the control plane last.
func (in Input) gates(inv inventory.Inventory, peer Peer) []gate {
	end, target := inv.End, inv.End.Link.Target
	if !end.IsSource() {
		return []gate{in.entries(end, "access", inv.Entries)}
	}
	d := in.drainOf(inv, peer)
	link := in.entries(end, "Linkerd Link", only(inv, in.link(end)))
	rest := in.entries(end, "objects of the link", in.but(end, inv.Entries))
	credentials := in.entries(end, "credentials", in.credentials(end, inv.Entries))
	left := in.Mirrors()[target]
	last := []gate{
		in.leftovers(inv, "probe endpoints", left.Probe), in.leftovers(inv, "lease", left.Lease),
		credentials, in.controlPlaneSecret(end, inv.Entries),
	}
	if inv.Has(in.account(end)) && !in.handedOver(end) {
		return append([]gate{in.selectors(d), in.mirrorsLeft(d), in.workloads(inv), in.pods(end), in.mirrors(inv), link, rest}, last...)
	}
	// The user's chart runs the controller, or did, or nobody knows: without its Link it stops. Pods that end are waited for.
	return append([]gate{
		in.selectors(d), in.mirrorsLeft(d), in.workloads(inv), link, in.mirrors(inv), in.onceMore(inv), rest, in.ending(end),
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
	return object.Because(Waiting, "%s: %d not gone yet, the first is %s", g.name, len(left), left[0])
}

// entries takes recorded keys.
func (in Input) entries(end object.End, name string, keys []object.Key) gate {
	return gate{name: name, tell: in.hides, left: func() ([]object.Change, []object.Key) {
		left := slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool { return in.needs(k) || in.gone(k) })
		return in.takes(end, left, object.Reason{Code: reason.Undeclared, Message: "no longer declared"})
	}}
}

// hides says that something that is waited for may not be read, or nil.
func (in Input) hides(left []object.Key) *object.Reason {
	for _, k := range left {
		if why := in.Seen.Hides(k); why != nil {
			return why
		}
	}
	return nil
}

// handedOver says that the user's chart runs the controller that was ours, or one that `linkerd multicluster link` made
// still runs beside it: its pods do not go, and the lease and the probe's Endpoints are its own.
func (in Input) handedOver(end object.End) bool {
	legacy := in.deployment(end)
	legacy.Name = linkerd.LegacyController(end.Link.Target)
	return in.theirs(in.deployment(end)) || in.theirs(legacy)
}

// workloads stops the link's controller, where it is ours.
func (in Input) workloads(inv inventory.Inventory) gate {
	var keys []object.Key
	for _, k := range inv.Entries {
		if k.Kind == "Deployment" || k.Kind == "PodDisruptionBudget" {
			keys = append(keys, k)
		}
	}
	return in.entries(inv.End, "controller", keys)
}

// pods waits for what a stopped controller could still write.
func (in Input) pods(end object.End) gate {
	return gate{name: "controller", left: func() ([]object.Change, []object.Key) { return nil, in.Mirrors()[end.Link.Target].Pods }}
}

// ending waits for the pods of a controller that is not ours while all of them are being deleted: they still write what is swept
// behind this gate.
func (in Input) ending(end object.End) gate {
	return gate{name: "controller", left: func() ([]object.Change, []object.Key) {
		pods := in.Mirrors()[end.Link.Target].Pods
		if in.staying(pods) {
			return nil, nil
		}
		return nil, pods
	}}
}

// staying says that a pod is not about to end.
func (in Input) staying(pods []object.Key) bool {
	return slices.ContainsFunc(pods, func(k object.Key) bool { return !in.Seen.Record(k).Going })
}

// theirs says that an object is live and not ours.
func (in Input) theirs(k object.Key) bool {
	r := in.Seen.Record(k)
	return !r.IsZero() && r.Mark != object.Ours
}

// relinked says that somebody else links a target now, from whichever namespace: the labels of mirrors tell of their target, and not of
// the Link that they were made for, so they are theirs, or serve them.
func (in Input) relinked(target api.ClusterName) bool {
	for k, r := range in.Seen.Kind(linkerd.Group, "Link") {
		if k.Name == string(target) && r.Mark != object.Ours {
			return true
		}
	}
	return false
}

// mirrors sweeps what the controller left. The proof that we may: Linkerd's own labels name the target,
// our inventory says that we unlink it, and no Link of that name remains that is not ours, in any namespace.
func (in Input) mirrors(inv inventory.Inventory) gate {
	end := inv.End
	return gate{name: "mirrors", left: func() ([]object.Change, []object.Key) {
		if in.relinked(end.Link.Target) {
			return nil, nil
		}
		m := in.Mirrors()[end.Link.Target]
		swept := object.Reason{Code: reason.Swept, Message: "mirror of an unlinked cluster"}
		take, wait := in.takesForeign(end, slices.Concat(m.Services, m.Endpoints), swept)
		for _, f := range m.Federated {
			take = append(take, Quit(end, f, in.Seen))
		}
		return take, wait
	}}
}

// onceMore lets a second look follow the one that found no mirror, since nothing waits for the pods of a
// controller that is not ours: the gone Link leaves the inventory on the first, and the gate opens on the
// next, after the mirrors' own was judged again.
func (in Input) onceMore(inv inventory.Inventory) gate {
	return gate{name: "second look for mirrors", left: func() ([]object.Change, []object.Key) {
		if in.relinked(inv.End.Link.Target) {
			return nil, nil
		}
		return nil, only(inv, in.link(inv.End))
	}}
}

// leftovers takes what Linkerd's controller wrote by names that only this link uses, on the proof of mirrors:
// a controller of somebody else's Link uses the same names, and so does one that the user's chart still runs.
func (in Input) leftovers(inv inventory.Inventory, name string, keys []object.Key) gate {
	return gate{name: name, left: func() ([]object.Change, []object.Key) {
		if in.theirs(in.link(inv.End)) || in.handedOver(inv.End) || in.staying(in.Mirrors()[inv.End.Link.Target].Pods) || !in.Saw(in.deployment(inv.End)) {
			return nil, nil
		}
		keys := slices.DeleteFunc(slices.Clone(keys), func(k object.Key) bool {
			service := object.Key{Kind: "Service", Namespace: k.Namespace, Name: k.Name}
			return k.Kind == "Endpoints" && in.theirs(service)
		})
		return in.takesForeign(inv.End, keys, object.Reason{Code: reason.Swept, Message: "left by the controller of an unlinked cluster"})
	}}
}

func (in Input) takesForeign(end object.End, keys []object.Key, why object.Reason) (out []object.Change, wait []object.Key) {
	for _, k := range keys {
		r := in.Seen.Record(k)
		if r.Going {
			wait = append(wait, k)
			continue
		}
		out = append(out, object.Change{End: end, Action: object.Delete, Key: k, Was: r, Why: why})
	}
	return out, wait
}

// Quit takes the target out of a federated Service, which goes only when it has no member left.
func Quit(end object.End, m linkerd.Membership, seen object.Observation) object.Change {
	c := object.Change{
		End: end, Key: m.Key, Was: seen.Record(m.Key), Action: object.Delete,
		Why: object.Reason{Code: reason.Swept, Message: "federated service without any member left"},
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
