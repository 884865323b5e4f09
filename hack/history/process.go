package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// process is one process of linkwright. As in package sync, it reads, plans and writes.
type process struct {
	term         int64
	number       int
	commit       commit // the last that it loaded
	states       map[api.ClusterName]state.Cluster
	readFrom     map[api.ClusterName]readKey
	serverStates map[api.ClusterName]state.Cluster // what servers show
	step         plan.Step                         // from that

	adopts   map[api.Pair]bool // it is a command of people's, which adopts these links
	releases *state.Releasing  // or gives these up
	rotates  bool              // or asks for other tokens
}

// readKey is what a cluster state depends on: a read with the same key gives the same state.
type readKey struct {
	plane *simCluster
	rev   int
	fleet *fleet.Fleet
}

// fault is a fault during the writes of a step.
type fault struct {
	kind  string
	at    int    // number of writes before it
	seed  uint64 // of the order in which writes of one phase arrive
	act   *Event // of race
	hangs bool   // a race in place of a stall: others do the same
}

// Faults.
const (
	crash   = "crash"   // the process ends
	lost    = "lost"    // the response to one write is lost
	refused = "refused" // one write fails
	race    = "race"    // somebody else writes between two writes
	stall   = "stall"   // the process hangs while another one takes over, and then writes the rest
)

func newProcess(term int64) *process {
	return &process{term: term, states: map[api.ClusterName]state.Cluster{}, readFrom: map[api.ClusterName]readKey{}, serverStates: map[api.ClusterName]state.Cluster{}}
}

// departed are the clusters that the record names and nobody declares.
func (r *history) departed(f *fleet.Fleet) (out []fleet.Cluster) {
	for _, name := range slices.Sorted(maps.Keys(r.recordUIDs)) {
		if _, ok := f.Cluster(name); !ok {
			spec := api.Cluster{}.WithDefaults()
			if was, ok := r.specs[name]; ok {
				spec.Linkerd = was
			}
			out = append(out, fleet.Cluster{Name: name, Spec: spec})
		}
	}
	return out
}

// allClusters are the declared and the departed clusters.
func (r *history) allClusters(f *fleet.Fleet) []fleet.Cluster {
	return slices.Concat(f.Clusters, r.departed(f))
}

func (r *history) snapshot(p *process) state.Snapshot {
	w := state.Snapshot{
		Installation: object.Installation{Owner: owner},
		Declarations: state.Declarations{Fleet: p.commit.fleet, Departed: r.departed(p.commit.fleet)},
		Record:       state.Record{UIDs: r.recordUIDs, Pending: r.pending, Accepted: r.accepted, Guard: r.guard, Abandoned: r.abandoned},
		Options:      state.Options{UnreachableSourceTimeout: r.sourceTimeout},
		Process:      state.Process{Leadership: p.term},
		Takeover:     state.Takeover{Adopt: p.adopts, Release: p.releases},
		Clusters:     map[api.ClusterName]state.Cluster{}, Round: p.number, Now: r.now,
	}
	for _, c := range r.allClusters(p.commit.fleet) {
		w.Clusters[c.Name] = p.states[c.Name]
	}
	return w
}

// read reads a cluster by requests.
func (r *history) read(p *process, c fleet.Cluster) {
	pl := r.clusters[c.Name]
	now := readKey{pl, pl.changes, p.commit.fleet}
	if pl.down {
		p.states[c.Name] = state.Cluster{Err: object.Because(reason.Unreachable, "down")}
		delete(p.readFrom, c.Name)
		return
	}
	more := r.rotated && !r.hasReadTokens(p, c)
	r.readAgain = r.readAgain || more
	if side := p.states[c.Name]; p.readFrom[c.Name] == now && pl.missEvery == 0 && r.Servers == nil && !more {
		side.Round = p.number
		p.states[c.Name] = side
		return
	}
	w := r.snapshot(p)
	ledger := pl.observe(plan.InventoryWatches())
	watches, err := plan.Watches(w, c, r.renderer, ledger)
	if err != nil {
		p.states[c.Name] = state.Cluster{Err: object.Because(reason.InventoryInvalid, "%v", err)}
		delete(p.readFrom, c.Name)
		return
	}
	watches, whole := pl.miss(watches)
	observed := pl.observe(watches)
	if older := linkerd.OlderWatches(observed); len(older) > 0 { // asked for once it is known that today's are not served
		watches = append(watches, older...)
		observed = pl.observe(watches)
	}
	side := state.Cluster{Reading: state.Read, Watches: watches, Live: observed, Round: p.number}
	side.Facts = pl.facts(c.Spec, side.Live, whole)
	_, before := p.states[c.Name]
	if was, had := p.readFrom[c.Name]; before && (!had || was != now) {
		r.readAgain = true
	}
	p.states[c.Name], p.readFrom[c.Name] = side, now
	r.compareRead(p, pl, side, whole)
	if !whole {
		delete(p.readFrom, c.Name)
	}
}

