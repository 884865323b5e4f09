package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/state"
)

// Renderer is package render, or a memo of it with overlays applied: same input, same bytes.
type Renderer interface {
	Source(render.Input) object.Desired
	Target(render.Input) object.Desired
	// Complete makes of all that Source and Target gave for a cluster what is to be applied there, the base included;
	// without ends only the base. Nothing handed in is changed.
	Complete(c fleet.Cluster, ends []object.Desired) []object.Desired
}

// DesiredEnds returns every declared end of a cluster as it must be, sorted: the base, then links. A cluster that leaves has none.
func DesiredEnds(w state.Snapshot, name api.ClusterName, r Renderer) []object.Desired {
	return newDesired(w, r).ends(name)
}

// desired renders what ends must hold, from what is known and the credentials of links.
type desired struct {
	*credential.Set
	renderer Renderer
}

func newDesired(w state.Snapshot, r Renderer) *desired {
	return &desired{Set: credential.Of(state.Identify(w)), renderer: r}
}

// ends returns every declared end of a cluster; if only some are asked for, others may be left out.
func (d *desired) ends(name api.ClusterName, only ...object.End) []object.Desired {
	c, out, in := d.Declared(name)
	if c == nil || c.Spec.State == api.Leaving {
		return nil
	}
	asked := func(l fleet.Link) bool { // an overlay is built for all ends of its cluster
		return len(only) == 0 || c.Overlay != nil || slices.Contains(only, object.End{Cluster: name, Link: l.Pair()})
	}
	var ends []object.Desired
	for _, l := range out {
		if asked(l) {
			ends = append(ends, d.source(l))
		}
	}
	for _, l := range in {
		if asked(l) {
			ends = append(ends, d.target(l))
		}
	}
	ends = d.renderer.Complete(*c, ends)
	if ignored := d.Policy().Ignore; len(ignored) > 0 {
		ends = slices.Clone(ends)
		for i, want := range ends {
			ends[i] = render.Without(want, ignored, d.Owner)
		}
	}
	return sortEnds(ends)
}

func (d *desired) source(l fleet.Link) object.Desired {
	in := render.Input{Link: l, Source: d.Facts(l.Source.Name), Target: d.TargetFacts(l)}
	cred, why := d.Link(l)
	if why == nil {
		why = (health.Link{Pair: d.Identified(l)}).Distrust(d.Now)
	}
	if unread := d.targetNotRead(l); unread != nil {
		why = unread
	}
	if why != nil {
		return object.Desired{End: object.End{Cluster: l.Source.Name, Link: l.Pair()}, Blocked: why}
	}
	in.Target = d.withLastAddresses(l, in.Target)
	in.Credential, in.StillShared = cred, stillShared(d.Set, l)
	in.ControlPlaneSecretLive, in.WithoutControlPlaneSecret = d.Discovers(l), d.Undiscovered(l) != nil
	link, observed := linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name), d.Clusters[l.Source.Name].Live
	body, _ := observed.Body(link)
	if in.Source != nil {
		in.AppliedIn = linkerd.AppliedIn(observed.Record(link), body, in.Source.LinkVersion())
	}
	if l.Spec.UsesRemoteDiscovery() {
		in.CredentialMark = d.Marked(l)
	}
	return d.renderer.Source(in)
}

// target renders a link's end in its target. Tokens stay while the source may still use them.
func (d *desired) target(l fleet.Link) object.Desired {
	in := render.Input{Link: l, Target: d.withLastAddresses(l, d.TargetFacts(l))}
	switch l.Spec.Credentials.Mode {
	case api.Existing:
		if why := d.StillUsed(l); why != nil {
			return object.Desired{End: state.TargetEnd(l), Blocked: why}
		}
	case api.Bound:
		r := d.Rotation(l)
		in.Generations, in.Tokens = r.Keep, r.Tokens
	default:
		in.Generations, in.Tokens = d.Former(l), d.LegacyTokens(l).Keep
	}
	if d.Policy().Prune.Policy != api.PruneSync { // nothing may be deleted, so nothing is given up
		a := d.Access(l)
		in.Generations, in.Tokens = credential.MergeKeys(a.Former(), in.Generations), credential.MergeKeys(a.LegacyTokens(), in.Tokens)
	}
	return d.renderer.Target(in)
}

// liveLink returns the live Linkerd Link of a link, and whether it is linkwright's.
func (d *desired) liveLink(l fleet.Link) (object.Body, bool) {
	observed, key := d.Clusters[l.Source.Name].Live, linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name)
	body, ok := observed.Body(key)
	return body, ok && observed.Record(key).Mark == object.Ours
}

// lastAddresses returns the gateway addresses in the live Link, unless others wrote them. They count while the gateway has none.
func (d *desired) lastAddresses(l fleet.Link) []string {
	body, ok := d.liveLink(l)
	key := linkerd.LinkKey(l.Source.Spec.Linkerd, l.Target.Name)
	if !ok || !d.Clusters[l.Source.Name].Live.Record(key).Sets("gatewayAddress") {
		return nil
	}
	return linkerd.AddressesIn(body)
}

// withLastAddresses returns the target's facts. If the gateway has no address, they have the addresses of the live Link.
func (d *desired) withLastAddresses(l fleet.Link, target *linkerd.Facts) *linkerd.Facts {
	if target == nil || !target.Gateway.LacksAddress() {
		return target
	}
	addresses := d.lastAddresses(l)
	if len(addresses) == 0 {
		return target
	}
	at := target.WithAddresses(addresses)
	return &at
}

// targetNotRead returns why a live link stays as it is: its target cannot be read. nil: it can, or linkwright has not tried yet.
func (d *desired) targetNotRead(l fleet.Link) *object.Reason {
	target := d.Clusters[l.Target.Canonical()]
	if _, live := d.liveLink(l); !live || target.Known() || target.Err == nil {
		return nil
	}
	since := ""
	if !target.Stale.IsZero() {
		since = fmt.Sprintf(" since %s UTC", target.Stale.UTC().Format(time.DateTime))
	}
	return object.Because(reason.TargetNotRead, "linkwright cannot read cluster %s%s (%s): the link stays as it is until it can", l.Target.Canonical(), since, target.Err.Code)
}

func sortEnds(ends []object.Desired) []object.Desired {
	slices.SortFunc(ends, func(a, b object.Desired) int { return a.End.Compare(b.End) })
	return ends
}

func keys(want object.Desired) []object.Key {
	out := make([]object.Key, len(want.Objects))
	for i, o := range want.Objects {
		out[i] = o.Key
	}
	return out
}
