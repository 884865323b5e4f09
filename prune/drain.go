package prune

import (
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Drains reports whether writing o empties or narrows a selector of a live Linkerd Link of ours. Linkerd's controller then takes away
// what that chose and no longer does: judged as a delete everywhere.
func Drains(o object.Object, seen object.Observation) bool {
	if o.Key.Kind != "Link" {
		return false
	}
	live := seen.Record(o.Key)
	if live.Mark != object.Ours || live.Digest == o.Digest {
		return false
	}
	body, _ := seen.Body(o.Key)
	return linkerd.SelectorsIn(o.Body).Narrows(linkerd.SelectorsIn(body))
}

// drainedBy adds what a declared end would lose by the changed selectors of its Links.
func (j judgement) drainedBy(t taking, want object.Wanted) taking {
	for _, o := range want.Objects {
		if Drains(o, j.Seen) {
			body, _ := j.Seen.Body(o.Key)
			t.keys = append(t.keys, o.Key)
			t.mirrors = linkerd.SelectorsIn(o.Body).Lost(linkerd.SelectorsIn(body), j.Mirrors()[t.end.Link.Target], j.Seen)
		}
	}
	return t
}

// all is what would go, ours or not.
func (t taking) all() []object.Key { return slices.Concat(t.keys, t.mirrors) }

// drain is how an unlink begins: the live Links' selectors are emptied, and Linkerd's own controller takes away what it
// made, also members of federated Services that others share. It is waited for until a deadline; what is left then is
// swept by the gates behind. Where nobody could do it, there is none.
type drain struct {
	end          object.End
	links        []object.Key // none: there is no drain
	since, until time.Time
}

func (u unlink) drain() drain {
	d := drain{end: u.inv.End, since: u.inv.Since, until: u.inv.Since.Add(u.Policy.Prune.Deadline())}
	if u.peer.State.answers() && !u.revoked() && u.within(d.until) && len(u.made().Pods) > 0 {
		d.links = u.drainable()
	}
	return d
}

// revoked reports whether the account by which the link's controller reached its target is gone: it can drain nothing. A credential
// that others wrote may still be good, whatever is left of ours.
func (u unlink) revoked() bool {
	return u.peer.State.gone() && u.inv.Has(linkerd.MirrorSecret(u.Linkerd, u.inv.End.Link.Target))
}

// within reports whether a deadline is ahead, and no farther than it can be: a clock that was wrong, once, must not hold an unlink.
func (u unlink) within(until time.Time) bool {
	left := until.Sub(u.Now)
	return left > 0 && left <= 2*u.Policy.Prune.Deadline()
}

// drainable are the recorded Links that a controller may still act on, and that are ours to write.
func (u unlink) drainable() []object.Key {
	return slices.DeleteFunc(only(u.inv, u.link(u.inv.End)), func(k object.Key) bool {
		r := u.Seen.Record(k)
		body, whole := u.Seen.Body(k)
		return !u.Saw(k) || !whole || u.needs(k) || r.Mark != object.Ours || r.Going || heldOpen(k, r, body)
	})
}

// heldOpen reports whether a Link chooses services though we emptied it: somebody else sets a selector, too, and puts back what is
// taken. Linkerd's controller would keep those mirrors for as long, so nobody waits for it.
func heldOpen(k object.Key, r object.Record, live object.Body) bool {
	o, ok := emptied(k, live)
	return ok && r.Digest == o.Digest && linkerd.SelectorsIn(o.Body).Narrows(linkerd.SelectorsIn(live))
}

// empty takes the selectors from Links, and nothing else.
func (l Live) empty(end object.End, links []object.Key) (out []object.Change) {
	for _, k := range links {
		body, _ := l.Seen.Body(k)
		o, ok := emptied(k, body)
		if !ok || !Drains(o, l.Seen) {
			continue
		}
		out = append(out, object.Change{
			End: end, Action: object.Drain, Key: k, Object: o, Was: l.Seen.Record(k), Fenced: true,
			Why: object.Reason{Code: reason.Draining, Message: "no longer declared: Linkerd's controller removes its mirrors"},
		})
	}
	return out
}

// emptied is a live Link of ours without its selectors.
func emptied(k object.Key, live object.Body) (object.Object, bool) {
	content, owner, ok := linkerd.Emptied(live)
	if !ok {
		return object.Object{}, false
	}
	version := strings.TrimPrefix(content["apiVersion"].(string), linkerd.Group+"/") //nolint:forcetypeassert // Emptied's
	o, err := object.Seal(object.Spec{Key: k, Version: version, Phase: object.PhaseLinks, Owner: owner}, content)
	return o, err == nil
}

// selectors is a drain's first gate, and mirrorsLeft its second.
func (l Live) selectors(d drain) gate {
	return gate{name: "selectors", left: func() ([]object.Change, []object.Key) { return l.empty(d.end, d.links), nil }}
}

func (l Live) mirrorsLeft(d drain) gate {
	left := func() ([]object.Change, []object.Key) {
		if len(d.links) == 0 {
			return nil, nil
		}
		m := l.Mirrors()[d.end.Link.Target]
		return nil, slices.Concat(m.Selected(), m.Endpoints)
	}
	return gate{name: "drain", left: left, drain: d}
}

// clock is how a moment is told.
const clock = "15:04:05"

// waits returns what a drain waits for.
func (d drain) waits(left []object.Key) *object.Reason {
	noun := "objects"
	if len(left) == 1 {
		noun = "object"
	}
	return object.Because(reason.Draining, "%d mirrored %s left, the first is %s: Linkerd's controller has been removing them since %s, and linkwright removes what is left at %s UTC",
		len(left), noun, left[0], d.since.Format(clock), d.until.Format(clock))
}
