package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
)

// addBroken records the first broken promise.
func (r *history) addBroken(format string, a ...any) {
	if r.failure == "" {
		r.failure = fmt.Sprintf(format, a...)
	}
}

// checkWrite returns which promise a write breaks that the server is about to make: (a) about foreign objects, (b) about what is
// declared, blocked, protected or suspended.
func (r *history) checkWrite(p *process, c object.Change, was *simObject) string {
	pl := r.clusters[r.currentName(c.End.Cluster)]
	if p.rotates {
		return checkRotation(c, was)
	}
	if p.adopts != nil || p.releases != nil {
		return p.checkCommand(c, was)
	}
	switch {
	case p.commit.suspended(object.End{Cluster: pl.name, Link: c.End.Link}) && c.Why.Code != reason.ConditionsChanged:
		return "it is suspended"
	case was == nil && (c.Action == object.Delete || c.Action == object.Release):
		return ""
	case was == nil:
		return r.checkRecorded(pl, c)
	case was.ofLinkerd:
		return "(a) it is Linkerd's installation"
	case was.madeBy == byOthers && (c.Action.Removes() || was.since != r.event):
		return "(a) it is somebody else's"
	case was.madeBy == byLinkerd:
		return r.checkMirrorDelete(p, c, was)
	case !c.Action.Removes():
		return ""
	case isInventory(c.Key):
		return cmp.Or(p.commit.records(c), r.checkPending(p, c))
	case c.Action == object.Release && c.Key.Namespace != "" && c.Key.Namespace != p.commit.clusters[pl.name].mc():
		return "(d) it is given up where no chart would look for it" // in a former namespace (seed 7101672)
	case c.Action == object.Release && p.commit.external(c) && p.commit.policy != api.CreateOnly:
		return "" // given up to the user's chart: that takes nothing away
	case p.commit.policy != api.PruneSync:
		return "the prune policy is " + string(p.commit.policy)
	case was.rec.PruneDisabled && (pl.began[c.End.Link] == 0 || pl.began[c.End.Link] > was.protectedSince):
		return "(b) people marked it to be kept before its end began to leave"
	case c.Action == object.Drain:
		return p.commit.checkDrain(c, was)
	case c.Action == object.Replace:
		return ""
	}
	if why := cmp.Or(r.checkAccessRemoval(p, c), p.commit.checkReplacement(pl, p.states[pl.name].Live, c), r.checkTokenInUse(p, c, was)); why != "" {
		return why
	}
	if link, ok := p.commit.neededBy(pl.name, c.Key); ok && !isToken(c.Key) {
		return "(b) " + link.String() + " is declared, and needs it"
	}
	return ""
}

// checkRecorded requires that an inventory lists an object before it is created: otherwise a crash leaves an object that nothing
// finds. It does not apply while two processes run, or if an inventory was lost in the middle of a step: such an object is found by
// its label.
func (r *history) checkRecorded(p *simCluster, c object.Change) string {
	if isInventory(c.Key) || c.Key.Kind == "Namespace" || r.next != nil || p.damagedAt == r.event || p.records(c.End, c.Key) {
		return ""
	}
	return "(c) it is made before it is written down"
}

// isUntracked reports whether no inventory lists an object any more, and nothing else leads to it.
func (p *simCluster) isUntracked(t *simObject) bool {
	if p.records(t.end, t.key) {
		return false
	}
	secret := t.key.Kind == "Secret" && t.key.Namespace == cp && p.isLastOfEnd(t)
	return t.orphan || p.damagedAt > 0 && (secret || t.key.Kind == extraKey(mc).Kind)
}

