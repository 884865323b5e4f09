package history

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// checkMirror is leftover for what Linkerd's controllers made. That a stray tells of it is enough only where nobody can know whose it was.
func (r *history) checkMirror(pl *simCluster, t *simObject) string {
	foreign := pl.foreign[linkKey(t.key.Namespace, t.target)] || pl.foreign[runner(t.key.Namespace, t.target)] || pl.damagedAt > 0
	if t.key.Namespace != pl.mc && (pl.chartRan[t.target] || foreign || pl.ofForeignService(t)) && isControllerOwn(t) {
		return ""
	}
	reported := r.reportedAsOrphan(pl.name, t.key) || r.isUnknown(pl.name)
	for _, target := range mirroredFrom(t) {
		link := api.Pair{Source: pl.name, Target: target}
		l := pl.linkTo(target)
		_, declared := r.head.of(link)
		if reported && pl.mayBeForeign(t, target) || r.isUnproven(pl, target, t) || l != nil && l.madeBy == byLinkwright && r.isOrphan(pl.name, l) {
			continue
		}
		if !declared && pl.linked[target] && (l == nil || l.madeBy != byOthers) && !pl.hasController(target) &&
			!r.hasReason(object.End{Cluster: pl.name, Link: link}) && !r.hasReasonByOtherName(object.End{Cluster: pl.name, Link: link}) {
			return "(d) it mirrors " + string(target) + ", which nobody links"
		}
	}
	return ""
}

// mirroredFrom are the targets that a controller wrote something for.
func mirroredFrom(t *simObject) (targets []api.ClusterName) {
	if t.key != federatedKey() {
		return []api.ClusterName{t.target}
	}
	for _, m := range members(t) {
		targets = append(targets, memberOf(m))
	}
	return targets
}

// isUnproven reports whether people took the inventories of both ends of a link, or built its target anew: nobody can know any more whose
// controllers' writes in its source are. The report names them, or the last one of a source that has left the fleet (seeds 86002915, 87000847,
// 88025166, 88403550).
func (r *history) isUnproven(pl *simCluster, target api.ClusterName, t *simObject) bool {
	at := r.clusters[r.currentName(target)]
	reported := r.reportedAsOrphan(pl.name, t.key) || r.isUnknown(pl.name) && listsOrphan(pl.lastStep, t.key)
	return reported && pl.damagedAt > 0 && at != nil && (at.damagedAt > 0 || at.rebuilt)
}

// mayBeForeign reports whether what a controller of Linkerd's wrote for a target may have been somebody else's when our link ended.
func (p *simCluster) mayBeForeign(t *simObject, target api.ClusterName) bool {
	return p.relinked[target] || isControllerOwn(t) && (p.chartRan[target] || p.damagedAt > 0 || p.ofForeignService(t))
}
