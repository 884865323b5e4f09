package prune

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Drains reports whether writing o empties or narrows a selector of a live Linkerd Link of linkwright. Linkerd's controller then deletes
// the mirrors of services that are no longer selected, so such a write is treated as a delete everywhere.
func Drains(o object.Object, observed object.Observation) bool {
	if o.Key.Kind != "Link" {
		return false
	}
	live := observed.Record(o.Key)
	if live.Mark != object.Ours || live.Digest == o.Digest {
		return false
	}
	body, _ := observed.Body(o.Key)
	return linkerd.SelectorsIn(o.Body).Narrows(linkerd.SelectorsIn(body))
}

// withDrained adds what a declared end would lose by the changed selectors of its Links.
func (j evaluation) withDrained(t endLoss, want object.Desired) endLoss {
	for _, o := range want.Objects {
		if Drains(o, j.Observation) {
			body, _ := j.Observation.Body(o.Key)
			t.keys = append(t.keys, o.Key)
			t.mirrors = linkerd.SelectorsIn(o.Body).Lost(linkerd.SelectorsIn(body), j.Mirrors()[t.end.Link.Target], j.Observation)
		}
	}
	return t
}

// all are the keys that would be deleted, linkwright's and Linkerd's.
func (t endLoss) all() []object.Key { return slices.Concat(t.keys, t.mirrors) }

// drain is how an unlink begins: linkwright empties the selectors of the live Links, and Linkerd's own controller deletes its mirrors
// and leaves federated Services. linkwright waits for that until a deadline; later gates delete what is left. There is no drain if
// no controller could do that.
type drain struct {
	end          object.End
	links        []object.Key // none: there is no drain
	since, until time.Time
}

func (u unlink) drain() drain {
	d := drain{end: u.inv.End, since: u.inv.Since, until: u.inv.Since.Add(u.Policy.Prune.Deadline())}
	if u.peer.State.reachable() && !u.revoked() && u.within(d.until) && u.hasController() {
		d.links = u.drainable()
	}
	return d
}

// revoked reports whether the target has deleted the account of the link's controller, which can then drain nothing. A credential that
// others wrote may still be valid.
func (u unlink) revoked() bool {
	return u.peer.State.gone() && u.inv.Has(linkerd.MirrorSecret(u.Linkerd, u.inv.End.Link.Target))
}

// hasController reports whether a pod of a controller is there that mirrors the link.
func (u unlink) hasController() bool {
	return len(u.mirror().Pods) > 0 || u.isShared() && len(u.Mirrors()[""].Pods) > 0
}

// within reports whether a deadline is ahead, and no farther than it can be: a clock that was wrong once must not stop an unlink.
func (u unlink) within(until time.Time) bool {
	left := until.Sub(u.Now)
	return left > 0 && left <= 2*u.Policy.Prune.Deadline()
}

// drainable are the listed Links that a controller may still act on, and that linkwright may write.
func (u unlink) drainable() []object.Key {
	return slices.DeleteFunc(ifRecorded(u.inv, u.link(u.inv.End)), func(k object.Key) bool {
		r := u.Observation.Record(k)
		body, whole := u.Observation.Body(k)
		return !u.WasRead(k) || !whole || u.needs(k) || r.Mark != object.Ours || r.Terminating || selectorsSetAgain(k, r, body)
	})
}

// selectorsSetAgain reports whether a Link that linkwright emptied selects services again, because another manager sets a selector,
// too. Linkerd's controller would keep those mirrors, so waiting for it makes no sense.
func selectorsSetAgain(k object.Key, r object.Record, live object.Body) bool {
	o, ok := withoutSelectors(k, live)
	return ok && r.Digest == o.Digest && linkerd.SelectorsIn(o.Body).Narrows(linkerd.SelectorsIn(live))
}

// emptySelectors removes the selectors from Links, and nothing else.
func (h holdings) emptySelectors(end object.End, links []object.Key) (out []object.Change) {
	for _, k := range links {
		body, _ := h.Observation.Body(k)
		o, ok := withoutSelectors(k, body)
		if !ok || !Drains(o, h.Observation) {
			continue
		}
		out = append(out, object.Change{
			End: end, Action: object.Drain, Key: k, Object: o, Was: h.Observation.Record(k), Conditional: true,
			Why: object.Reason{Code: reason.Draining, Message: h.cause(end) + ": Linkerd's controller removes its mirrors"},
		})
	}
	return out
}

// withoutSelectors is a live Link of linkwright without its selectors.
func withoutSelectors(k object.Key, live object.Body) (object.Object, bool) {
	content, owner, ok := linkerd.WithoutSelectors(live)
	if !ok {
		return object.Object{}, false
	}
	version := strings.TrimPrefix(content["apiVersion"].(string), linkerd.Group+"/") //nolint:forcetypeassert // Emptied's
	o, err := object.Seal(object.Spec{Key: k, Version: version, Phase: object.PhaseLinks, Owner: owner}, content)
	return o, err == nil
}

// selectors is the first gate of a drain, and mirrorsRemaining the second.
func (h holdings) selectors(d drain) gate {
	return gate{name: "selectors", remaining: func() ([]object.Change, []object.Key) { return h.emptySelectors(d.end, d.links), nil }}
}

func (l Live) mirrorsRemaining(d drain) gate {
	left := func() ([]object.Change, []object.Key) {
		if len(d.links) == 0 {
			return nil, nil
		}
		m := l.Mirrors()[d.end.Link.Target]
		return nil, slices.Concat(m.Selected(), m.Endpoints)
	}
	return gate{name: "drain", remaining: left, drain: d}
}

// clockFormat is how messages give a time of day.
const clockFormat = "15:04:05"

// waitReason is the reason of an end whose drain waits for mirrors.
func (d drain) waitReason(left []object.Key) *object.Reason {
	noun := "objects"
	if len(left) == 1 {
		noun = "object"
	}
	return object.Because(reason.Draining, "%d mirrored %s left, the first is %s: Linkerd's controller removes mirrors, and linkwright removes the rest at %s UTC; the drain began at %s UTC",
		len(left), noun, left[0], d.until.Format(clockFormat), d.since.Format(clockFormat))
}
