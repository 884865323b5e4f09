// Package history plays random histories on the planner and a simulator: commits, writes of others, clusters that go and come, and
// crashes after any write. It checks every write and every final state against linkwright's promises:
//
//	(a) linkwright never deletes or overwrites an object that is not its own
//	(b) linkwright never deletes what is declared, blocked, protected or suspended
//	(c) after a crash at any write and a restart, it reaches the same state
//	(d) what is no longer declared is gone on both ends, mirrors included, or a row gives the reason
//
// The simulator knows who made an object; it does not ask the code under test.
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

// Player plays histories one after the other, and caches what they share. It is not safe for concurrent use.
type Player struct {
	Trace       func(string) // called with each event and write; may be nil
	Writes      int          // number of writes so far
	Servers     []Server     // real API servers to compare the first clusters of each history with; nil: none
	renderer    plan.Renderer
	loader      loader
	idealStates map[string]map[api.ClusterName][]string
}

// New makes a Player.
func New() *Player {
	return &Player{renderer: renderer{render.New(owner)}, loader: loader{cached: map[string]*fleet.Fleet{}}, idealStates: map[string]map[api.ClusterName][]string{}}
}

// Play plays a history to its end, and returns the broken promise, or an empty string.
func (p *Player) Play(events []Event) string {
	r := &history{Player: p, event: 1}
	r.begin(clusterSets()[0])
	for _, e := range events {
		r.event++
		r.trace(e.String())
		if r.perform(e); r.failure != "" {
			break
		}
	}
	if r.event++; r.failure == "" {
		r.finish()
	}
	r.cleanServers()
	p.Writes += r.writes
	return r.failure
}

// history is one history.
type history struct {
	*Player
	clusters      map[api.ClusterName]*simCluster
	recordUIDs    map[api.ClusterName]string              // the record of clusters: their uids
	pending       map[api.ClusterName][]inventory.Pending // of the record
	guard         state.Guard                             // of the record; replaced, never changed in place
	accepted      map[api.ClusterName]string
	head          commit
	process, next *process // next: one that took over from a process that hangs
	last          map[api.ClusterName]plan.Step
	now           time.Time
	event, writes int
	rebuilt       bool
	readAgain     bool // a cluster was not as it was read last: who had his turn by then has not seen it
	hung, hanging bool // a process hung, and wrote late; it hangs now
	forked        bool // it is played beside another, to be compared
	rotated       bool // a link got another token
	sourceTimeout time.Duration
	abandoned     map[api.ClusterName]bool
	specs         map[api.ClusterName]api.Linkerd     // of the record
	former        map[api.ClusterName]api.ClusterName // names that clusters had, with those that they have
	failure       string
}

func (r *history) trace(line string) {
	if r.Trace != nil {
		r.Trace(line)
	}
}

// begin makes clusters without any objects of linkwright.
func (r *history) begin(names []api.ClusterName) {
	r.clusters, r.recordUIDs, r.accepted = map[api.ClusterName]*simCluster{}, map[api.ClusterName]string{}, map[api.ClusterName]string{}
	r.guard = state.Guard{Retiring: map[api.ClusterName]bool{}}
	r.head = commit{clusters: map[api.ClusterName]declaredCluster{}, secondNames: map[api.ClusterName]api.ClusterName{}, links: map[api.Pair]declaredLink{}, policy: api.PruneSync}
	r.pending, r.former = map[api.ClusterName][]inventory.Pending{}, map[api.ClusterName]api.ClusterName{}
	r.sourceTimeout, r.abandoned, r.specs = day, map[api.ClusterName]bool{}, map[api.ClusterName]api.Linkerd{}
	r.last, r.now, r.process = map[api.ClusterName]plan.Step{}, time.Unix(1_800_000_000, 0).UTC(), newProcess(1)
	for i, name := range names {
		r.clusters[name] = build(name, string(name), i)
		if i < len(r.Servers) {
			r.attachServer(r.clusters[name], r.Servers[i])
		}
		r.head.clusters[name] = declaredCluster{}
	}
	r.commit(r.head)
}

// commit makes a commit the head. It ignores one without clusters, which linkwright never applies.
func (r *history) commit(c commit) {
	if len(c.clusters) == 0 {
		return
	}
	c.number = r.head.number + 1
	loaded, err := r.loader.load(c)
	must(err)
	r.head = loaded
	for name, pl := range r.clusters {
		at, declared := c.clusters[name]
		pl.isDeclared, pl.isDesired = declared && !at.leaving, func(k object.Key) bool { _, wanted := loaded.neededBy(name, k); return wanted }
		if declared {
			pl.mc, pl.abandoned = at.mc(), false
		}
	}
}

