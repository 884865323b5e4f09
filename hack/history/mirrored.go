package history

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// mirrored is leftover for what Linkerd's controllers made. That a stray tells of it is enough only where nobody can know whose it was.
func (r *run) mirrored(pl *plane, t *thing) string {
	foreign := pl.foreign[linkKey(t.key.Namespace, t.target)] || pl.foreign[runner(t.key.Namespace, t.target)] || pl.spoilt > 0
	if t.key.Namespace != pl.mc && (pl.charted[t.target] || foreign || pl.serves(t)) && isOwn(t) {
		return ""
	}
	told := r.stray(pl.name, t.key) || r.forgotten(pl.name)
	for _, target := range mirroredFrom(t) {
		link := api.Pair{Source: pl.name, Target: target}
		l := pl.linkTo(target)
		_, declared := r.head.of(link)
		if told && pl.served(t, target) || r.unproven(pl, target, t) || l != nil && l.by == ours && r.orphan(pl.name, l) {
			continue
		}
		if !declared && pl.linked[target] && (l == nil || l.by != others) && !pl.runs(target) &&
			!r.explained(object.End{Cluster: pl.name, Link: link}) && !r.goesOn(object.End{Cluster: pl.name, Link: link}) {
			return "(d) it mirrors " + string(target) + ", which nobody links"
		}
	}
	return ""
}

// mirroredFrom are the targets that a controller wrote something for.
func mirroredFrom(t *thing) (targets []api.ClusterName) {
	if t.key != federatedKey() {
		return []api.ClusterName{t.target}
	}
	for _, m := range members(t) {
		targets = append(targets, memberOf(m))
	}
	return targets
}

// unproven reports whether people took the inventories of both ends of a link, or built its target anew: nobody can know any more whose
// controllers' writes in its source are. The report names them, or the last one of a source that has left the fleet (seeds 86002915, 87000847,
// 88025166, 88403550).
func (r *run) unproven(pl *plane, target api.ClusterName, t *thing) bool {
	at := r.planes[r.called(target)]
	told := r.stray(pl.name, t.key) || r.forgotten(pl.name) && names(pl.parting, t.key)
	return told && pl.spoilt > 0 && at != nil && (at.spoilt > 0 || at.rebuilt)
}

// served reports whether what a controller of Linkerd's wrote for a target may have been somebody else's when our link ended.
func (p *plane) served(t *thing, target api.ClusterName) bool {
	return p.relinked[target] || isOwn(t) && (p.charted[target] || p.spoilt > 0 || p.serves(t))
}
