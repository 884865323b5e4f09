package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
)

// breaks notes the first broken promise.
func (r *run) breaks(format string, a ...any) {
	if r.broken == "" {
		r.broken = fmt.Sprintf(format, a...)
	}
}

// judge holds one write that the server is about to do to the promises: (a) nothing that is not ours, (b) nothing that is
// declared, held, kept or suspended.
func (r *run) judge(p *process, c object.Change, was *thing) string {
	pl := r.planes[r.called(c.End.Cluster)]
	if p.asks {
		return asked(c, was)
	}
	if p.adopts != nil || p.releases != nil {
		return p.commanded(c, was)
	}
	switch {
	case p.commit.suspended(object.End{Cluster: pl.name, Link: c.End.Link}):
		return "it is suspended"
	case was == nil && (c.Action == object.Delete || c.Action == object.Release):
		return ""
	case was == nil:
		return r.unrecorded(pl, c)
	case was.dressing:
		return "(a) it is Linkerd's installation"
	case was.by == others && (c.Action.Takes() || was.since != r.event):
		return "(a) it is somebody else's"
	case was.by == mirroring:
		return r.sweeps(p, c, was)
	case !c.Action.Takes():
		return ""
	case isInventory(c.Key):
		return cmp.Or(p.commit.records(c), r.pendingFirst(p, c))
	case c.Action == object.Release && c.Key.Namespace != "" && c.Key.Namespace != p.commit.clusters[pl.name].mc():
		return "(d) it is given up where no chart would look for it" // in a former namespace (seed 7101672)
	case c.Action == object.Release && p.commit.external(c) && p.commit.policy != api.CreateOnly:
		return "" // given up to the user's chart: that takes nothing away
	case p.commit.policy != api.PruneSync:
		return "the prune policy is " + string(p.commit.policy)
	case was.rec.Keep && (pl.began[c.End.Link] == 0 || pl.began[c.End.Link] > was.kept):
		return "(b) people marked it to be kept before its end began to leave"
	case c.Action == object.Drain:
		return p.commit.drains(c, was)
	case c.Action == object.Replace:
		return ""
	}
	if why := cmp.Or(r.granted(p, c), p.commit.succeeds(pl, p.sides[pl.name].Seen, c), r.interrupts(p, c, was)); why != "" {
		return why
	}
	if link, ok := p.commit.wants(pl.name, c.Key); ok && !isToken(c.Key) {
		return "(b) " + link.String() + " is declared, and needs it"
	}
	return ""
}

// unrecorded: what is made must be written down before, or a crash leaves what nobody finds.
// A process that was taken over cannot know what has gone meanwhile, nor anybody what goes in the middle of a step: what is
// made then is found by its mark.
func (r *run) unrecorded(p *plane, c object.Change) string {
	if isInventory(c.Key) || c.Key.Kind == "Namespace" || r.next != nil || p.spoilt == r.event || p.records(c.End, c.Key) {
		return ""
	}
	return "(c) it is made before it is written down"
}

// lost reports whether nothing tells of an object any more. What was lost with an inventory may have had others by it, which somebody
// took after that.
func (p *plane) lost(t *thing) bool {
	if p.records(t.end, t.key) {
		return false
	}
	secret := t.key.Kind == "Secret" && t.key.Namespace == cp && p.last(t)
	return t.orphan || p.spoilt > 0 && (secret || t.key.Kind == extraKey(mc).Kind)
}

// records reports whether a key stands in the inventory of an end.
func (p *plane) records(e object.End, k object.Key) bool {
	entry, at := `\"name\":\"`+k.Name+`\"`, p.things[inventoryKey(e.Link)]
	if k.Namespace != "" {
		entry = `\"namespace\":\"` + k.Namespace + `\",` + entry
	}
	return at != nil && strings.Contains(string(at.body.Bytes()), `\"kind\":\"`+k.Kind+`\",`+entry)
}