// runControllers runs the controllers of Kubernetes and Linkerd in all clusters.
func (r *history) runControllers() {
	reachable := func(name api.ClusterName) bool {
		name = r.currentName(name)
		return r.clusters[name] != nil && !r.clusters[name].down
	}
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		r.clusters[name].runTokenController()
		r.clusters[name].runMirrorControllers(reachable)
	}
}

// maxPasses is more syncs than anything takes that continues by itself.
const maxPasses = 40

// reconcileUntilIdle syncs until nothing is written.
func (r *history) reconcileUntilIdle(f *fault) {
	rested := false
	for range maxPasses {
		r.readAgain = false
		writes := r.syncAll(0, f)
		r.runControllers()
		if writes == 0 && (rested || !r.readAgain) || r.failure != "" {
			return
		}
		rested = writes == 0
	}
	r.addBroken("(c) it comes to no rest%s", r.unreadyRows())
}

// settle is reconcileUntilIdle, and lets time pass for what waits for it.
func (r *history) settle() {
	for range 4 {
		if r.reconcileUntilIdle(nil); r.failure != "" || !r.waitsForTime() {
			return
		}
		r.now = r.now.Add(13 * time.Hour)
	}
}

// waitsForTime reports whether something may continue when time passes.
func (r *history) waitsForTime() bool {
	for _, s := range r.last {
		if s.Denied != nil || !s.PlanAgain.IsZero() || !s.Retry.IsZero() || slices.ContainsFunc(s.Rows, func(row plan.Row) bool { return row.Phase == plan.Waiting }) {
			return true
		}
	}
	return false
}

// finish ends a history and checks its final state three times: after faults end, after people repair what rows report, and after
// all links are removed.
func (r *history) finish() {
	r.trace("# quiet")
	r.endFaults()
	if r.settle(); r.failure != "" {
		return
	}
	if r.checkAtRest(); r.failure != "" {
		return
	}
	r.trace("# heal")
	r.repair()
	if r.settle(); r.failure != "" {
		return
	}
	for range 3 { // what controllers made is told of once nothing else is left of its link
		if moved := r.restoreNamespaces(); !r.deleteOrphans() && !moved {
			break
		}
		if r.settle(); r.failure != "" {
			return
		}
	}
	r.checkAtRest()
	r.checkComplete()
	if r.failure != "" {
		return
	}
	r.trace("# farewell")
	bare := r.head.clone()
	clear(bare.links)
	bare.mesh = nil
	r.commit(bare)
	if r.settle(); r.failure != "" {
		return
	}
	r.checkAtRest()
	r.checkComplete()
}

// endFaults ends all faults of clusters, and removes finalizers.
func (r *history) endFaults() {
	for _, pl := range r.clusters {
		pl.down, pl.late, pl.idle, pl.noCRD, pl.missEvery = false, false, false, false, 0
		clear(pl.lagging)
		for _, t := range pl.all() {
			if t.hasFinalizer && t.rec.Terminating {
				pl.drop(t.key)
			} else if t.hasFinalizer {
				next := *t
				next.hasFinalizer = false
				pl.put(&next)
			}
		}
	}
	r.runControllers()
}

// repair does what people do about rows: it removes conflicting objects, and allows what is denied.
func (r *history) repair() {
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		pl := r.clusters[name]
		for _, t := range pl.all() {
			switch {
			case t.madeBy == byOthers && !t.ofLinkerd && t.key.Namespace != shop, isInventory(t.key) && !readable(t):
				pl.drop(t.key)
			case t.rec.PruneDisabled:
				pl.protect(t, 0)
			}
		}
		if _, declared := r.head.clusters[name]; declared || r.recordUIDs[name] != "" {
			r.accepted[name] = pl.uid
		}
	}
	c := r.head.clone()
	c.policy, c.hasLimits = api.PruneSync, false
	clear(r.abandoned)
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
	r.runControllers()
}

// restoreNamespaces declares the former namespaces of clusters that are denied because of changed ones. It reports whether there were any.
func (r *history) restoreNamespaces() (did bool) {
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

// deleteOrphans deletes orphans that reports name, as people do. It reports whether there were any. Mirrors of a link are among
// them if its inventory was lost and its target is unknown (seeds 70043020, 71006824).
func (r *history) deleteOrphans() (did bool) {
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		pl := r.clusters[name]
		for _, t := range pl.all() {
			left := t.madeBy == byLinkwright && t.rec.Mark == object.Ours && !isInventory(t.key) && t.key != baseKey() && r.isOrphan(name, t)
			if left || t.madeBy == byLinkerd && r.isReportedMirror(pl, t) {
				pl.drop(t.key)
				did = true
			}
		}
		for _, m := range members(pl.objects[federatedKey()]) {
			if target := memberOf(m); r.isUntrackedLink(api.Pair{Source: name, Target: target}) && r.reportedAsOrphan(name, federatedKey()) {
				did = pl.setMember(target, false) || did
			}
		}
	}
	return did
}

