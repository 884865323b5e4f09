package history

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// perform performs one event, unless there is nothing that it could pick.
func (r *history) perform(e Event) {
	e.At, e.To = r.currentName(e.At), r.currentName(e.To)
	switch {
	case e.Do == "world":
		r.begin(clusterSets()[e.N%len(clusterSets())])
	case r.clusters[e.At] == nil: // of another world: a script that was cut
	case e.Do == "rename":
		r.rename(e)
	case e.Do == "rotate", e.Do == "revoke":
		r.rotate(e)
	case r.performCommit(e) || r.performFault(e) || r.performRun(e):
	default:
		r.performForeign(e)
	}
}

// performCommit performs commits.
func (r *history) performCommit(e Event) bool {
	c, pair := r.head.clone(), api.Pair{Source: e.At, Target: e.To}
	at, declared := c.clusters[e.At]
	switch e.Do {
	case "link":
		c.links[pair] = linkOf(e.N)
	case "unlink":
		delete(c.links, pair)
	case "mesh":
		mesh := linkOf(e.N)
		c.mesh = &mesh
	case "nomesh":
		c.mesh = nil
	case "bare":
		clear(c.links)
		c.mesh = nil
	case "empty":
	case "move":
		at.moved = at.moved != !r.clusters[e.At].blind // what lies in a former namespace the base tells, or inventories do
	case "join":
		pl := r.clusters[e.At]
		c.clusters[e.At] = declaredCluster{moved: pl.blind && pl.mc == other} // as "move" (seeds 8012876, 8025521)
	case "extra":
		at.extra = !at.extra
	case "drop":
		// What is written late into a cluster that was struck off, nobody finds; nor is a name given up in the middle of its handing over.
		if !r.hanging && !r.isLateWrite(e.At) && !r.hasFormerName(r.clusters[e.At]) {
			delete(c.clusters, e.At)
		}
	case "policy": // and what is bounded
		c.policy, c.hasLimits = []api.PrunePolicy{api.PruneSync, api.PruneSync, api.UpsertOnly, api.CreateOnly}[e.N%4], e.M == 0
	case "leave", "stay", "suspend", "resume":
		if e.Do == "leave" || e.Do == "stay" {
			at.leaving = e.Do == "leave"
		} else {
			at.suspend = e.Do == "suspend"
		}
		if declared {
			c.clusters[e.At] = at
		}
	default:
		return false
	}
	if declared && (e.Do == "move" || e.Do == "extra") {
		c.clusters[e.At] = at
	}
	r.commit(c)
	return true
}

// linkOf makes a declaration of a number; mostly it is a plain one.
func linkOf(n int) declaredLink {
	return declaredLink{
		discovery: n&1 > 0, federated: n&2 > 0, external: n&12 == 4, empty: n&48 == 16, spread: n&64 > 0 && n&12 != 4,
		debug: n&128 > 0, suspend: n&60 == 60,
	}
}

// performFault makes clusters unreachable and reachable, and lets time pass.
func (r *history) performFault(e Event) bool {
	pl := r.clusters[e.At]
	switch e.Do {
	case "down":
		if !pl.down {
			pl.down, pl.downSince = true, r.now
		}
	case "up":
		pl.down, pl.late, pl.idle, pl.noCRD = false, false, false, false
	case "late":
		pl.late = !pl.late
	case "idle":
		pl.idle = !pl.idle
	case "crd":
		pl.setServed(!pl.noCRD)
	case "half":
		pl.missEvery = 1 + e.N
	case "rebuild":
		if !r.hasFormerName(pl) { // by which name the former one was known, nobody could tell
			r.rebuild(pl)
		}
	case "accept":
		if _, declared := r.head.clusters[e.At]; declared || r.recordUIDs[e.At] != "" {
			r.accepted[e.At] = pl.uid
		}
	case "lag":
		for _, pod := range pl.of(kind{"", "Pod"}) {
			pl.lagging[pod.key] = true
		}
	case "wait":
		r.now = r.now.Add([]time.Duration{time.Minute, 6 * time.Minute, time.Hour, 25 * time.Hour}[e.M%4])
	case "grace":
		r.sourceTimeout = []time.Duration{0, time.Hour, day, day}[e.M%4]
	case "forget":
		r.abandoned[e.At] = true
	case "approve":
		r.approve(e.N)
	case "restart":
		r.restart()
	default:
		return false
	}
	return true
}

