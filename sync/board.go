package sync

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// board is what is known during a period of leadership, behind one mutex: a state.Snapshot in the making. All of it can be read again from Git,
// the management cluster and the clusters. Each part has one writer, which its type names.
type board struct {
	loop *Loop
	term int64

	mu sync.Mutex
	declarations
	clusterStates
	records
	credentials
	corrections
	telling

	waiting map[api.ClusterName][]api.ClusterName // whom a cluster's step waits for; see waits
	pass    int
	derived derived
}

// commit is that of the declared fleet.
func (b *board) commit() api.Commit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fleet.Commit
}

// newest is the head that was seen last: this one, unless none could be.
func (b *board) newest(head api.Commit) api.Commit {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.head = cmp.Or(head, b.head)
	return b.head
}

// forgetSides lets everything be read anew.
func (b *board) forgetSides() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = b.allLooked()
	b.sides.clear()
	b.shown.clear()
	clear(b.announced)
	b.derived.forgetSides()
}

// forgetAnswers lets what was not known be asked anew; what was, is remembered by who answered.
func (b *board) forgetAnswers() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.answers) > 0 {
		clear(b.answers)
		b.derived.barred, b.derived.rules = nil, nil
	}
}

// begin numbers a pass.
func (b *board) begin() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgive(time.Now())
	b.pass++
	return b.pass
}

func newBoard(l *Loop, term int64) *board {
	return &board{
		loop: l, term: term,
		waiting:       map[api.ClusterName][]api.ClusterName{},
		declarations:  declarations{struckOff: map[api.ClusterName]bool{}, answers: map[[2]api.Commit]error{}},
		clusterStates: clusterStates{announced: map[api.ClusterName]announcements{}, specs: map[api.ClusterName]sum{}},
		records:       records{decided: l.decide(nil)},
		telling:       telling{table: map[api.ClusterName]*report.Cluster{}},
		corrections: corrections{
			corrected: map[api.ClusterName]map[object.Key]*correction{},
			fixed:     map[api.ClusterName]map[object.Key]state.Refusal{},
			followed:  map[api.Pair]followed{},
		},
	}
}

// issued keeps a token until it is seen in place; if it is lost before, another one is asked for.
func (b *board) issued(link api.Pair, token object.Secret) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh.set(link, linkerd.Credential{Token: token})
}

// settle forgets tokens that a source has in place, or has no link of mode Bound for any more.
func (b *board) settle(source api.ClusterName) {
	b.fresh.drop(func(p api.Pair, c linkerd.Credential) bool {
		l, declared := b.fleet.Link(p)
		return !declared || l.Spec.Credentials.Mode != api.Bound || p.Source == source && credential.Pair{View: state.View{Link: l, Source: b.sides.at[source]}}.Holds(c.Token)
	})
}

// declare takes a fleet over: the record is read, connections follow, rows of the last pass are forgotten.
func (b *board) declare(ctx context.Context, f *fleet.Fleet) error {
	clusters, err := b.renew(ctx, f)
	if err != nil {
		return err
	}
	for name, err := range b.loop.Clusters.Follow(ctx, clusters) {
		b.put(name, state.Cluster{Err: object.Because(reason.Access, "%v", err)}, b.now())
	}
	return nil
}

// renew reads the record and enters with it. What a turn under way writes there meanwhile is not undone.
func (b *board) renew(ctx context.Context, f *fleet.Fleet) ([]fleet.Cluster, error) {
	b.recording.Lock()
	defer b.recording.Unlock()
	record, err := b.recall(ctx)
	if err != nil {
		return nil, err
	}
	return b.enter(f, record), nil
}

// enter is declare without the connections. What was done and is not told yet stays in the table.
func (b *board) enter(f *fleet.Fleet, record inventory.Record) []fleet.Cluster {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet != f {
		b.epoch++
	}
	if b.fleet != f || b.record.Was != record.Was {
		b.derived = derived{}
	}
	b.fleet, b.departed = f, departed(f, record)
	b.struckOff = map[api.ClusterName]bool{}
	b.keep(record)
	b.version++
	clusters, table := slices.Concat(f.Clusters, b.departed), map[api.ClusterName]*report.Cluster{}
	for _, c := range clusters {
		table[c.Name] = &report.Cluster{Name: c.Name}
		if row := b.table[c.Name]; row != nil {
			table[c.Name].Outcomes = row.Outcomes
		}
	}
	b.table, b.elsewhere = table, map[api.ClusterName]bool{}
	for name := range table {
		b.elsewhere[name] = !b.loop.writes(name)
	}
	maps.DeleteFunc(b.corrected, func(n api.ClusterName, _ map[object.Key]*correction) bool { return table[n] == nil })
	maps.DeleteFunc(b.followed, func(_ api.Pair, f followed) bool { return declaredIn(b.fleet) != f.commit })
	maps.DeleteFunc(b.fixed, func(n api.ClusterName, _ map[object.Key]state.Refusal) bool { return table[n] == nil })
	clear(b.waiting)
	b.unsee(func(n api.ClusterName, _ state.Cluster) bool { return table[n] == nil })
	maps.DeleteFunc(b.before, func(n api.ClusterName, _ []object.Watch) bool { return table[n] == nil })
	b.shown.drop(func(n api.ClusterName, _ shown) bool { return table[n] == nil })
	b.proofs.drop(func(p api.Pair, _ state.Proof) bool { _, declared := f.Link(p); return !declared })
	maps.DeleteFunc(b.specs, func(n api.ClusterName, _ sum) bool { return table[n] == nil })
	maps.DeleteFunc(b.announced, func(n api.ClusterName, _ announcements) bool { return table[n] == nil })
	return clusters
}

