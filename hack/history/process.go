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

// process is one run of linkwright: what it remembers dies with it. Its turns follow sync's: read, plan, write.
type process struct {
	term   int64
	pass   int
	commit commit // that it has seen last
	sides  map[api.ClusterName]state.Cluster
	seen   map[api.ClusterName]looked
	real   map[api.ClusterName]state.Cluster // what servers show
	step   plan.Step                         // from that

	adopts   map[api.Pair]bool // it is a command of people's, which adopts these links
	releases *state.Releasing  // or gives these up
	asks     bool              // or asks for other tokens
}

// looked is what a side was read from: the same gives the same.
type looked struct {
	plane *plane
	rev   int
	fleet *fleet.Fleet
}

// fault is what befalls the writes of a turn.
type fault struct {
	kind  string
	at    int    // how many writes are done before it happens
	seed  uint64 // of the order in which writes of one phase arrive
	act   *Event // of race
	hangs bool   // a race that stands for a stall: others do the same
}

// Faults of a turn.
const (
	crash   = "crash"   // the process ends
	lost    = "lost"    // one write is done, and its answer is not heard
	refused = "refused" // one write is not done
	race    = "race"    // somebody else does something between two writes
	stall   = "stall"   // the process hangs while another one takes over, and then writes the rest
)

func newProcess(term int64) *process {
	return &process{term: term, sides: map[api.ClusterName]state.Cluster{}, seen: map[api.ClusterName]looked{}, real: map[api.ClusterName]state.Cluster{}}
}