// performRun runs linkwright.
func (r *history) performRun(e Event) bool {
	var f *fault
	if e.Fault != "" && e.Fault != "none" {
		f = &fault{kind: e.Fault, at: e.K, seed: e.Seed, act: e.Then}
	}
	switch e.Do {
	case "pass":
		r.compareWithFault(func(r *history, f *fault) { r.syncAll(e.N, f) }, f)
	case "turn":
		r.compareWithFault(func(r *history, f *fault) { r.reconcileOne(e.At, f) }, f)
	case "adopt", "release":
		r.command(e, f)
	case "settle":
		r.compareWithFault(func(r *history, f *fault) { r.reconcileUntilIdle(f) }, f)
	default:
		return false
	}
	return true
}

// setServed removes the CRD of Links with all Links, or adds it again.
func (p *simCluster) setServed(off bool) {
	if p.noCRD = off; off {
		for _, t := range p.of(kind{linkerd.Group, "Link"}) {
			p.drop(t.key)
		}
	}
	p.changes++
}

// rebuild replaces the cluster by a new one of the same name.
func (r *history) rebuild(p *simCluster) {
	next := build(p.originalName, p.uid+"'", p.index)
	next.name, next.mc, next.isDeclared, next.isDesired, next.rebuilt = p.name, p.mc, p.isDeclared, p.isDesired, true
	r.clusters[p.name], r.rebuilt = next, true
}

// performForeign performs writes of others.
func (r *history) performForeign(e Event) {
	p := r.clusters[e.At]
	switch e.Do {
	case "namesake":
		r.createNamesake(p, e)
		return
	case "squat":
		r.takeName(p, e)
		return
	case "local":
		p.joinFederated()
		return
	case "chart", "nochart":
		r.installChart(p, e)
		return
	case "wipe":
		if p.hasFormerNamespace() || r.hanging {
			return
		}
		p.noteLostInventory(true, r.event)
		p.deleteNamespace()
		return
	}
	if t := p.pick(e.N, e.Do == "lose" || e.Do == "restore", e.Do == "keep" || e.Do == "unkeep"); t != nil {
		r.damage(p, t, e)
	}
}

// noteLostInventory notes what is lost with an inventory, or with all of them: the control plane's secret is looked for by name alone, and
// only what is written down, in the base, too, or anything else that is left of its end, tells of that.
func (p *simCluster) noteLostInventory(base bool, when int) {
	p.damagedAt, p.blind = when, p.blind || base
	p.dropOrphans()
}

func (p *simCluster) dropOrphans() {
	for _, t := range p.of(kind{"", "Secret"}) {
		if t.madeBy == byLinkwright && t.key.Namespace == cp && p.isUntrackedSecret(t) {
			next := *t
			next.orphan = true
			p.put(&next)
		}
	}
}

// isUntrackedSecret reports whether nothing tells of a secret of the control plane whose inventory others took: nothing else of ours of its end is left.
func (p *simCluster) isUntrackedSecret(t *simObject) bool {
	return p.isLastOfEnd(t) || p.blind && !p.records(t.end, t.key)
}

// isLastOfEnd reports whether nothing else of ours is left of an object's end, but what may be gone before anybody looks.
func (p *simCluster) isLastOfEnd(t *simObject) bool {
	return !slices.ContainsFunc(p.all(), func(o *simObject) bool {
		return o.madeBy == byLinkwright && o.end == t.end && o.key != t.key && !o.rec.Terminating && !isInventory(o.key) && o.key.Kind != "Namespace"
	})
}

// pick gives one of our objects by number: inventories, others, or any of both.
func (p *simCluster) pick(n int, inventories, both bool) *simObject {
	var may []*simObject
	for _, t := range p.all() {
		if t.madeBy == byLinkwright && t.key.Kind != "Namespace" && (both || isInventory(t.key) == inventories) {
			may = append(may, t)
		}
	}
	if len(may) == 0 {
		return nil
	}
	return may[n%len(may)]
}

