package plan

import (
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Codes of ends by what their target tells of itself.
const (
	Paced       = reason.Paced       // it changed again so soon that the link follows later
	StaleFacts  = reason.StaleFacts  // it tells nothing at the moment, and the link stands as it was written last
	LastAddress = reason.LastAddress // its gateway has no address, and the link keeps the last one
)

const (
	// A link that followed its target's facts follows again after calmly, and up to spread later, each link at a time of its
	// own: a gateway that moves on and on has its links' controllers start over no more often.
	calmly, spread = 30 * time.Second, 3 * time.Second
	followed       = reason.Facts
)

// Follows says that a change is an update of a Linkerd Link for nothing but what its target tells of itself.
func Follows(c object.Change) bool { return c.Action == object.Update && c.Why.Code == followed }

func follows(o object.Object, seen object.Observation) bool {
	if o.Key.Kind != "Link" {
		return false
	}
	live, ok := seen.Body(o.Key)
	return ok && linkerd.Follows(live, o.Body)
}

// pace leaves out what follows the target's facts again too soon, with the probe that follows beside, and says until when; nil:
// nothing. What is declared, or somebody else changed, or a credential asks for, is never left out.
func (p *planner) pace(end object.End, changes []object.Change) ([]object.Change, *object.Reason) {
	last, ok := p.Followed[end.Link]
	until := last.Add(calmly + lag(end.Link))
	if !ok || !end.IsSource() || !p.Now.Before(until) || !slices.ContainsFunc(changes, Follows) {
		return changes, nil
	}
	p.ask(until)
	left := slices.DeleteFunc(changes, func(c object.Change) bool {
		return Follows(c) || c.Key.Kind == "Service" && c.Action == object.Update && c.Why.Code == reason.Changed
	})
	return left, object.Because(Paced, "what %s tells of itself changed again; the link followed at %s, and follows again at %s UTC",
		end.Link.Target, last.UTC().Format(time.TimeOnly), until.UTC().Format(time.TimeOnly))
}

// lag is the link's own part of spread: always the same.
func lag(link api.Pair) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(link.String())) // it never fails
	return time.Duration(h.Sum32()) % spread
}

// stale says since when the target of a link that stands gives no answer, or nil: all that is there stays as it is.
func (p *planner) stale(l fleet.Link) *object.Reason {
	target := p.Sides[l.Target.Canonical()]
	since := target.Stale
	if _, stands := p.standing(l); !stands || since.IsZero() || target.Known {
		return nil
	}
	return object.Because(StaleFacts, "cluster %s has given no answer since %s UTC: what was written of the link stays as it is, and is looked after again once it answers",
		l.Target.Canonical(), since.UTC().Format(time.DateTime))
}

// standing is the live Linkerd Link of a link, if it is ours.
func (p *planner) standing(l fleet.Link) (object.Body, bool) {
	seen, key := p.Sides[l.Source.Name].Seen, linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name)
	body, ok := seen.Body(key)
	return body, ok && seen.Record(key).Mark == object.Ours
}

// kept are the gateway's addresses that a link has, where the gateway itself has none now. What others wrote there is none.
func (p *planner) kept(l fleet.Link) []string {
	body, ok := p.standing(l)
	key := linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name)
	if !ok || !p.Sides[l.Source.Name].Seen.Record(key).Sets("gatewayAddress") {
		return nil
	}
	return linkerd.AddressesIn(body)
}

// located are the target's facts, with the addresses that the link has where the gateway has none.
func (p *planner) located(l fleet.Link, target *linkerd.Facts) *linkerd.Facts {
	if target == nil || !target.Gateway.Homeless() {
		return target
	}
	addresses := p.kept(l)
	if len(addresses) == 0 {
		return target
	}
	at := target.At(addresses)
	return &at
}

// homeless tells of a link in place that keeps its target's last addresses, or nil.
func (p *planner) homeless(l fleet.Link) *object.Reason {
	if target := p.targetFacts(l); target == nil || !target.Gateway.Homeless() {
		return nil
	}
	return object.Because(LastAddress, "the gateway of %s has no address now: the link keeps the last one, %s; repair it, or declare spec.gateway.addresses",
		l.Target.Name, strings.Join(p.kept(l), ","))
}