// departed are the clusters that the home record names and nobody declares.
func (r *run) departed(f *fleet.Fleet) (out []fleet.Cluster) {
	for _, name := range slices.Sorted(maps.Keys(r.home)) {
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

// clusters are all that a process has to do with.
func (r *run) clusters(f *fleet.Fleet) []fleet.Cluster {
	return slices.Concat(f.Clusters, r.departed(f))
}

func (r *run) world(p *process) state.Snapshot {
	w := state.Snapshot{
		Installation: object.Installation{Owner: owner},
		Declarations: state.Declarations{Fleet: p.commit.fleet, Departed: r.departed(p.commit.fleet)},
		Record:       state.Record{UIDs: r.home, Pending: r.pending, Accepted: r.accepted, Guard: r.guard, Forget: r.forget},
		Options:      state.Options{Grace: r.grace},
		Process:      state.Process{Term: p.term},
		Takeover:     state.Takeover{Adopt: p.adopts, Release: p.releases},
		Clusters:     map[api.ClusterName]state.Cluster{}, Pass: p.pass, Now: r.now,
	}
	for _, c := range r.clusters(p.commit.fleet) {
		w.Clusters[c.Name] = p.sides[c.Name]
	}
	return w
}

// read looks at a cluster by requests of this pass.
func (r *run) read(p *process, c fleet.Cluster) {
	pl := r.planes[c.Name]
	now := looked{pl, pl.rev, p.commit.fleet}
	if pl.down {
		p.sides[c.Name] = state.Cluster{Err: object.Because(reason.Unreachable, "down")}
		delete(p.seen, c.Name)
		return
	}
	more := r.rotated && !r.sees(p, c)
	r.news = r.news || more
	if side := p.sides[c.Name]; p.seen[c.Name] == now && pl.half == 0 && r.Servers == nil && !more {
		side.Pass = p.pass
		p.sides[c.Name] = side
		return
	}
	w := r.world(p)
	ledger := pl.observe(plan.Ledger())
	watches, err := plan.Watches(w, c, r.renderer, ledger)
	if err != nil {
		p.sides[c.Name] = state.Cluster{Err: object.Because(reason.InventoryInvalid, "%v", err)}
		delete(p.seen, c.Name)
		return
	}
	watches, whole := pl.miss(watches)
	seen := pl.observe(watches)
	if older := linkerd.OlderWatches(seen); len(older) > 0 { // asked for once it is known that today's are not served
		watches = append(watches, older...)
		seen = pl.observe(watches)
	}
	side := state.Cluster{Reading: state.Read, Looked: watches, Seen: seen, Pass: p.pass}
	side.Facts = pl.facts(c.Spec, side.Seen, whole)
	_, before := p.sides[c.Name]
	if was, had := p.seen[c.Name]; before && (!had || was != now) {
		r.news = true
	}
	p.sides[c.Name], p.seen[c.Name] = side, now
	r.beside(p, pl, side, whole)
	if !whole {
		delete(p.seen, c.Name)
	}
}

// pass gives each cluster a turn, beginning somewhere; the fault befalls the first turn that writes enough.
func (r *run) pass(from int, f *fault) (writes int) {
	p := r.process
	p.pass++
	p.commit = r.head
	all := r.clusters(p.commit.fleet)
	clear(r.last)
	for i := range all {
		writes += r.turn(p, all[(i+from)%len(all)], f)
		if r.process != p || r.broken != "" {
			return writes + 1 // it crashed: there may be more to do
		}
	}
	return writes
}

// single gives one cluster a turn on what is remembered of the others.
func (r *run) single(name api.ClusterName, f *fault) {
	p := r.process
	p.pass++
	p.commit = r.head
	all := r.clusters(p.commit.fleet)
	i := slices.IndexFunc(all, func(c fleet.Cluster) bool { return c.Name == name })
	r.turn(p, all[max(i, 0)], f)
}

// turn reads, plans and writes one cluster. What was never read is read first.
func (r *run) turn(p *process, c fleet.Cluster, f *fault) int {
	r.read(p, c)
	all := r.clusters(p.commit.fleet)
	r.meet(p, c, all)
	s := r.plan(p, c)
	for range 3 {
		if len(s.Look) == 0 {
			break
		}
		for _, other := range all {
			if slices.Contains(s.Look, other.Name) {
				r.read(p, other)
			}
		}
		s = r.plan(p, c)
	}
	if r.last[c.Name] = s; s.Writes() == 0 {
		r.judged(s.Judged)
		if r.settles(c.Name, s.CleanedUp); s.Left() && p.releases == nil {
			delete(r.home, c.Name)
			delete(r.pending, c.Name)
			r.guard.Retiring = maps.Clone(r.guard.Retiring)
			delete(r.guard.Retiring, c.Name)
			r.planes[c.Name].given = r.planes[c.Name].given || len(s.Rows) > 0 && s.Rows[0].Why != nil && s.Rows[0].Why.Code == reason.Abandoned
			r.planes[c.Name].parting = s
			r.struckOff(c.Name)
		}
		return 0
	}
	r.check(p, s)
	r.bounded(p, s)
	r.remember(p, s)
	r.act(p, s, f)
	if r.next != nil {
		r.process, r.next = r.next, nil
	}
	r.play()
	if r.process == p {
		r.read(p, c)
	}
	return s.Writes()
}

// meet reads clusters that were never read, and this one again where they ask for more.
func (r *run) meet(p *process, c fleet.Cluster, all []fleet.Cluster) {
	for _, other := range all {
		if _, known := p.sides[other.Name]; !known {
			r.read(p, other)
		}
	}
	if r.rotated && !r.sees(p, c) {
		r.read(p, c)
	}
}

func (r *run) plan(p *process, c fleet.Cluster) plan.Step {
	s := plan.Next(r.world(p), c.Name, r.renderer, plan.Suspend, plan.PrunePolicy)
	r.same(p, c.Name, s, plan.Suspend, plan.PrunePolicy)
	return s
}

// remember writes down in the management cluster what sync does before a step: which cluster that is, and which cleanups are pending after it.
func (r *run) remember(p *process, s plan.Step) {
	uid := p.sides[s.Cluster].Facts.UID
	if was, known := r.home[s.Cluster]; known && was != uid {
		delete(r.pending, s.Cluster)
	}
	r.home[s.Cluster] = uid
	r.judged(s.Judged)
	if _, declared := p.commit.fleet.Cluster(s.Cluster); declared && r.guard.Retiring[s.Cluster] {
		r.guard.Retiring = maps.Clone(r.guard.Retiring)
		delete(r.guard.Retiring, s.Cluster)
	}
	if c, ok := p.commit.fleet.Cluster(s.Cluster); ok {
		r.specs[s.Cluster] = c.Spec.Linkerd
	}
	r.settles(s.Cluster, s.CleanedUp)
	for _, end := range s.Pending {
		_, declared := p.commit.fleet.Cluster(end.Cluster)
		if _, known := r.home[end.Cluster]; !known && !declared {
			continue
		}
		r.home[end.Cluster] += "" // remembered, though it was not read yet
		r.pending[end.Cluster] = inventory.Known{Pending: r.pending[end.Cluster]}.AddPending(r.now, end.Link).Pending
	}
}

// settles removes what is no more pending.
func (r *run) settles(name api.ClusterName, paid []api.Pair) {
	if len(paid) > 0 {
		r.pending[name] = inventory.Known{Pending: r.pending[name]}.Without(paid).Pending
	}
}

// act does a step as sync does: what is ahead first; an end stops at its first failure, and with the base or our namespace all.
// What goes out at once arrives in any order.
func (r *run) act(p *process, s plan.Step, f *fault) {
	a := actor{run: r, process: p, step: s, failed: map[object.End]bool{}}
	for _, c := range arrival(s, f) {
		if a.stopped || a.failed[c.End] {
			continue
		}
		if f != nil && a.done == f.at && f.kind != "" {
			if a.befalls(f, c) {
				continue
			}
		}
		if r.write(p, c) != nil {
			a.fails(c)
		}
		if a.done++; r.broken != "" {
			return
		}
	}
	if f != nil && f.kind == crash && f.at <= a.done { // after the last write
		f.kind = ""
		r.restart()
	}
}

// actor does one step.
type actor struct {
	*run
	process *process
	step    plan.Step
	failed  map[object.End]bool
	stopped bool
	done    int
}

func (a *actor) fails(c object.Change) {
	a.failed[c.End] = true
	a.stopped = a.stopped || ahead(a.step, c) && c.End.IsBase()
}

// befalls lets the fault happen at a change, and says that the change is dealt with.
func (a *actor) befalls(f *fault, c object.Change) bool {
	kind := f.kind
	f.kind = ""
	switch kind {
	case crash:
		a.stopped = true
		a.restart()
		return true
	case refused:
		a.fails(c)
		return true
	case lost:
		_ = a.write(a.process, c) // nobody hears
		a.fails(c)
		a.done++
		return true
	case race:
		a.hangs = f.hangs
		a.do(*f.act)
		a.hangs = false
	case stall:
		a.hung, a.hangs = true, true
		a.do(*f.act)
		a.takeover()
		a.hangs = false
	}
	return false
}

func ahead(s plan.Step, c object.Change) bool {
	return slices.ContainsFunc(s.Ahead, func(a object.Change) bool { return a.Key == c.Key })
}

// arrival is the order in which the server gets a step.
func arrival(s plan.Step, f *fault) []object.Change {
	out := slices.Concat(s.Ahead, s.Changes, s.After)
	if f == nil || f.seed == 0 {
		return out
	}
	rng := rand.New(rand.NewPCG(f.seed, 0))
	for from := 0; from < len(out); {
		n := from + 1
		for n < len(out) && together(s, out[from], out[n]) {
			n++
		}
		rng.Shuffle(n-from, func(i, j int) { out[from+i], out[from+j] = out[from+j], out[from+i] })
		from = n
	}
	return out
}

// together reports whether two writes go out at once.
func together(s plan.Step, a, b object.Change) bool {
	if ahead(s, a) || ahead(s, b) {
		return ahead(s, a) && ahead(s, b) && !a.End.IsBase() && !b.End.IsBase()
	}
	return a.Object.Phase == b.Object.Phase && (a.Action == object.Delete) == (b.Action == object.Delete) && isInventory(a.Key) == isInventory(b.Key)
}

// write sends one change, and holds it to the promises if the server does it.
func (r *run) write(p *process, c object.Change) error {
	pl := r.planes[r.called(c.End.Cluster)]
	was := pl.things[c.Key]
	if pl.refuses(c, was) == nil {
		if why := r.judge(p, c, was); why != "" {
			r.breaks("%s of %s for %s in %s: %s", c.Action, c.Key, c.End, pl.name, why)
		}
	}
	err := pl.write(c, r.event)
	if _, declared := p.commit.of(c.End.Link); err == nil && declared {
		pl.ends(c, was)
	}
	r.writes++
	r.send(p, pl, c, err)
	if r.Trace != nil {
		r.Trace(fmt.Sprintf("    %s: %s %s (%s) %v", pl.name, c.Action, c.Key, c.Why.Code, err))
	}
	return err
}

// restart begins a process that remembers nothing.
func (r *run) restart() { r.process = newProcess(r.process.term + 1) }

// takeover lets another process take a pass in the middle of a turn of this one, which then goes on.
func (r *run) takeover() {
	old := r.process
	r.process = newProcess(old.term + 1)
	r.pass(0, nil)
	r.next, r.process = r.process, old
}