// records reports whether the inventory of an end lists a key.
func (p *simCluster) records(e object.End, k object.Key) bool {
	entry, at := `\"name\":\"`+k.Name+`\"`, p.objects[inventoryKey(e.Link)]
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

// checkDrain allows emptying a selector of a declared link only if it is declared empty.
func (c commit) checkDrain(ch object.Change, was *simObject) string {
	l, ok := c.of(ch.End.Link)
	if !ok {
		return ""
	}
	now := (&simObject{body: ch.Object.Body}).link()
	gone := func(was, now, declared bool) bool { return was && !now && declared }
	if gone(chooses(was.link().Selector), chooses(now.Selector), !l.empty) ||
		gone(chooses(was.link().RemoteDiscoverySelector), chooses(now.RemoteDiscoverySelector), l.discovery) ||
		gone(chooses(was.link().FederatedServiceSelector), chooses(now.FederatedServiceSelector), l.federated) {
		return "(b) it empties a selector that is declared"
	}
	return ""
}

// checkMirrorDelete allows deleting objects of Linkerd's controllers only with a link of linkwright that is no longer declared.
func (r *history) checkMirrorDelete(p *process, c object.Change, was *simObject) string {
	pl := r.clusters[r.currentName(c.End.Cluster)]
	to := api.Pair{Source: pl.name, Target: was.target}
	switch {
	case pl.isAbandoned(was):
		return ""
	case isControllerOwn(was): // a controller follows the Link of its own namespace
		return r.mirrorInUse(p, to, pl.objects[linkKey(was.key.Namespace, was.target)])
	case was.key != federatedKey():
		return r.mirrorInUse(p, to, pl.linkTo(was.target))
	}
	var left []string
	switch {
	case c.Action == object.Release:
		after := *was
		_, after.body = pl.after(c, was)
		after.decoded = nil
		left = members(&after)
	case was.meta().Annotations[linkerd.LocalDiscovery] != "":
		return "(a) the cluster itself is a member"
	}
	for _, m := range members(was) {
		to.Target = memberOf(m)
		if !slices.Contains(left, m) {
			if why := r.mirrorInUse(p, to, pl.linkTo(to.Target)); why != "" {
				return "member " + m + ": " + why
			}
		}
	}
	return ""
}

// isAbandoned reports the lease and the probe's Endpoints in a former multicluster namespace whose controller is gone.
func (p *simCluster) isAbandoned(t *simObject) bool {
	return isControllerOwn(t) && t.key.Namespace != p.mc && p.linked[t.target] && p.objects[deployment(t.key.Namespace, t.target)] == nil
}

// mirrorInUse returns why what a controller wrote for a link must stay; l is the Linkerd Link that it follows, or nil.
func (r *history) mirrorInUse(p *process, link api.Pair, l *simObject) string {
	_, declared := p.commit.of(link)
	switch {
	case declared:
		return "(b) " + link.String() + " is declared"
	case !r.clusters[link.Source].linked[link.Target]:
		return "(a) it was never linked by us"
	case l != nil && l.madeBy == byOthers && l.since != r.event:
		return "(a) somebody else links " + string(link.Target)
	}
	return ""
}

// checkStep checks the invariants of a planned step.
func (r *history) checkStep(p *process, s plan.Step) {
	done := map[object.Key]bool{}
	for _, c := range slices.Concat(s.Ahead, s.Changes, s.After) {
		seen := p.states[s.Cluster].Live.Record(c.Key)
		switch {
		case done[c.Key]:
			r.addBroken("%s: %s is written twice in one step", s.Cluster, c.Key)
		case r.currentName(c.End.Cluster) != s.Cluster:
			r.addBroken("%s: a step writes %s of %s", s.Cluster, c.Key, c.End)
		case c.Action == object.Create && !seen.IsZero():
			r.addBroken("%s: create of %s, which is there", s.Cluster, c.Key)
		case c.Action != object.Create && (c.Was != seen || seen.IsZero()):
			r.addBroken("%s: %s of %s has other preconditions than what was seen", s.Cluster, c.Action, c.Key)
		}
		done[c.Key] = true
	}
}

// checkAtRest checks a final state: (d) what is no longer declared is gone on both ends, mirrors included, and what is declared
// exists, or a row gives the reason.
func (r *history) checkAtRest() {
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		if pl := r.clusters[name]; pl.name == name && r.isReported(name) {
			for _, t := range pl.all() {
				if why := r.checkLeftover(pl, t); why != "" {
					r.addBroken("at rest %s has %s: %s%s", name, t.key, why, r.unreadyRows())
				}
			}
			r.checkDeclared(pl)
		}
	}
}

// isReported reports whether reports cover a cluster, and it is not denied as a whole.
func (r *history) isReported(name api.ClusterName) bool {
	s, ok := r.last[name]
	_, declared := r.head.clusters[name]
	_, recorded := r.recordUIDs[name]
	if r.clusters[name].abandoned {
		return false
	}
	return ok && s.Denied == nil && (declared || recorded) || !declared && !recorded
}

// hasReason reports whether a row has the reason why an end is not ready.
func (r *history) hasReason(e object.End) bool {
	for _, row := range r.last[e.Cluster].Rows {
		if r.currentName(row.End.Cluster) == e.Cluster && row.End.Link == e.Link && row.Phase != plan.Ready && row.Phase != plan.Removed && row.Phase != plan.Released {
			return row.Why != nil
		}
	}
	return false
}

// checkLeftover returns why an object should not exist.
func (r *history) checkLeftover(pl *simCluster, t *simObject) string {
	_, declared := r.head.clusters[pl.name]
	switch {
	case t.madeBy == byLinkerd:
		return r.checkMirror(pl, t)
	case t.madeBy != byLinkwright || t.rec.Mark != object.Ours || t.key.Kind == "Namespace" || pl.isUntracked(t):
		return ""
	case t.key == baseKey():
		if declared && !r.head.clusters[pl.name].leaving || r.hasReason(object.End{Cluster: pl.name}) {
			return ""
		}
		return "(d) its cluster is not declared"
	}
	end := object.End{Cluster: pl.name, Link: t.end.Link}
	_, linked := r.head.of(r.currentPair(t.end.Link))
	_, wanted := r.head.neededBy(pl.name, t.key)
	if isInventory(t.key) {
		_, wanted = r.head.of(t.end.Link)
	}
	if (linked || t.end.IsBase()) && wanted || r.hasReason(end) || r.hasReasonByOtherName(end) || r.isOrphan(pl.name, t) || !linked && pl.inFormerNamespace(t) {
		return ""
	}
	return "(d) it is ours, of " + t.end.String() + ", and nobody declares it"
}

