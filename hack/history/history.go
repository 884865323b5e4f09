// Package history plays random histories – commits, acts of others, clusters that go and come, crashes after any write – on the
// planner and its own simulator, and holds every write and every rest to what linkwright promises:
//
//	(a) nothing that is not ours is ever deleted, or written over
//	(b) nothing declared, held, kept or suspended is ever deleted
//	(c) a crash at any write, followed by a restart, converges to the same state
//	(d) what is no longer declared is gone on both ends, mirrors included, or a row says why not
//
// Who made an object is what happened here, never what the code under test concludes.
package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// Player plays histories one after the other, and remembers what is the same in all. It is not for several goroutines.
type Player struct {
	Trace    func(string) // what happens, line by line; nil: nobody listens
	Writes   int          // that were done so far
	Servers  []Server     // beside the first clusters of each history; nil: all is in memory
	renderer plan.Renderer
	loader   loader
	ideals   map[string]map[api.ClusterName][]string
}

// New makes a Player.
func New() *Player {
	return &Player{renderer: renderer{render.New(owner)}, loader: loader{known: map[string]*fleet.Fleet{}}, ideals: map[string]map[api.ClusterName][]string{}}
}

// Play plays a history to its end, and gives the promise that was broken, or nothing.
func (p *Player) Play(events []Event) string {
	r := &run{Player: p, event: 1}
	r.begin(worlds()[0])
	for _, e := range events {
		r.event++
		r.trace(e.String())
		if r.do(e); r.broken != "" {
			break
		}
	}
	if r.event++; r.broken == "" {
		r.end()
	}
	r.leave()
	p.Writes += r.writes
	return r.broken
}

// run is one history.
type run struct {
	*Player
	planes        map[api.ClusterName]*plane
	home          map[api.ClusterName]string              // the record of clusters: their uids
	pending       map[api.ClusterName][]inventory.Pending // of the record
	guard         state.Guard                             // of the record; replaced, never changed in place
	accepted      map[api.ClusterName]string
	head          commit
	process, next *process // next: one that took over from a process that hangs
	last          map[api.ClusterName]plan.Step
	now           time.Time
	event, writes int
	rebuilt       bool
	news          bool // a cluster was not as it was read last: who had his turn by then has not seen it
	hung, hangs   bool // a process hung, and wrote late; it hangs now
	forked        bool // it is played beside another, to be compared
	rotated       bool // a link got another token
	grace         time.Duration
	forget        map[api.ClusterName]bool
	specs         map[api.ClusterName]api.Linkerd     // of the record
	former        map[api.ClusterName]api.ClusterName // names that clusters had, with those that they have
	broken        string
}

func (r *run) trace(line string) {
	if r.Trace != nil {
		r.Trace(line)
	}
}

// begin makes clusters that nothing was written to.
func (r *run) begin(names []api.ClusterName) {
	r.planes, r.home, r.accepted = map[api.ClusterName]*plane{}, map[api.ClusterName]string{}, map[api.ClusterName]string{}
	r.guard = state.Guard{Retiring: map[api.ClusterName]bool{}}
	r.head = commit{clusters: map[api.ClusterName]cluster{}, seconds: map[api.ClusterName]api.ClusterName{}, links: map[api.Pair]link{}, policy: api.PruneSync}
	r.pending, r.former = map[api.ClusterName][]inventory.Pending{}, map[api.ClusterName]api.ClusterName{}
	r.grace, r.forget, r.specs = day, map[api.ClusterName]bool{}, map[api.ClusterName]api.Linkerd{}
	r.last, r.now, r.process = map[api.ClusterName]plan.Step{}, time.Unix(1_800_000_000, 0).UTC(), newProcess(1)
	for i, name := range names {
		r.planes[name] = build(name, string(name), i)
		if i < len(r.Servers) {
			r.twin(r.planes[name], r.Servers[i])
		}
		r.head.clusters[name] = cluster{}
	}
	r.commit(r.head)
}

// commit puts a commit in force; one that declares no cluster is no fleet, and never gets so far.
func (r *run) commit(c commit) {
	if len(c.clusters) == 0 {
		return
	}
	c.number = r.head.number + 1
	loaded, err := r.loader.load(c)
	must(err)
	r.head = loaded
	for name, pl := range r.planes {
		at, declared := c.clusters[name]
		pl.stays, pl.declares = declared && !at.leaving, func(k object.Key) bool { _, wanted := loaded.wants(name, k); return wanted }
		if declared {
			pl.mc, pl.given = at.mc(), false
		}
	}
}

