package history

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// do lets one event happen. What cannot, since there is nothing to pick from, does not.
func (r *run) do(e Event) {
	e.At, e.To = r.called(e.At), r.called(e.To)
	switch {
	case e.Do == "world":
		r.begin(worlds()[e.N%len(worlds())])
	case r.planes[e.At] == nil: // of another world: a script that was cut
	case e.Do == "rename":
		r.rename(e)
	case e.Do == "rotate", e.Do == "revoke":
		r.turns(e)
	case r.declares(e) || r.befalls(e) || r.runs(e):
	default:
		r.foreign(e)
	}
}

// declares lets commits happen.
func (r *run) declares(e Event) bool {
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
		at.moved = at.moved != !r.planes[e.At].blind // what lies in a former namespace the base tells, or inventories do
	case "join":
		pl := r.planes[e.At]
		c.clusters[e.At] = cluster{moved: pl.blind && pl.mc == other} // as "move" (seeds 8012876, 8025521)
	case "extra":
		at.extra = !at.extra
	case "drop":
		// What is written late into a cluster that was struck off, nobody finds; nor is a name given up in the middle of its handing over.
		if !r.hangs && !r.late(e.At) && !r.handing(r.planes[e.At]) {
			delete(c.clusters, e.At)
		}
	case "policy": // and what is bounded
		c.policy, c.bounded = []api.PrunePolicy{api.PruneSync, api.PruneSync, api.UpsertOnly, api.CreateOnly}[e.N%4], e.M == 0
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
func linkOf(n int) link {
	return link{
		discovery: n&1 > 0, federated: n&2 > 0, external: n&12 == 4, empty: n&48 == 16, spread: n&64 > 0 && n&12 != 4,
		debug: n&128 > 0, suspend: n&60 == 60,
	}
}

// befalls lets clusters go and come, and time pass.
func (r *run) befalls(e Event) bool {
	pl := r.planes[e.At]
	switch e.Do {
	case "down":
		if !pl.down {
			pl.down, pl.silent = true, r.now
		}
	case "up":
		pl.down, pl.late, pl.idle, pl.noCRD = false, false, false, false
	case "late":
		pl.late = !pl.late
	case "idle":
		pl.idle = !pl.idle
	case "crd":
		pl.serve(!pl.noCRD)
	case "half":
		pl.half = 1 + e.N
	case "rebuild":
		if !r.handing(pl) { // by which name the former one was known, nobody could tell
			r.rebuild(pl)
		}
	case "accept":
		if _, declared := r.head.clusters[e.At]; declared || r.home[e.At] != "" {
			r.accepted[e.At] = pl.uid
		}
	case "lag":
		for _, pod := range pl.of(kind{"", "Pod"}) {
			pl.lagging[pod.key] = true
		}
	case "wait":
		r.now = r.now.Add([]time.Duration{time.Minute, 6 * time.Minute, time.Hour, 25 * time.Hour}[e.M%4])
	case "grace":
		r.grace = []time.Duration{0, time.Hour, day, day}[e.M%4]
	case "forget":
		r.forget[e.At] = true
	case "approve":
		r.approve(e.N)
	case "restart":
		r.restart()
	default:
		return false
	}
	return true
}

// runs lets linkwright go on.
func (r *run) runs(e Event) bool {
	var f *fault
	if e.Fault != "" && e.Fault != "none" {
		f = &fault{kind: e.Fault, at: e.K, seed: e.Seed, act: e.Then}
	}
	switch e.Do {
	case "pass":
		r.twice(func(r *run, f *fault) { r.pass(e.N, f) }, f)
	case "turn":
		r.twice(func(r *run, f *fault) { r.single(e.At, f) }, f)
	case "adopt", "release":
		r.command(e, f)
	case "settle":
		r.twice(func(r *run, f *fault) { r.settle(f) }, f)
	default:
		return false
	}
	return true
}

// serve takes the Link's definition away, and all Links with it, or brings it back.
func (p *plane) serve(off bool) {
	if p.noCRD = off; off {
		for _, t := range p.of(kind{linkerd.Group, "Link"}) {
			p.drop(t.key)
		}
	}
	p.rev++
}

// rebuild makes the cluster anew: another one, of the same name.
func (r *run) rebuild(p *plane) {
	next := build(p.born, p.uid+"'", p.at)
	next.name, next.mc, next.stays, next.declares, next.rebuilt = p.name, p.mc, p.stays, p.declares, true
	r.planes[p.name], r.rebuilt = next, true
}

// foreign lets somebody else act.
func (r *run) foreign(e Event) {
	p := r.planes[e.At]
	switch e.Do {
	case "namesake":
		r.namesake(p, e)
		return
	case "squat":
		r.squat(p, e)
		return
	case "local":
		p.join()
		return
	case "chart", "nochart":
		r.chart(p, e)
		return
	case "wipe":
		if p.behind() || r.hangs {
			return
		}
		p.taken(true, r.event)
		p.wipe()
		return
	}
	if t := p.pick(e.N, e.Do == "lose" || e.Do == "restore", e.Do == "keep" || e.Do == "unkeep"); t != nil {
		r.spoil(p, t, e)
	}
}

// taken notes what is lost with an inventory, or with all of them: the control plane's secret is looked for by name alone, and
// only what is written down, in the base, too, or anything else that is left of its end, tells of that.
func (p *plane) taken(base bool, when int) {
	p.spoilt, p.blind = when, p.blind || base
	p.forget()
}

func (p *plane) forget() {
	for _, t := range p.of(kind{"", "Secret"}) {
		if t.by == ours && t.key.Namespace == cp && p.unseen(t) {
			next := *t
			next.orphan = true
			p.put(&next)
		}
	}
}

// unseen reports whether nothing tells of a secret of the control plane whose inventory others took: nothing else of ours of its end is left.
func (p *plane) unseen(t *thing) bool {
	return p.last(t) || p.blind && !p.records(t.end, t.key)
}

// last reports whether nothing else of ours is left of an object's end, but what may be gone before anybody looks.
func (p *plane) last(t *thing) bool {
	return !slices.ContainsFunc(p.all(), func(o *thing) bool {
		return o.by == ours && o.end == t.end && o.key != t.key && !o.rec.Going && !isInventory(o.key) && o.key.Kind != "Namespace"
	})
}

// pick gives one of our objects by number: inventories, others, or any of both.
func (p *plane) pick(n int, inventories, both bool) *thing {
	var may []*thing
	for _, t := range p.all() {
		if t.by == ours && t.key.Kind != "Namespace" && (both || isInventory(t.key) == inventories) {
			may = append(may, t)
		}
	}
	if len(may) == 0 {
		return nil
	}
	return may[n%len(may)]
}

// spoil does something to one of our objects.
func (r *run) spoil(p *plane, t *thing, e Event) {
	next := *t
	next.rec.ResourceVersion = p.next()
	switch e.Do {
	case "unmark", "mark":
		r.remark(p, t, e.Do)
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
		p.keep(t, r.event)
		return
	case "unkeep":
		p.keep(t, 0)
		return
	case "hang":
		next.hung = true
	case "lose":
		if t.key == baseKey() && (p.behind() || r.hangs) {
			return
		}
		p.taken(t.key == baseKey(), r.event)
		p.delete(t)
		return
	case "remove":
		p.delete(t)
		return
	case "recreate":
		p.drop(t.key)
		r.remake(p, t, e.M)
		return
	case "restore":
		r.restore(p, t, e)
		return
	}
	p.put(&next)
}

// remark takes our mark off, or puts another's on: from then on the object is theirs.
func (r *run) remark(p *plane, t *thing, do string) {
	next := t.edited(func(o map[string]any) {
		labels := field(o, "metadata", "labels")
		if delete(labels, object.OwnerLabel); do == "mark" {
			labels[object.OwnerLabel] = "somebody"
		}
	})
	if next.rec.Mark = object.Unmarked; do == "mark" {
		next.rec.Mark = object.Theirs
	}
	next.by, next.since, next.rec.ResourceVersion, next.shaped = others, r.event, p.next(), true
	p.put(next)
}

// remake makes an object of the same name and content, with our labels or without.
func (r *run) remake(p *plane, t *thing, how int) {
	labels := map[string]string{}
	if how%2 == 1 {
		labels[object.OwnerLabel] = owner
	}
	next := t.edited(func(o map[string]any) { field(o, "metadata")["labels"] = labels })
	next.rec = object.Record{UID: p.newUID(), ResourceVersion: p.next(), Mark: markOf(labels), Digest: t.rec.Digest, Rivals: uncovered(t.rec).Rivals}
	next.by, next.since, next.kept, next.token, next.account, next.hung = others, r.event, 0, "", "", false
	p.put(next)
}

// keep marks an object to be kept, or no longer.
func (p *plane) keep(t *thing, when int) {
	next := t.edited(func(o map[string]any) {
		annotations := field(o, "metadata", "annotations")
		if delete(annotations, object.PruneAnnotation); when > 0 {
			annotations[object.PruneAnnotation] = object.PruneDisabled
		}
	})
	if next.rec.Keep = when > 0; t.kept > 0 && when > 0 {
		when = t.kept
	}
	next.kept, next.rec.ResourceVersion = when, p.next()
	p.put(next)
}

// restore brings an inventory back to what it was: in place, as somebody else's copy, or broken.
func (r *run) restore(p *plane, t *thing, e Event) {
	for _, was := range p.older {
		if was.key != t.key || t.key == baseKey() && (p.behind() || r.hangs) {
			continue
		}
		p.taken(t.key == baseKey(), r.event)
		next := *was
		next.rec.UID, next.rec.ResourceVersion = t.rec.UID, p.next()
		next.rec = uncovered(next.rec)
		switch e.M {
		case 2:
			p.drop(t.key)
			r.remake(p, was, 1)
			return
		case 3:
			next.body = encoded(content(t.key, map[string]string{object.OwnerLabel: owner}, map[string]any{"data": map[string]string{"inventory.json": "{"}}))
			next.told = nil
		}
		p.put(&next)
		return
	}
}