// inFormerNamespace reports whether an object is in a former multicluster namespace that nothing names any more: the inventory was
// lost after the Linkerd Link there was gone, and only Links are read in all namespaces (seeds 30085043, 88071993).
func (p *simCluster) inFormerNamespace(t *simObject) bool {
	ns := t.key.Namespace
	former := ns != "" && ns != p.mc && ns != cp && ns != object.AccessNamespace
	return former && p.damagedAt > 0 && p.objects[linkKey(ns, t.end.Link.Target)] == nil
}

// isUnknown reports whether linkwright no longer reads a cluster.
func (r *history) isUnknown(name api.ClusterName) bool {
	_, declared := r.head.clusters[name]
	_, recorded := r.recordUIDs[name]
	return !declared && !recorded
}

// isLateWrite reports whether a process that hung wrote to a cluster that another process had removed from the record, and which
// nothing has read since (seed 71049402).
func (r *history) isLateWrite(name api.ClusterName) bool {
	_, recorded := r.recordUIDs[name]
	base := r.clusters[name].objects[baseKey()]
	return !recorded && base != nil && base.madeBy == byLinkwright
}

// ofForeignService reports whether Endpoints are of somebody else's Service, with which the server deletes them (seed 8017518).
func (p *simCluster) ofForeignService(t *simObject) bool {
	s := p.objects[object.Key{Kind: "Service", Namespace: t.key.Namespace, Name: t.key.Name}]
	return t.key.Kind == "Endpoints" && s != nil && s.madeBy == byOthers
}

// isControllerOwn reports whether Linkerd's controller writes an object for itself: its lease, its probe's Endpoints.
func isControllerOwn(t *simObject) bool {
	return t.key.Kind == "Lease" || t.key == probeKey(t.key.Namespace, t.target)
}

// reportedAsOrphan reports whether a report names an object as an orphan, or has more orphans than it names.
func (r *history) reportedAsOrphan(name api.ClusterName, k object.Key) bool {
	return listsOrphan(r.last[name], k)
}

func listsOrphan(s plan.Step, k object.Key) bool {
	return s.More > 0 || slices.ContainsFunc(s.Listed, func(o plan.Orphan) bool { return o.Key == k && strings.Contains(o.Why, "for a link to") })
}

// isOrphan reports whether a report names an object of an untracked link. For a secret of the control plane, which is found by name
// only, any orphan counts; for a former multicluster namespace, its Link (seed 88000744). Only people delete orphans.
func (r *history) isOrphan(name api.ClusterName, t *simObject) bool {
	s, link := r.last[name], r.currentPair(t.end.Link)
	_, declared := r.head.of(t.end.Link) // what goes on by another name leaves orphans by the former one
	secret := t.key.Kind == "Secret" && t.key.Namespace == cp
	reported := s.More > 0 || slices.ContainsFunc(s.Listed, func(o plan.Orphan) bool {
		return o.Key == t.key || secret || o.Key.Kind == "Link" && o.Key.Namespace == t.key.Namespace && t.key.Namespace != r.clusters[name].mc
	})
	return reported && !declared && r.isUntrackedLink(link)
}

// isUntrackedLink reports whether linkwright may not know a link any more: one of its clusters is unknown, an inventory was lost, or a
// process that hung wrote after the rest of the link was gone.
func (r *history) isUntrackedLink(link api.Pair) bool {
	lost := func(name api.ClusterName) bool {
		pl := r.clusters[r.currentName(name)]
		return r.isUnknown(name) || pl == nil || pl.damagedAt > 0
	}
	return r.hung || lost(link.Source) || lost(link.Target)
}

// checkDeclared checks that declared ends have what they need.
func (r *history) checkDeclared(pl *simCluster) {
	if at, declared := r.head.clusters[pl.name]; !declared || at.leaving {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(r.head.clusters)) {
		out, in := api.Pair{Source: pl.name, Target: other}, api.Pair{Source: other, Target: pl.name}
		if l, ok := r.head.of(out); ok {
			r.checkHas(pl, object.End{Cluster: pl.name, Link: out}, sourceKeys(pl.mc, other, l))
		}
		if _, ok := r.head.of(in); ok {
			r.checkHas(pl, object.End{Cluster: pl.name, Link: in}, targetKeys(other))
		}
	}
}

func (r *history) checkHas(pl *simCluster, e object.End, keys []object.Key) {
	if r.hasReason(e) {
		return
	}
	for _, k := range append(keys, inventoryKey(e.Link)) {
		t := pl.objects[k]
		if isToken(k) {
			t = pl.newest(e.Link.Source)
		}
		if t == nil || t.rec.Mark != object.Ours {
			r.addBroken("at rest %s lacks %s of %s, which no row tells%s", pl.name, k, e, r.unreadyRows())
		}
	}
}

// unreadyRows describes the rows of the last steps that are not ready.
func (r *history) unreadyRows() (out string) {
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