// play lets Kubernetes and Linkerd do what they do by themselves.
func (r *run) play() {
	reachable := func(name api.ClusterName) bool {
		name = r.called(name)
		return r.planes[name] != nil && !r.planes[name].down
	}
	for _, name := range slices.Sorted(maps.Keys(r.planes)) {
		r.planes[name].kubernetes()
		r.planes[name].linkerd(reachable)
	}
}

// soon is more passes than anything takes that goes on by itself.
const soon = 40

// settle gives passes until nobody writes.
func (r *run) settle(f *fault) {
	rested := false
	for range soon {
		r.news = false
		writes := r.pass(0, f)
		r.play()
		if writes == 0 && (rested || !r.news) || r.broken != "" {
			return
		}
		rested = writes == 0
	}
	r.breaks("(c) it comes to no rest%s", r.rows())
}

// calm is settle, over all that takes time.
func (r *run) calm() {
	for range 4 {
		if r.settle(nil); r.broken != "" || !r.waits() {
			return
		}
		r.now = r.now.Add(13 * time.Hour)
	}
}

// waits reports whether something may go on by the time alone.
func (r *run) waits() bool {
	for _, s := range r.last {
		if s.Denied != nil || !s.Again.IsZero() || !s.Retry.IsZero() || slices.ContainsFunc(s.Rows, func(row plan.Row) bool { return row.Phase == plan.Waiting }) {
			return true
		}
	}
	return false
}

// end lets a history end in peace, and looks at what it left: as it is, once what stands in the way is gone, and once nothing
// is declared any more.
func (r *run) end() {
	r.trace("# quiet")
	r.quiet()
	if r.calm(); r.broken != "" {
		return
	}
	if r.rest(); r.broken != "" {
		return
	}
	r.trace("# heal")
	r.heal()
	if r.calm(); r.broken != "" {
		return
	}
	for range 3 { // what controllers made is told of once nothing else is left of its link
		if moved := r.putBack(); !r.tidy() && !moved {
			break
		}
		if r.calm(); r.broken != "" {
			return
		}
	}
	r.rest()
	r.strict()
	if r.broken != "" {
		return
	}
	r.trace("# farewell")
	bare := r.head.clone()
	clear(bare.links)
	bare.mesh = nil
	r.commit(bare)
	if r.calm(); r.broken != "" {
		return
	}
	r.rest()
	r.strict()
}

// quiet ends all that is wrong with clusters, and lets finalizers go.
func (r *run) quiet() {
	for _, pl := range r.planes {
		pl.down, pl.late, pl.idle, pl.noCRD, pl.half = false, false, false, false, 0
		clear(pl.lagging)
		for _, t := range pl.all() {
			if t.hung && t.rec.Going {
				pl.drop(t.key)
			} else if t.hung {
				next := *t
				next.hung = false
				pl.put(&next)
			}
		}
	}
	r.play()
}

// heal is what people do with what rows tell of: they remove what stands in the way, and allow what is refused.
func (r *run) heal() {
	for _, name := range slices.Sorted(maps.Keys(r.planes)) {
		pl := r.planes[name]
		for _, t := range pl.all() {
			switch {
			case t.by == others && !t.dressing && t.key.Namespace != shop, isInventory(t.key) && !readable(t):
				pl.drop(t.key)
			case t.rec.Keep:
				pl.keep(t, 0)
			}
		}
		if _, declared := r.head.clusters[name]; declared || r.home[name] != "" {
			r.accepted[name] = pl.uid
		}
	}
	c := r.head.clone()
	c.policy, c.bounded = api.PruneSync, false
	clear(r.forget)
	for name, at := range c.clusters {
		at.suspend = false
		c.clusters[name] = at
	}
	for p, l := range c.links {
		l.suspend = false
		c.links[p] = l
	}
	if c.mesh != nil {
		mesh := *c.mesh
		mesh.suspend = false
		c.mesh = &mesh
	}
	r.commit(c)
	r.approve(0)
	r.play()
}

// putBack declares the namespaces that a cluster had, where it is refused for others. It says whether there was any.
func (r *run) putBack() (did bool) {
	c := r.head.clone()
	for name, at := range c.clusters {
		if why := r.last[name].Denied; why != nil && why.Code == reason.NamespaceChanged {
			at.moved, did = !at.moved, true
			c.clusters[name] = at
		}
	}
	if did {
		r.commit(c)
	}
	return did
}