// syncAll reconciles each cluster, beginning at one of them; the fault happens in the first step with enough writes.
func (r *history) syncAll(from int, f *fault) (writes int) {
	p := r.process
	p.number++
	p.commit = r.head
	all := r.allClusters(p.commit.fleet)
	clear(r.last)
	for i := range all {
		writes += r.reconcile(p, all[(i+from)%len(all)], f)
		if r.process != p || r.failure != "" {
			return writes + 1 // it crashed: there may be more to do
		}
	}
	return writes
}

// reconcileOne reconciles one cluster with the remembered states of the others.
func (r *history) reconcileOne(name api.ClusterName, f *fault) {
	p := r.process
	p.number++
	p.commit = r.head
	all := r.allClusters(p.commit.fleet)
	i := slices.IndexFunc(all, func(c fleet.Cluster) bool { return c.Name == name })
	r.reconcile(p, all[max(i, 0)], f)
}

// reconcile reads, plans and writes one cluster. It first reads clusters that were never read.
func (r *history) reconcile(p *process, c fleet.Cluster, f *fault) int {
	r.read(p, c)
	all := r.allClusters(p.commit.fleet)
	r.readUnknown(p, c, all)
	s := r.plan(p, c)
	for range 3 {
		if len(s.ReadFirst) == 0 {
			break
		}
		for _, other := range all {
			if slices.Contains(s.ReadFirst, other.Name) {
				r.read(p, other)
			}
		}
		s = r.plan(p, c)
	}
	if r.last[c.Name] = s; s.Writes() == 0 {
		r.recordJudgement(s.Judged)
		if r.removePending(c.Name, s.CleanedUp); s.Left() && p.releases == nil {
			delete(r.recordUIDs, c.Name)
			delete(r.pending, c.Name)
			r.guard.Retiring = maps.Clone(r.guard.Retiring)
			delete(r.guard.Retiring, c.Name)
			r.clusters[c.Name].abandoned = r.clusters[c.Name].abandoned || len(s.Rows) > 0 && s.Rows[0].Why != nil && s.Rows[0].Why.Code == reason.Abandoned
			r.clusters[c.Name].lastStep = s
			r.dropFormerName(c.Name)
		}
		return 0
	}
	r.checkStep(p, s)
	r.checkLimits(p, s)
	r.record(p, s)
	r.apply(p, s, f)
	if r.next != nil {
		r.process, r.next = r.next, nil
	}
	r.runControllers()
	if r.process == p {
		r.read(p, c)
	}
	return s.Writes()
}

// readUnknown reads clusters that were never read, and this one again if they need more of it.
func (r *history) readUnknown(p *process, c fleet.Cluster, all []fleet.Cluster) {
	for _, other := range all {
		if _, known := p.states[other.Name]; !known {
			r.read(p, other)
		}
	}
	if r.rotated && !r.hasReadTokens(p, c) {
		r.read(p, c)
	}
}

func (r *history) plan(p *process, c fleet.Cluster) plan.Step {
	s := plan.Next(r.snapshot(p), c.Name, r.renderer, plan.Suspend, plan.PrunePolicy)
	r.compareStep(p, c.Name, s, plan.Suspend, plan.PrunePolicy)
	return s
}

// record writes to the management cluster what package sync records before a step: the cluster's uid, and pending cleanups.
func (r *history) record(p *process, s plan.Step) {
	uid := p.states[s.Cluster].Facts.UID
	if was, known := r.recordUIDs[s.Cluster]; known && was != uid {
		delete(r.pending, s.Cluster)
	}
	r.recordUIDs[s.Cluster] = uid
	r.recordJudgement(s.Judged)
	if _, declared := p.commit.fleet.Cluster(s.Cluster); declared && r.guard.Retiring[s.Cluster] {
		r.guard.Retiring = maps.Clone(r.guard.Retiring)
		delete(r.guard.Retiring, s.Cluster)
	}
	if c, ok := p.commit.fleet.Cluster(s.Cluster); ok {
		r.specs[s.Cluster] = c.Spec.Linkerd
	}
	r.removePending(s.Cluster, s.CleanedUp)
	for _, end := range s.Pending {
		_, declared := p.commit.fleet.Cluster(end.Cluster)
		if _, known := r.recordUIDs[end.Cluster]; !known && !declared {
			continue
		}
		r.recordUIDs[end.Cluster] += "" // remembered, though it was not read yet
		r.pending[end.Cluster] = inventory.KnownCluster{Pending: r.pending[end.Cluster]}.AddPending(r.now, end.Link).Pending
	}
}