// records returns why an inventory must not go.
func (c commit) records(ch object.Change) string {
	_, linked := c.of(ch.End.Link)
	at, declared := c.clusters[ch.End.Cluster]
	switch {
	case ch.Action != object.Delete:
	case ch.End.IsBase() && declared && !at.leaving:
		return "(b) the cluster is declared"
	case linked:
		return "(b) the link is declared"
	}
	return ""
}

// external reports whether the user's chart runs the controller of the change's link.
func (c commit) external(ch object.Change) bool {
	l, ok := c.of(ch.End.Link)
	return ok && l.external && ch.End.IsSource()
}

// drains: only a selector that is declared empty may be emptied of a declared link.
func (c commit) drains(ch object.Change, was *thing) string {
	l, ok := c.of(ch.End.Link)
	if !ok {
		return ""
	}
	now := (&thing{body: ch.Object.Body}).link()
	gone := func(was, now, declared bool) bool { return was && !now && declared }
	if gone(chooses(was.link().Selector), chooses(now.Selector), !l.empty) ||
		gone(chooses(was.link().RemoteDiscoverySelector), chooses(now.RemoteDiscoverySelector), l.discovery) ||
		gone(chooses(was.link().FederatedServiceSelector), chooses(now.FederatedServiceSelector), l.federated) {
		return "(b) it empties a selector that is declared"
	}
	return ""
}

// sweeps: what Linkerd's controllers made may go only with a link of ours that nobody declares any more.
func (r *run) sweeps(p *process, c object.Change, was *thing) string {
	pl := r.planes[r.called(c.End.Cluster)]
	to := api.Pair{Source: pl.name, Target: was.target}
	switch {
	case pl.abandoned(was):
		return ""
	case isOwn(was): // a controller follows the Link of its own namespace
		return r.unlinked(p, to, pl.things[linkKey(was.key.Namespace, was.target)])
	case was.key != federatedKey():
		return r.unlinked(p, to, pl.linkTo(was.target))
	}
	var left []string
	switch {
	case c.Action == object.Release:
		after := *was
		_, after.body = pl.after(c, was)
		after.told = nil
		left = members(&after)
	case was.meta().Annotations[linkerd.LocalDiscovery] != "":
		return "(a) the cluster itself is a member"
	}
	for _, m := range members(was) {
		to.Target = memberOf(m)
		if !slices.Contains(left, m) {
			if why := r.unlinked(p, to, pl.linkTo(to.Target)); why != "" {
				return "member " + m + ": " + why
			}
		}
	}
	return ""
}

// abandoned: the lease and the probe's Endpoints in a former multicluster namespace, whose controller is there no more.
func (p *plane) abandoned(t *thing) bool {
	return isOwn(t) && t.key.Namespace != p.mc && p.linked[t.target] && p.things[deployment(t.key.Namespace, t.target)] == nil
}

// unlinked returns why what a controller wrote for a link must stay; l is the Linkerd Link that it follows, or nil.
func (r *run) unlinked(p *process, link api.Pair, l *thing) string {
	_, declared := p.commit.of(link)
	switch {
	case declared:
		return "(b) " + link.String() + " is declared"
	case !r.planes[link.Source].linked[link.Target]:
		return "(a) it was never linked by us"
	case l != nil && l.by == others && l.since != r.event:
		return "(a) somebody else links " + string(link.Target)
	}
	return ""
}

// check holds a planned step to what is true of every step, whatever the server makes of it.
func (r *run) check(p *process, s plan.Step) {
	done := map[object.Key]bool{}
	for _, c := range slices.Concat(s.Ahead, s.Changes, s.After) {
		seen := p.sides[s.Cluster].Seen.Record(c.Key)
		switch {
		case done[c.Key]:
			r.breaks("%s: %s is written twice in one step", s.Cluster, c.Key)
		case r.called(c.End.Cluster) != s.Cluster:
			r.breaks("%s: a step writes %s of %s", s.Cluster, c.Key, c.End)
		case c.Action == object.Create && !seen.IsZero():
			r.breaks("%s: create of %s, which is there", s.Cluster, c.Key)
		case c.Action != object.Create && (c.Was != seen || seen.IsZero()):
			r.breaks("%s: %s of %s has other preconditions than what was seen", s.Cluster, c.Action, c.Key)
		}
		done[c.Key] = true
	}
}