// now is the epoch.
func (b *board) now() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

// departed are the clusters that we wrote to and nobody declares any more.
func departed(f *fleet.Fleet, r inventory.Record) []fleet.Cluster {
	var out []fleet.Cluster
	for _, name := range slices.Sorted(maps.Keys(r.Clusters)) {
		if _, ok := f.Cluster(name); ok {
			continue
		}
		spec := api.Cluster{Access: r.Clusters[name].Access, Linkerd: r.Clusters[name].Linkerd}
		out = append(out, fleet.Cluster{Name: name, Spec: spec.WithDefaults()})
	}
	return out
}

// put takes a side over, unless it was read for another epoch, and says whether other clusters' steps may now differ.
func (b *board) put(name api.ClusterName, side state.Cluster, epoch int) (moved, ok bool) {
	b.mu.Lock()
	last, f := b.announced[name], b.fleet
	b.mu.Unlock()
	now, next := shownBy(b.loop.Owner, side, byNames(f, name, side), last)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch != epoch {
		return false, false
	}
	barred, was := b.bars(), b.shown.at[name]
	before, read := b.sides.at[name]
	if side.Stale = before.Stale; side.Known {
		side.Stale = time.Time{}
	} else if before.Known {
		side.Stale = time.Now()
	}
	moved = was.sum != now.sum || because(barred, was.commit) != because(barred, now.commit)
	if now.moved = was.moved; moved {
		b.moves++
		now.moved = b.moves
	}
	if !read || before.Known != side.Known || before.Facts.UID != side.Facts.UID {
		b.derived.forgetSides()
	}
	if was != now {
		b.derived.carried = nil
	}
	b.sides.set(name, side)
	b.shown.set(name, now)
	b.announced[name] = next
	b.settle(name)
	return moved, true
}

// has says that a cluster was read, or could not be.
func (b *board) has(name api.ClusterName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.sides.at[name]
	return ok
}

// side is what is known of a cluster.
func (b *board) side(name api.ClusterName) state.Cluster {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sides.at[name]
}

// factual is a side that is known, with what its facts were read by.
func (b *board) factual(name api.ClusterName) (state.Cluster, sum) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sides.at[name], b.specs[name]
}

// specify notes by what the facts of a side were read that was put.
func (b *board) specify(name api.ClusterName, spec sum) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.specs[name] = spec
}

// drop lets a cluster be read anew.
func (b *board) drop(name api.ClusterName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsee(func(n api.ClusterName, _ state.Cluster) bool { return n == name })
}

// unsee forgets sides; b.mu is held.
func (b *board) unsee(gone func(api.ClusterName, state.Cluster) bool) {
	if b.sides.drop(gone) {
		b.derived.forgetSides()
	}
}

func (b *board) clusters() []fleet.Cluster {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Concat(b.fleet.Clusters, b.departed)
}

func (b *board) policy() api.SyncPolicy {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fleet == nil {
		return api.SyncPolicy{}.WithDefaults()
	}
	return b.fleet.Policy
}

// tell has a cluster stand as a step left it.
func (b *board) tell(name api.ClusterName, step plan.Step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if row := b.table[name]; row != nil {
		if !alike(row.Step, step) {
			b.version++
		}
		row.Step = step
		if b.waiting[name] = waits(step); b.waiting[name] == nil {
			delete(b.waiting, name)
		}
	}
}

// did adds what became of a turn's writes. Failures are those of the last turn: what an earlier one could
// not do was planned again since, or is no longer wanted.
func (b *board) did(name api.ClusterName, outcomes []object.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if row := b.table[name]; row != nil {
		before := len(row.Outcomes)
		done := slices.DeleteFunc(row.Outcomes, func(o object.Outcome) bool { return o.Err != nil })
		if row.Outcomes = append(done, b.loop.advised(outcomes)...); len(outcomes) > 0 || len(done) < before {
			b.version++
		}
	}
}

// strip forgets what steps wanted written.
func (b *board) strip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, row := range b.table {
		row.Step = b.loop.bare(row.Step)
	}
}

// refuse marks a cluster's row: what is told of it is not to be relied on.
func (b *board) refuse(name api.ClusterName, why *object.Reason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if row := b.table[name]; row != nil {
		row.Step.Refused = why
		b.version++
	}
}

// rows gives what is to be told, in name order. What was done is told once: nothing of it is kept.
func (b *board) rows() []report.Cluster {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = b.version
	out, w := make([]report.Cluster, 0, len(b.table)), b.bare()
	for _, name := range slices.Sorted(maps.Keys(b.table)) {
		row := *b.table[name]
		row.Debts, row.Applied = w.Owed(name), b.shown.at[name].commit
		out = append(out, row)
		b.table[name].Outcomes = nil
	}
	return out
}
