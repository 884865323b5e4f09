package history

import (
	"fmt"
	"maps"
	"slices"
	"time"

	netac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

const day = 24 * time.Hour

// command is what people do by a command of their own, adopt or release, which holds the lease; interrupted, it is run again.
// Every other one is about all links that are declared.
func (r *history) command(e Event, f *fault) {
	if f != nil && f.kind == stall { // the lease is held
		f.kind, f.hangs = race, f.act.Do == "rename" // which knows its clusters by their names of then (seed 7100259)
	}
	r.compareWithFault(func(r *history, f *fault) {
		for range maxPasses {
			p := newProcess(r.process.term + 1)
			r.process = p
			if links := r.chosen(e); e.Do == "adopt" {
				p.adopts = links
			} else {
				p.releases = &state.Releasing{Links: links}
				r.stopTracking(links)
			}
			if writes := r.syncAll(e.N, f); writes == 0 || r.failure != "" {
				break
			}
		}
		r.restart()
	}, f)
}

// stopTracking notes that what a link mirrors is no business of ours from now on.
func (r *history) stopTracking(links map[api.Pair]bool) {
	for l := range links {
		r.clusters[l.Source].relinked[l.Target] = true
	}
}

func (r *history) chosen(e Event) map[api.Pair]bool {
	links := map[api.Pair]bool{}
	for source := range r.head.clusters {
		for target := range r.head.clusters {
			pair := api.Pair{Source: source, Target: target}
			if _, ok := r.head.of(pair); ok && (e.M%2 > 0 || e.At == source && e.To == target) {
				links[pair] = true
			}
		}
	}
	return links
}

// checkCommand holds a write of a command to what that may do: marks and inventories, of the links it is about.
func (p *process) checkCommand(c object.Change, was *simObject) string {
	about := p.adopts[c.End.Link] || p.releases != nil && p.releases.Links[c.End.Link]
	switch {
	case was != nil && was.ofLinkerd:
		return "(a) it is Linkerd's installation"
	case c.Key.Kind == "Namespace" && p.adopts != nil, c.Key == baseKey() && c.Action != object.Delete:
		return ""
	case c.Key == baseKey() && was.madeBy == byLinkwright: // nothing is left that it is the base of
		return ""
	case !about:
		return "nobody named its link"
	case isInventory(c.Key):
		if p.adopts != nil && c.Action == object.Delete || was != nil && was.madeBy == byOthers && was.rec.Mark != object.Unmarked {
			return "an adoption writes inventories down"
		}
		return ""
	case p.releases != nil && (c.Action != object.Release || was != nil && was.madeBy != byLinkwright):
		return "(b) a release takes marks off, and nothing else"
	case p.adopts != nil && (c.Action != object.Adopt || was != nil && !was.adoptable(c.End)):
		return "(a) an adoption puts marks on what Linkerd's tools made, and nothing else"
	}
	return ""
}

// adoptable reports whether a thing is what Linkerd's own tools make of a link, or linkwright's own access by its names.
func (t *simObject) adoptable(e object.End) bool {
	access := slices.Contains(targetKeys(e.Link.Source), t.key) || isTokenOf(t.key, e.Link.Source)
	return t.madeBy == byOthers && t.rec.Mark != object.Theirs && (t.shaped || access || t.key.Kind == "Link" || t.key.Kind == "Secret")
}

// approve is what people do where a revision removes more than it may: every other time, by a look of their own.
func (r *history) approve(n int) {
	if n%2 > 0 {
		return
	}
	p := newProcess(0)
	p.number, p.commit = 1, r.head
	for _, c := range r.allClusters(p.commit.fleet) {
		r.read(p, c)
	}
	if x := plan.Removal(r.snapshot(p), r.renderer); len(x.Units) > 0 {
		approvals := slices.Clone(r.guard.Approvals)
		r.guard.Approvals = append(approvals, inventory.Approval{Hash: x.Hash, Units: x.Units, At: r.now})
	}
}

// recordJudgement keeps in the record what a step found out about removals.
func (r *history) recordJudgement(j plan.RemovalChanges) {
	if !j.Changed {
		return
	}
	r.guard.Denied = j.Denied
	r.guard.Approvals = j.Left(r.guard.Approvals)
	r.guard.Retiring = maps.Clone(r.guard.Retiring)
	for _, name := range j.Retire {
		if _, known := r.recordUIDs[name]; known {
			r.guard.Retiring[name] = true
		}
	}
}

// checkLimits: a commit that may remove nothing begins no unlink that nobody approved, unless its cluster leaves, its other end has begun, or
// nothing of it is left but what is written down.
func (r *history) checkLimits(p *process, s plan.Step) {
	pl := r.clusters[s.Cluster]
	if !p.commit.hasLimits {
		return
	}
	for _, c := range s.Ahead {
		was := pl.objects[c.Key]
		begins := isInventory(c.Key) && isLeavingInventory(c.Object.Body) && was != nil && readable(was) && !isLeavingInventory(was.body)
		_, goesOn := p.commit.of(api.Pair{Source: r.currentName(c.End.Link.Source), Target: c.End.Link.Target}) // by another name of its source
		if begins && !c.End.IsBase() && !goesOn && !p.commit.isLeaving(c.End) && !r.unlinkAllowed(c.End) && pl.holdsObjects(c.End) {
			r.addBroken("(b) %s: %s begins to go, and nobody approved that", s.Cluster, c.End)
		}
	}
}

// holdsObjects reports whether something of an end is there, and ours.
func (p *simCluster) holdsObjects(e object.End) bool {
	keys := targetKeys(e.Link.Source)
	if e.IsSource() {
		keys = sourceKeys(p.mc, e.Link.Target, declaredLink{discovery: true, federated: true, spread: true})
	}
	return slices.ContainsFunc(keys, func(k object.Key) bool { return p.objects[k] != nil && p.objects[k].madeBy == byLinkwright })
}

// unlinkAllowed reports whether an unlink was approved, or has begun elsewhere; of one whose cleanup is pending, the rest went before.
func (r *history) unlinkAllowed(e object.End) bool {
	if slices.ContainsFunc(r.pending[e.Cluster], func(d inventory.Pending) bool { return d.Link() == e.Link }) {
		return true
	}
	for _, name := range []api.ClusterName{e.Link.Source, e.Link.Target} {
		if r.guard.Retiring[name] || r.abandoned[name] { // whoever gives a cluster up has its links go
			return true
		}
		if pl := r.clusters[r.currentName(name)]; pl != nil && name != e.Cluster {
			if t := pl.objects[inventory.Key(owner, e)]; t != nil && readable(t) && isLeavingInventory(t.body) {
				return true
			}
		}
	}
	return slices.ContainsFunc(r.guard.Approvals, func(a inventory.Approval) bool {
		return slices.ContainsFunc(a.Units, func(u inventory.Unit) bool {
			return u == inventory.LinkUnit(e.Link) || u.Kind == inventory.UnitCluster && (u.Cluster == e.Link.Source || u.Cluster == e.Link.Target)
		})
	})
}

// isLeaving reports whether people declared a cluster of an end to leave.
func (c commit) isLeaving(e object.End) bool {
	return c.clusters[e.Cluster].leaving || c.clusters[e.Link.Source].leaving || c.clusters[e.Link.Target].leaving
}

// checkAccessRemoval: the access of a source that gives no answer stays for as long as people grant, at least since it went silent.
func (r *history) checkAccessRemoval(p *process, c object.Change) string {
	source := r.clusters[r.currentName(c.End.Link.Source)]
	if c.Key != account(c.End.Link.Source) || source == nil || !source.down || p.states[source.name].Known() || r.abandoned[source.name] {
		return ""
	}
	if _, known := r.recordUIDs[source.name]; known && r.now.Sub(source.downSince) < r.sourceTimeout {
		return fmt.Sprintf("(b) its source is silent for %s, and %s are granted", r.now.Sub(source.downSince), r.sourceTimeout)
	}
	return ""
}

// checkPending: before the last inventory that tells of a link goes, what a cluster that gives no answer still holds is written down.
func (r *history) checkPending(p *process, c object.Change) string {
	far := c.End.Link.Source
	if c.End.IsSource() {
		far = c.End.Link.Target
	}
	pl, known := r.clusters[r.currentName(far)], false
	if _, known = r.recordUIDs[far]; c.Action != object.Delete || c.End.IsBase() || pl == nil || !known || p.states[far].Known() || r.abandoned[far] {
		return ""
	}
	if t := pl.objects[inventoryKey(c.End.Link)]; t == nil || t.madeBy != byLinkwright {
		return ""
	}
	for _, d := range r.pending[far] {
		if d.Link() == c.End.Link {
			return ""
		}
	}
	return fmt.Sprintf("(d) %s holds the other end, and nothing tells of that any more", far)
}

// checkReplacement: of a declared link no controller and no Linkerd Link goes before what takes its place stands, or stood when the
// process looked: nobody can know what others take away in the middle of a step.
func (c commit) checkReplacement(p *simCluster, observed object.Observation, ch object.Change) string {
	l, ok := c.of(ch.End.Link)
	if !ok || l.external || !ch.End.IsSource() || ch.Key.Kind != "Deployment" && ch.Key.Kind != "Link" {
		return ""
	}
	for _, k := range []object.Key{deployment(p.mc, ch.End.Link.Target), linkKey(p.mc, ch.End.Link.Target)} {
		if t := p.objects[k]; k != ch.Key && c.clusters[p.name].mc() == p.mc && (t == nil || t.madeBy != byLinkwright) && observed.Record(k).Mark != object.Ours {
			return "(b) it goes before " + k.String() + " stands, which takes its place"
		}
	}
	return ""
}

// linkTo is a Linkerd Link to a target, of others if there is one.
func (p *simCluster) linkTo(target api.ClusterName) *simObject {
	a, b := p.objects[linkKey(p.mc, target)], p.objects[linkKey(mc, target)]
	if p.mc == mc {
		b = p.objects[linkKey(other, target)]
	}
	if a == nil || b != nil && b.madeBy == byOthers {
		return b
	}
	return a
}

// hasFormerNamespace reports whether something of ours lies in a former multicluster namespace.
func (p *simCluster) hasFormerNamespace() bool {
	for _, t := range p.objects {
		if t.madeBy == byLinkwright && t.key.Namespace != p.mc && (t.key.Namespace == mc || t.key.Namespace == other) {
			return true
		}
	}
	return false
}

// hasController reports whether a controller of a link is there.
func (p *simCluster) hasController(target api.ClusterName) bool {
	return p.objects[deployment(mc, target)] != nil || p.objects[deployment(other, target)] != nil
}

// renderer brings in what an overlay would: kustomize is no part of a history.
type renderer struct{ plan.Renderer }

// Complete implements plan.Renderer.
func (r renderer) Complete(c fleet.Cluster, ends []object.Desired) []object.Desired {
	out := r.Renderer.Complete(c, ends)
	if c.Overlay == nil {
		return out
	}
	k := extraKey(c.Spec.Linkerd.MulticlusterNamespace)
	policy := netac.NetworkPolicy(k.Name, k.Namespace)
	o, err := object.New(object.Spec{Key: k, Version: "v1", Owner: owner, Meta: policy.ObjectMetaApplyConfiguration, Config: policy})
	must(err)
	out = slices.Clone(out)
	for i, w := range out {
		if w.End.IsBase() {
			out[i].Objects = append(slices.Clone(w.Objects), o)
		}
	}
	return out
}