// rest looks at a fleet that came to rest: (d) what is no longer declared is gone on both ends, mirrors included, or a row
// says why not; and what is declared is there, or a row says why not.
func (r *run) rest() {
	for _, name := range slices.Sorted(maps.Keys(r.planes)) {
		if pl := r.planes[name]; pl.name == name && r.told(name) {
			for _, t := range pl.all() {
				if why := r.leftover(pl, t); why != "" {
					r.breaks("at rest %s has %s: %s%s", name, t.key, why, r.rows())
				}
			}
			r.complete(pl)
		}
	}
}

// told reports whether a cluster is one that a report tells of, and nothing is refused in as a whole.
func (r *run) told(name api.ClusterName) bool {
	s, ok := r.last[name]
	_, declared := r.head.clusters[name]
	_, recorded := r.home[name]
	if r.planes[name].given {
		return false
	}
	return ok && s.Denied == nil && (declared || recorded) || !declared && !recorded
}

// explained reports whether a row tells why an end is not as it should be.
func (r *run) explained(e object.End) bool {
	for _, row := range r.last[e.Cluster].Rows {
		if r.called(row.End.Cluster) == e.Cluster && row.End.Link == e.Link && row.Phase != plan.Ready && row.Phase != plan.Removed {
			return row.Why != nil
		}
	}
	return false
}

// leftover returns why a thing should not be there.
func (r *run) leftover(pl *plane, t *thing) string {
	_, declared := r.head.clusters[pl.name]
	switch {
	case t.by == mirroring:
		return r.mirrored(pl, t)
	case t.by != ours || t.rec.Mark != object.Ours || t.key.Kind == "Namespace" || pl.lost(t):
		return ""
	case t.key == baseKey():
		if declared && !r.head.clusters[pl.name].leaving || r.explained(object.End{Cluster: pl.name}) {
			return ""
		}
		return "(d) its cluster is not declared"
	}
	end := object.End{Cluster: pl.name, Link: t.end.Link}
	_, linked := r.head.of(r.today(t.end.Link))
	_, wanted := r.head.wants(pl.name, t.key)
	if isInventory(t.key) {
		_, wanted = r.head.of(t.end.Link)
	}
	if (linked || t.end.IsBase()) && wanted || r.explained(end) || r.goesOn(end) || r.orphan(pl.name, t) || !linked && pl.vacated(t) {
		return ""
	}
	return "(d) it is ours, of " + t.end.String() + ", and nobody declares it"
}

// vacated reports whether a thing lies in a former multicluster namespace, and that the inventory that told so was lost after the Linkerd Link there
// had gone: Links alone are looked for in all namespaces (seeds 30085043, 88071993).
func (p *plane) vacated(t *thing) bool {
	ns := t.key.Namespace
	former := ns != "" && ns != p.mc && ns != cp && ns != object.AccessNamespace
	return former && p.spoilt > 0 && p.things[linkKey(ns, t.end.Link.Target)] == nil
}

// forgotten reports whether nobody looks at a cluster any more.
func (r *run) forgotten(name api.ClusterName) bool {
	_, declared := r.head.clusters[name]
	_, recorded := r.home[name]
	return !declared && !recorded
}

// late reports whether a process that hung wrote into a cluster that another one had struck off the record meanwhile, and that nobody
// looked there since (seed 71049402).
func (r *run) late(name api.ClusterName) bool {
	_, recorded := r.home[name]
	base := r.planes[name].things[baseKey()]
	return !recorded && base != nil && base.by == ours
}