// tidy is what people do with orphans that reports name: they delete them. It says whether there were any. What controllers made for a
// link is among them where its inventory was lost and nobody knows its target any more (seeds 70043020, 71006824).
func (r *run) tidy() (did bool) {
	for _, name := range slices.Sorted(maps.Keys(r.planes)) {
		pl := r.planes[name]
		for _, t := range pl.all() {
			left := t.by == ours && t.rec.Mark == object.Ours && !isInventory(t.key) && t.key != baseKey() && r.orphan(name, t)
			if left || t.by == mirroring && r.unknown(pl, t) {
				pl.drop(t.key)
				did = true
			}
		}
		for _, m := range members(pl.things[federatedKey()]) {
			if target := memberOf(m); r.untold(api.Pair{Source: name, Target: target}) && r.stray(name, federatedKey()) {
				did = pl.member(target, false) || did
			}
		}
	}
	return did
}

// unknown reports whether a report names what a controller made for a link of which nothing tells any more.
func (r *run) unknown(pl *plane, t *thing) bool {
	return t.key != federatedKey() && t.target != "" && r.untold(api.Pair{Source: pl.name, Target: t.target}) && r.stray(pl.name, t.key)
}

// strict: nothing stands in the way of anything, so that all is as if nothing had ever happened but the last commit.
func (r *run) strict() {
	waits := r.resolves()
	for name, s := range r.last {
		for _, row := range s.Rows {
			if r.resolved(row) || waits && row.End.IsBase() && row.Why != nil && row.Why.Code == reason.WaitingForLinks {
				continue
			}
			if row.Phase != plan.Ready && row.Phase != plan.Removed {
				r.breaks("(c) nothing stands in its way, and %s is %s: %v%s", row.End, row.Phase, row.Why, r.rows())
			}
		}
		if s.Denied != nil {
			r.breaks("(c) nothing stands in its way, and %s is refused: %s", name, s.Denied.Message)
		}
	}
	r.current()
	if r.broken == "" && !waits && !r.rebuilt && r.Servers == nil {
		r.alike()
	}
}

// resolves reports whether some end waits for a controller that nobody runs.
func (r *run) resolves() bool {
	for _, s := range r.last {
		if slices.ContainsFunc(s.Rows, r.resolved) {
			return true
		}
	}
	return false
}

// alike holds what of ours is left to what there would be if nothing had ever happened.
func (r *run) alike() {
	for name, want := range r.ideal() {
		if r.planes[name].given {
			continue
		}
		got := r.planes[name].ours()
		if r.rotated {
			want, got = plain(want), plain(got)
		}
		if !slices.Equal(want, got) {
			r.breaks("(c) %s ended otherwise than without any faults: want\n  %s\ngot\n  %s", name, strings.Join(want, "\n  "), strings.Join(got, "\n  "))
		}
	}
}

// resolved: who declares that others run a controller which nobody runs has nobody who takes mirrors away, and the credential
// by which they are resolved stays until somebody does; so does all that lies in a former multicluster namespace.
func (r *run) resolved(row plan.Row) bool {
	link := r.today(row.End.Link)
	l, _ := r.head.of(link)
	if link != row.End.Link {
		return l.external && row.Phase == plan.Waiting && row.Why.Code == reason.WaitingForReplacement
	}
	return l.external && row.End.IsSource() && row.Phase == plan.Waiting &&
		(row.Why.Code == reason.Waiting || row.Why.Code == reason.WaitingForReplacement)
}

// ours lists what of ours is in a cluster, but the base, which tells of a commit.
func (p *plane) ours() (out []string) {
	for _, t := range p.all() {
		if t.rec.Mark == object.Ours && t.key != baseKey() && t.key.Kind != "Namespace" && !p.lost(t) {
			out = append(out, fmt.Sprintf("%s %x", t.key, t.content()))
		}
	}
	return out
}

// ideal is what the head alone gives on clusters that nothing ever happened to.
func (r *run) ideal() map[api.ClusterName][]string {
	var names, born []api.ClusterName
	for _, name := range slices.Sorted(maps.Keys(r.planes)) {
		if pl := r.planes[name]; pl.name == name {
			names, born = append(names, name), append(born, pl.born)
		}
	}
	text := fmt.Sprint(names, r.head.text())
	if known := r.ideals[text]; known != nil {
		return known
	}
	still := &run{Player: &Player{renderer: r.renderer, loader: r.loader, ideals: r.ideals}, event: 1}
	still.begin(names)
	for i, name := range names {
		still.planes[name] = build(born[i], string(born[i]), r.planes[name].at)
		still.planes[name].name = name
	}
	still.commit(r.head)
	if still.calm(); still.broken != "" {
		r.breaks("without any faults: %s", still.broken)
	}
	out := map[api.ClusterName][]string{}
	for name, pl := range still.planes {
		out[name] = pl.ours()
	}
	if len(r.ideals) > most {
		clear(r.ideals)
	}
	r.ideals[text] = out
	return out
}