// removePending removes cleanups that are complete.
func (r *history) removePending(name api.ClusterName, paid []api.Pair) {
	if len(paid) > 0 {
		r.pending[name] = inventory.KnownCluster{Pending: r.pending[name]}.Without(paid).Pending
	}
}

// apply makes the writes of a step as package sync does: Ahead first; an end stops at its first failure, and after a failure of the
// base or the access namespace all stop. Concurrent writes arrive in any order.
func (r *history) apply(p *process, s plan.Step, f *fault) {
	a := applier{history: r, process: p, step: s, failed: map[object.End]bool{}}
	for _, c := range arrivalOrder(s, f) {
		if a.stopped || a.failed[c.End] {
			continue
		}
		if f != nil && a.done == f.at && f.kind != "" {
			if a.inject(f, c) {
				continue
			}
		}
		if r.write(p, c) != nil {
			a.fail(c)
		}
		if a.done++; r.failure != "" {
			return
		}
	}
	if f != nil && f.kind == crash && f.at <= a.done { // after the last write
		f.kind = ""
		r.restart()
	}
}

// applier applies one step.
type applier struct {
	*history
	process *process
	step    plan.Step
	failed  map[object.End]bool
	stopped bool
	done    int
}

func (a *applier) fail(c object.Change) {
	a.failed[c.End] = true
	a.stopped = a.stopped || isAhead(a.step, c) && c.End.IsBase()
}

// inject makes the fault happen at a change; true: the change is not written any more.
func (a *applier) inject(f *fault, c object.Change) bool {
	kind := f.kind
	f.kind = ""
	switch kind {
	case crash:
		a.stopped = true
		a.restart()
		return true
	case refused:
		a.fail(c)
		return true
	case lost:
		_ = a.write(a.process, c) // its response is lost
		a.fail(c)
		a.done++
		return true
	case race:
		a.hanging = f.hangs
		a.perform(*f.act)
		a.hanging = false
	case stall:
		a.hung, a.hanging = true, true
		a.perform(*f.act)
		a.takeover()
		a.hanging = false
	}
	return false
}

func isAhead(s plan.Step, c object.Change) bool {
	return slices.ContainsFunc(s.Ahead, func(a object.Change) bool { return a.Key == c.Key })
}

// arrivalOrder is the order in which the server gets the writes of a step.
func arrivalOrder(s plan.Step, f *fault) []object.Change {
	out := slices.Concat(s.Ahead, s.Changes, s.After)
	if f == nil || f.seed == 0 {
		return out
	}
	rng := rand.New(rand.NewPCG(f.seed, 0))
	for from := 0; from < len(out); {
		n := from + 1
		for n < len(out) && concurrent(s, out[from], out[n]) {
			n++
		}
		rng.Shuffle(n-from, func(i, j int) { out[from+i], out[from+j] = out[from+j], out[from+i] })
		from = n
	}
	return out
}

// concurrent reports whether two writes are sent at once.
func concurrent(s plan.Step, a, b object.Change) bool {
	if isAhead(s, a) || isAhead(s, b) {
		return isAhead(s, a) && isAhead(s, b) && !a.End.IsBase() && !b.End.IsBase()
	}
	return a.Object.Phase == b.Object.Phase && (a.Action == object.Delete) == (b.Action == object.Delete) && isInventory(a.Key) == isInventory(b.Key)
}

// write makes one change, and checks the promises if the server accepts it.
func (r *history) write(p *process, c object.Change) error {
	pl := r.clusters[r.currentName(c.End.Cluster)]
	was := pl.objects[c.Key]
	if pl.refuses(c, was) == nil {
		if why := r.checkWrite(p, c, was); why != "" {
			r.addBroken("%s of %s for %s in %s: %s", c.Action, c.Key, c.End, pl.name, why)
		}
	}
	err := pl.write(c, r.event)
	if _, declared := p.commit.of(c.End.Link); err == nil && declared {
		pl.noteEndedToken(c, was)
	}
	r.writes++
	r.compareWrite(p, pl, c, err)
	if r.Trace != nil {
		r.Trace(fmt.Sprintf("    %s: %s %s (%s) %v", pl.name, c.Action, c.Key, c.Why.Code, err))
	}
	return err
}

// restart begins a process without memory.
func (r *history) restart() { r.process = newProcess(r.process.term + 1) }

// takeover lets another process sync in the middle of a step of this one, which then continues.
func (r *history) takeover() {
	old := r.process
	r.process = newProcess(old.term + 1)
	r.syncAll(0, nil)
	r.next, r.process = r.process, old
}