// damage changes or deletes one of linkwright's objects.
func (r *history) damage(p *simCluster, t *simObject, e Event) {
	next := *t
	next.rec.ResourceVersion = p.next()
	switch e.Do {
	case "unmark", "mark":
		r.relabel(p, t, e.Do)
		return
	case "edit", "overwrite":
		next = *t.edited(func(o map[string]any) { // what everything of ours has
			field(o, "metadata", "labels")["velero.io/exclude-from-backup"] = "no"
			if e.Do == "overwrite" {
				delete(field(o, "metadata", "annotations"), object.DigestAnnotation)
			}
		})
		next.rec = uncovered(t.rec)
		if next.rec.ResourceVersion = p.next(); e.Do == "overwrite" {
			next.rec.Digest = 0
		}
	case "keep":
		p.protect(t, r.event)
		return
	case "unkeep":
		p.protect(t, 0)
		return
	case "hang":
		next.hasFinalizer = true
	case "lose":
		if t.key == baseKey() && (p.hasFormerNamespace() || r.hanging) {
			return
		}
		p.noteLostInventory(t.key == baseKey(), r.event)
		p.delete(t)
		return
	case "remove":
		p.delete(t)
		return
	case "recreate":
		p.drop(t.key)
		r.recreate(p, t, e.M)
		return
	case "restore":
		r.restore(p, t, e)
		return
	}
	p.put(&next)
}

// relabel removes or replaces the owner label: from then on the object is foreign.
func (r *history) relabel(p *simCluster, t *simObject, do string) {
	next := t.edited(func(o map[string]any) {
		labels := field(o, "metadata", "labels")
		if delete(labels, object.OwnerLabel); do == "mark" {
			labels[object.OwnerLabel] = "somebody"
		}
	})
	if next.rec.Mark = object.Unmarked; do == "mark" {
		next.rec.Mark = object.Theirs
	}
	next.madeBy, next.since, next.rec.ResourceVersion, next.shaped = byOthers, r.event, p.next(), true
	p.put(next)
}

// recreate replaces an object by one of the same name and content, with or without linkwright's labels.
func (r *history) recreate(p *simCluster, t *simObject, how int) {
	labels := map[string]string{}
	if how%2 == 1 {
		labels[object.OwnerLabel] = owner
	}
	next := t.edited(func(o map[string]any) { field(o, "metadata")["labels"] = labels })
	next.rec = object.Record{UID: p.newUID(), ResourceVersion: p.next(), Mark: markOf(labels), Digest: t.rec.Digest, ForeignManagers: uncovered(t.rec).ForeignManagers}
	next.madeBy, next.since, next.protectedSince, next.token, next.account, next.hasFinalizer = byOthers, r.event, 0, "", "", false
	p.put(next)
}

// protect adds or removes the annotation linkwright.dev/prune: disabled.
func (p *simCluster) protect(t *simObject, when int) {
	next := t.edited(func(o map[string]any) {
		annotations := field(o, "metadata", "annotations")
		if delete(annotations, object.PruneAnnotation); when > 0 {
			annotations[object.PruneAnnotation] = object.PruneDisabled
		}
	})
	if next.rec.PruneDisabled = when > 0; t.protectedSince > 0 && when > 0 {
		when = t.protectedSince
	}
	next.protectedSince, next.rec.ResourceVersion = when, p.next()
	p.put(next)
}

// restore restores a former content of an inventory: in place, as somebody else's copy, or damaged.
func (r *history) restore(p *simCluster, t *simObject, e Event) {
	for _, was := range p.formerInventories {
		if was.key != t.key || t.key == baseKey() && (p.hasFormerNamespace() || r.hanging) {
			continue
		}
		p.noteLostInventory(t.key == baseKey(), r.event)
		next := *was
		next.rec.UID, next.rec.ResourceVersion = t.rec.UID, p.next()
		next.rec = uncovered(next.rec)
		switch e.M {
		case 2:
			p.drop(t.key)
			r.recreate(p, was, 1)
			return
		case 3:
			next.body = encoded(content(t.key, map[string]string{object.OwnerLabel: owner}, map[string]any{"data": map[string]string{"inventory.json": "{"}}))
			next.decoded = nil
		}
		p.put(&next)
		return
	}
}