// isReportedMirror reports whether a report names an object that a controller made for an untracked link.
func (r *history) isReportedMirror(pl *simCluster, t *simObject) bool {
	return t.key != federatedKey() && t.target != "" && r.isUntrackedLink(api.Pair{Source: pl.name, Target: t.target}) && r.reportedAsOrphan(pl.name, t.key)
}

// checkComplete checks that everything is ready, and as if nothing but the last commit had ever happened.
func (r *history) checkComplete() {
	waits := r.anyWaitsForExternal()
	for name, s := range r.last {
		for _, row := range s.Rows {
			if r.waitsForExternal(row) || waits && row.End.IsBase() && row.Why != nil && row.Why.Code == reason.WaitingForLinks {
				continue
			}
			if row.Phase != plan.Ready && row.Phase != plan.Removed && row.Phase != plan.Released {
				r.addBroken("(c) nothing stands in its way, and %s is %s: %v%s", row.End, row.Phase, row.Why, r.unreadyRows())
			}
		}
		if s.Denied != nil {
			r.addBroken("(c) nothing stands in its way, and %s is refused: %s", name, s.Denied.Message)
		}
	}
	r.checkTokens()
	if r.failure == "" && !waits && !r.rebuilt && r.Servers == nil {
		r.compareWithIdeal()
	}
}

// anyWaitsForExternal reports whether an end waits for an External controller that nobody runs.
func (r *history) anyWaitsForExternal() bool {
	for _, s := range r.last {
		if slices.ContainsFunc(s.Rows, r.waitsForExternal) {
			return true
		}
	}
	return false
}

// compareWithIdeal compares linkwright's objects with those of an undisturbed history.
func (r *history) compareWithIdeal() {
	for name, want := range r.idealState() {
		if r.clusters[name].abandoned {
			continue
		}
		got := r.clusters[name].ownObjects()
		if r.rotated {
			want, got = withoutTokenNumbers(want), withoutTokenNumbers(got)
		}
		if !slices.Equal(want, got) {
			r.addBroken("(c) %s ended otherwise than without any faults: want\n  %s\ngot\n  %s", name, strings.Join(want, "\n  "), strings.Join(got, "\n  "))
		}
	}
}

// waitsForExternal reports whether an end waits for an External controller that nobody runs: nobody removes its mirrors, so their
// credential stays, and so do objects in a former multicluster namespace.
func (r *history) waitsForExternal(row plan.Row) bool {
	link := r.currentPair(row.End.Link)
	l, _ := r.head.of(link)
	if link != row.End.Link {
		return l.external && row.Phase == plan.Waiting && row.Why.Code == reason.WaitingForReplacement
	}
	return l.external && row.End.IsSource() && row.Phase == plan.Waiting &&
		(row.Why.Code == reason.Waiting || row.Why.Code == reason.WaitingForReplacement)
}

// ownObjects lists linkwright's objects in a cluster, except the base, which names a commit.
func (p *simCluster) ownObjects() (out []string) {
	for _, t := range p.all() {
		if t.rec.Mark == object.Ours && t.key != baseKey() && t.key.Kind != "Namespace" && !p.isUntracked(t) {
			out = append(out, fmt.Sprintf("%s %x", t.key, t.digest()))
		}
	}
	return out
}

// idealState are linkwright's objects after the head alone on new clusters.
func (r *history) idealState() map[api.ClusterName][]string {
	var names, born []api.ClusterName
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		if pl := r.clusters[name]; pl.name == name {
			names, born = append(names, name), append(born, pl.originalName)
		}
	}
	text := fmt.Sprint(names, r.head.text())
	if cached := r.idealStates[text]; cached != nil {
		return cached
	}
	undisturbed := &history{Player: &Player{renderer: r.renderer, loader: r.loader, idealStates: r.idealStates}, event: 1}
	undisturbed.begin(names)
	for i, name := range names {
		undisturbed.clusters[name] = build(born[i], string(born[i]), r.clusters[name].index)
		undisturbed.clusters[name].name = name
	}
	undisturbed.commit(r.head)
	if undisturbed.settle(); undisturbed.failure != "" {
		r.addBroken("without any faults: %s", undisturbed.failure)
	}
	out := map[api.ClusterName][]string{}
	for name, pl := range undisturbed.clusters {
		out[name] = pl.ownObjects()
	}
	if len(r.idealStates) > maxLoaded {
		clear(r.idealStates)
	}
	r.idealStates[text] = out
	return out
}