// serves reports whether Endpoints are of somebody else's Service, with which the server takes them (seed 8017518).
func (p *plane) serves(t *thing) bool {
	s := p.things[object.Key{Kind: "Service", Namespace: t.key.Namespace, Name: t.key.Name}]
	return t.key.Kind == "Endpoints" && s != nil && s.by == others
}

// isOwn reports whether a controller of Linkerd's writes it for itself: its lease, its probe's Endpoints.
func isOwn(t *thing) bool {
	return t.key.Kind == "Lease" || t.key == probeKey(t.key.Namespace, t.target)
}

// stray reports whether a report tells of something that nobody links, or of more than it can name.
func (r *run) stray(name api.ClusterName, k object.Key) bool {
	return names(r.last[name], k)
}

func names(s plan.Step, k object.Key) bool {
	return s.MoreStrays > 0 || slices.ContainsFunc(s.Strays, func(o plan.Stray) bool { return o.Key == k && strings.Contains(o.Why, "for a link to") })
}

// orphan reports whether a report names a thing of a link of which nothing of linkwright's tells any more, or, of a secret of the control
// plane, which is found by name only, anything, or of a former multicluster namespace, its Link (seed 88000744). Only people take it away.
func (r *run) orphan(name api.ClusterName, t *thing) bool {
	s, link := r.last[name], r.today(t.end.Link)
	_, declared := r.head.of(t.end.Link) // what goes on by another name leaves orphans by the former one
	secret := t.key.Kind == "Secret" && t.key.Namespace == cp
	told := s.MoreStrays > 0 || slices.ContainsFunc(s.Strays, func(o plan.Stray) bool {
		return o.Key == t.key || secret || o.Key.Kind == "Link" && o.Key.Namespace == t.key.Namespace && t.key.Namespace != r.planes[name].mc
	})
	return told && !declared && r.untold(link)
}

// untold reports whether nothing may tell of a link any more: nobody knows one of its clusters, an inventory was lost, or a process that hung
// wrote after all else of the link was gone.
func (r *run) untold(link api.Pair) bool {
	lost := func(name api.ClusterName) bool {
		pl := r.planes[r.called(name)]
		return r.forgotten(name) || pl == nil || pl.spoilt > 0
	}
	return r.hung || lost(link.Source) || lost(link.Target)
}

// complete holds declared ends to what they need.
func (r *run) complete(pl *plane) {
	if at, declared := r.head.clusters[pl.name]; !declared || at.leaving {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(r.head.clusters)) {
		out, in := api.Pair{Source: pl.name, Target: other}, api.Pair{Source: other, Target: pl.name}
		if l, ok := r.head.of(out); ok {
			r.holds(pl, object.End{Cluster: pl.name, Link: out}, sourceKeys(pl.mc, other, l))
		}
		if _, ok := r.head.of(in); ok {
			r.holds(pl, object.End{Cluster: pl.name, Link: in}, targetKeys(other))
		}
	}
}

func (r *run) holds(pl *plane, e object.End, keys []object.Key) {
	if r.explained(e) {
		return
	}
	for _, k := range append(keys, inventoryKey(e.Link)) {
		t := pl.things[k]
		if isToken(k) {
			t = pl.newest(e.Link.Source)
		}
		if t == nil || t.rec.Mark != object.Ours {
			r.breaks("at rest %s lacks %s of %s, which no row tells%s", pl.name, k, e, r.rows())
		}
	}
}

// rows are those of the last steps that tell of something, for people.
func (r *run) rows() (out string) {
	for _, name := range slices.Sorted(maps.Keys(r.last)) {
		if why := r.last[name].Denied; why != nil {
			out += fmt.Sprintf("\n  %s is refused: %s", name, why.Message)
		}
		for _, row := range r.last[name].Rows {
			if row.Why != nil || row.Phase != plan.Ready {
				out += fmt.Sprintf("\n  %s is %s: %v", row.End, row.Phase, row.Why)
			}
		}
	}
	return out
}
