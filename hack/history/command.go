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
func (r *run) command(e Event, f *fault) {
	if f != nil && f.kind == stall { // the lease is held
		f.kind, f.hangs = race, f.act.Do == "rename" // which knows its clusters by their names of then (seed 7100259)
	}
	r.twice(func(r *run, f *fault) {
		for range soon {
			p := newProcess(r.process.term + 1)
			r.process = p
			if links := r.chosen(e); e.Do == "adopt" {
				p.adopts = links
			} else {
				p.releases = &state.Releasing{Links: links}
				r.abandon(links)
			}
			if writes := r.pass(e.N, f); writes == 0 || r.broken != "" {
				break
			}
		}
		r.restart()
	}, f)
}

// abandon notes that what a link mirrors is no business of ours from now on.
func (r *run) abandon(links map[api.Pair]bool) {
	for l := range links {
		r.planes[l.Source].relinked[l.Target] = true
	}
}

func (r *run) chosen(e Event) map[api.Pair]bool {
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

// commanded holds a write of a command to what that may do: marks and inventories, of the links it is about.
func (p *process) commanded(c object.Change, was *thing) string {
	about := p.adopts[c.End.Link] || p.releases != nil && p.releases.Links[c.End.Link]
	switch {
	case was != nil && was.dressing:
		return "(a) it is Linkerd's installation"
	case c.Key.Kind == "Namespace" && p.adopts != nil, c.Key == baseKey() && c.Action != object.Delete:
		return ""
	case c.Key == baseKey() && was.by == ours: // nothing is left that it is the base of
		return ""
	case !about:
		return "nobody named its link"
	case isInventory(c.Key):
		if p.adopts != nil && c.Action == object.Delete || was != nil && was.by == others && was.rec.Mark != object.Unmarked {
			return "an adoption writes inventories down"
		}
		return ""
	case p.releases != nil && (c.Action != object.Release || was != nil && was.by != ours):
		return "(b) a release takes marks off, and nothing else"
	case p.adopts != nil && (c.Action != object.Adopt || was != nil && !was.adoptable(c.End)):
		return "(a) an adoption puts marks on what Linkerd's tools made, and nothing else"
	}
	return ""
}

// adoptable reports whether a thing is what Linkerd's own tools make of a link, or linkwright's own access by its names.
func (t *thing) adoptable(e object.End) bool {
	access := slices.Contains(targetKeys(e.Link.Source), t.key) || isTokenOf(t.key, e.Link.Source)
	return t.by == others && t.rec.Mark != object.Theirs && (t.shaped || access || t.key.Kind == "Link" || t.key.Kind == "Secret")
}

// approve is what people do where a revision removes more than it may: every other time, by a look of their own.
func (r *run) approve(n int) {
	if n%2 > 0 {
		return
	}
	p := newProcess(0)
	p.pass, p.commit = 1, r.head
	for _, c := range r.clusters(p.commit.fleet) {
		r.read(p, c)
	}
	if x := plan.Removal(r.world(p), r.renderer); len(x.Units) > 0 {
		approvals := slices.Clone(r.guard.Approvals)
		r.guard.Approvals = append(approvals, inventory.Approval{Hash: x.Hash, Units: x.Units, At: r.now})
	}
}

// judged keeps in the record what a step found out about removals.
func (r *run) judged(j plan.Judged) {
	if !j.News {
		return
	}
	r.guard.Denied = j.Denied
	r.guard.Approvals = j.Left(r.guard.Approvals)
	r.guard.Retiring = maps.Clone(r.guard.Retiring)
	for _, name := range j.Retire {
		if _, known := r.home[name]; known {
			r.guard.Retiring[name] = true
		}
	}
}

// bounded: a commit that may remove nothing begins no unlink that nobody approved, unless its cluster leaves, its other end has begun, or
// nothing of it is left but what is written down.
func (r *run) bounded(p *process, s plan.Step) {
	pl := r.planes[s.Cluster]
	if !p.commit.bounded {
		return
	}
	for _, c := range s.Ahead {
		was := pl.things[c.Key]
		begins := isInventory(c.Key) && leaves(c.Object.Body) && was != nil && readable(was) && !leaves(was.body)
		_, goesOn := p.commit.of(api.Pair{Source: r.called(c.End.Link.Source), Target: c.End.Link.Target}) // by another name of its source
		if begins && !c.End.IsBase() && !goesOn && !p.commit.left(c.End) && !r.lets(c.End) && pl.keeps(c.End) {
			r.breaks("(b) %s: %s begins to go, and nobody approved that", s.Cluster, c.End)
		}
	}
}

// keeps reports whether something of an end is there, and ours.
func (p *plane) keeps(e object.End) bool {
	keys := targetKeys(e.Link.Source)
	if e.IsSource() {
		keys = sourceKeys(p.mc, e.Link.Target, link{discovery: true, federated: true, spread: true})
	}
	return slices.ContainsFunc(keys, func(k object.Key) bool { return p.things[k] != nil && p.things[k].by == ours })
}

// lets reports whether an unlink was approved, or has begun elsewhere; of one whose cleanup is pending, the rest went before.
func (r *run) lets(e object.End) bool {
	if slices.ContainsFunc(r.pending[e.Cluster], func(d inventory.Pending) bool { return d.Link() == e.Link }) {
		return true
	}
	for _, name := range []api.ClusterName{e.Link.Source, e.Link.Target} {
		if r.guard.Retiring[name] || r.forget[name] { // whoever gives a cluster up has its links go
			return true
		}
		if pl := r.planes[r.called(name)]; pl != nil && name != e.Cluster {
			if t := pl.things[inventory.Key(owner, e)]; t != nil && readable(t) && leaves(t.body) {
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

// left reports whether people declared a cluster of an end to leave.
func (c commit) left(e object.End) bool {
	return c.clusters[e.Cluster].leaving || c.clusters[e.Link.Source].leaving || c.clusters[e.Link.Target].leaving
}

// granted: the access of a source that gives no answer stays for as long as people grant, at least since it went silent.
func (r *run) granted(p *process, c object.Change) string {
	source := r.planes[r.called(c.End.Link.Source)]
	if c.Key != account(c.End.Link.Source) || source == nil || !source.down || p.sides[source.name].Known() || r.forget[source.name] {
		return ""
	}
	if _, known := r.home[source.name]; known && r.now.Sub(source.silent) < r.grace {
		return fmt.Sprintf("(b) its source is silent for %s, and %s are granted", r.now.Sub(source.silent), r.grace)
	}
	return ""
}

// pendingFirst: before the last inventory that tells of a link goes, what a cluster that gives no answer still holds is written down.
func (r *run) pendingFirst(p *process, c object.Change) string {
	far := c.End.Link.Source
	if c.End.IsSource() {
		far = c.End.Link.Target
	}
	pl, known := r.planes[r.called(far)], false
	if _, known = r.home[far]; c.Action != object.Delete || c.End.IsBase() || pl == nil || !known || p.sides[far].Known() || r.forget[far] {
		return ""
	}
	if t := pl.things[inventoryKey(c.End.Link)]; t == nil || t.by != ours {
		return ""
	}
	for _, d := range r.pending[far] {
		if d.Link() == c.End.Link {
			return ""
		}
	}
	return fmt.Sprintf("(d) %s holds the other end, and nothing tells of that any more", far)
}

// succeeds: of a declared link no controller and no Linkerd Link goes before what takes its place stands, or stood when the
// process looked: nobody can know what others take away in the middle of a step.
func (c commit) succeeds(p *plane, seen object.Observation, ch object.Change) string {
	l, ok := c.of(ch.End.Link)
	if !ok || l.external || !ch.End.IsSource() || ch.Key.Kind != "Deployment" && ch.Key.Kind != "Link" {
		return ""
	}
	for _, k := range []object.Key{deployment(p.mc, ch.End.Link.Target), linkKey(p.mc, ch.End.Link.Target)} {
		if t := p.things[k]; k != ch.Key && c.clusters[p.name].mc() == p.mc && (t == nil || t.by != ours) && seen.Record(k).Mark != object.Ours {
			return "(b) it goes before " + k.String() + " stands, which takes its place"
		}
	}
	return ""
}

// linkTo is a Linkerd Link to a target, of others if there is one.
func (p *plane) linkTo(target api.ClusterName) *thing {
	a, b := p.things[linkKey(p.mc, target)], p.things[linkKey(mc, target)]
	if p.mc == mc {
		b = p.things[linkKey(other, target)]
	}
	if a == nil || b != nil && b.by == others {
		return b
	}
	return a
}

// behind reports whether something of ours lies in a former multicluster namespace.
func (p *plane) behind() bool {
	for _, t := range p.things {
		if t.by == ours && t.key.Namespace != p.mc && (t.key.Namespace == mc || t.key.Namespace == other) {
			return true
		}
	}
	return false
}

// runs reports whether a controller of a link is there.
func (p *plane) runs(target api.ClusterName) bool {
	return p.things[deployment(mc, target)] != nil || p.things[deployment(other, target)] != nil
}

// renderer brings in what an overlay would: kustomize is no part of a history.
type renderer struct{ plan.Renderer }

// Complete implements plan.Renderer.
func (r renderer) Complete(c fleet.Cluster, ends []object.Wanted) []object.Wanted {
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
