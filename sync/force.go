package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
)

// polled is what the head was found to be: a fleet, or an error.
type polled struct {
	Declaration
	err error
}

// poll asks what the head declares.
func (l *Loop) poll(ctx context.Context) polled {
	d, err := l.Declared.Next(ctx)
	if err == nil && d.Fleet == nil {
		err = ErrInvalid
	}
	if err != nil {
		d.Fleet = nil
	}
	return polled{d, err}
}

// same says that nothing new came since.
func (p polled) same(o polled) bool {
	return p.Commit == o.Commit && (p.err == nil) == (o.err == nil) && (p.err == nil || p.err.Error() == o.err.Error())
}

// choose decides which fleet is in force, and gives a pass over it whose clusters are read; none where there is no fleet.
// The error says why it is not the head's.
//
//	head                                    in force
//	of the commit in force, or of none      the head
//	follows all that bases carry            the head
//	anything else, or not known             the last good one: this term's, else what most clusters carry; else none
//
// It is asked twice: before a head's clusters are opened, as far as bases are known, and once all of them were read.
func (l *Loop) choose(ctx context.Context, b *board, head polled) (*pass, error) {
	why := head.err
	if why == nil {
		if why = b.refusal(ctx, head.Fleet); why == nil {
			p, err := l.enter(ctx, b, head.Fleet)
			if err != nil {
				return nil, err
			}
			if why = b.refusal(ctx, head.Fleet); why == nil {
				b.accept(head.Fleet)
				return p, nil
			}
		}
	}
	f, err := l.lastGood(ctx, b)
	if f == nil {
		return nil, errors.Join(why, err)
	}
	p, err := l.enter(ctx, b, f)
	return p, errors.Join(why, err)
}

// enter declares a fleet and reads what of its clusters this term has not read yet.
func (l *Loop) enter(ctx context.Context, b *board, f *fleet.Fleet) (*pass, error) {
	if err := b.declare(ctx, f); err != nil {
		return nil, err
	}
	if err := l.known(b); err != nil {
		return nil, err
	}
	p := newPass(l, b)
	p.meet(ctx)
	_ = b.judge(ctx, f) // clusters that were read before; who is refused is a row
	return p, nil
}

// refusal says why a fleet must not be applied: not all that bases carry is followed by it. What is in force already is
// not asked about: a cluster that it does not follow is refused alone.
func (b *board) refusal(ctx context.Context, f *fleet.Fleet) error {
	if good, _ := b.inForce(); good != nil && good.Commit == f.Commit {
		return nil
	}
	return b.judge(ctx, f)
}

// judge asks whether a fleet may be applied after each commit that bases carry, and gives the first answer against it. What
// was in force and carried counts also while no cluster that carries it can be read.
func (b *board) judge(ctx context.Context, f *fleet.Fleet) error {
	carried := b.carried(f)
	if last := b.rooted(carried); last != "" && carried[last] == nil {
		carried[last] = nil
	}
	var first error
	for _, last := range slices.Sorted(maps.Keys(carried)) {
		if err := b.ask(ctx, f.Commit, last); err != nil && first == nil {
			first = fmt.Errorf("the head is not applied, because of what was applied in %s: %w", some(carried[last]), err)
		}
	}
	return first
}

// rooted is the commit in force, once a cluster was seen to carry it.
func (b *board) rooted(carried map[api.Commit][]api.ClusterName) api.Commit {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.good == nil {
		return ""
	}
	if carried[b.good.Commit] != nil {
		b.root = b.good.Commit
	}
	return b.root
}

// some names the first clusters.
func some(names []api.ClusterName) string {
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "clusters that cannot be read now"
	case 1:
	default:
		return fmt.Sprintf("cluster %s and %d more", names[0], len(names)-1)
	}
	return "cluster " + string(names[0])
}

// carried are the commits that bases carry in the clusters that we guard, with those. Where the fleet suspends all that is
// in a cluster, it would apply nothing.
func (b *board) carried(f *fleet.Fleet) map[api.Commit][]api.ClusterName {
	w, out := b.world(), map[api.Commit][]api.ClusterName{}
	for name := range w.Sides {
		if c, declared := f.Cluster(name); declared && c.Spec.Suspend {
			continue
		}
		if last := w.Applied(name); last != "" && b.loop.guards(name) {
			out[last] = append(out[last], name)
		}
	}
	return out
}

// guards says that a cluster's history is ours to guard: of those that other processes write, it is theirs.
func (l *Loop) guards(name api.ClusterName) bool {
	return len(l.Only) == 0 || slices.Contains(l.Only, name)
}

// ask says whether a commit may be applied after another; of a pass, each pair is asked about once.
func (b *board) ask(ctx context.Context, commit, last api.Commit) error {
	if commit == "" || last == "" || commit == last {
		return nil
	}
	if err, known := b.answer(commit, last); known {
		return err
	}
	b.asking.Lock()
	defer b.asking.Unlock()
	if err, known := b.answer(commit, last); known {
		return err
	}
	err := b.loop.Declared.Follows(ctx, commit, last)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[[2]api.Commit{commit, last}] = err
	return err
}

func (b *board) answer(commit, last api.Commit) (err error, known bool) { //nolint:revive // the error is the value
	b.mu.Lock()
	defer b.mu.Unlock()
	err, known = b.answers[[2]api.Commit{commit, last}]
	return err, known
}

// barred are the commits that the declared fleet does not follow, as far as that was asked; b.mu is held.
func (b *board) barred() map[api.Commit]*object.Reason {
	out := map[api.Commit]*object.Reason{}
	for of, err := range b.answers {
		if of[0] == b.fleet.Commit && err != nil {
			out[of[1]] = object.Because(plan.Rewound, "%v", err)
		}
	}
	return out
}

// judge asks about what a cluster that was just read carries, before anybody plans with it.
func (p *pass) judge(ctx context.Context, c fleet.Cluster, side pair.Side) {
	base, ok := inventory.ReadBase(p.loop.Owner, side.Seen)
	if ok && p.loop.guards(c.Name) {
		_ = p.board.ask(ctx, p.board.commit(), base.Commit) // the answer is in the world that is planned from
	}
}

// accept puts a fleet in force.
func (b *board) accept(f *fleet.Fleet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.good == nil || b.good.Commit != f.Commit {
		b.since, b.root = time.Now(), ""
	}
	b.good = f
}

// inForce is the fleet that is, and since when in this term; nil: none yet.
func (b *board) inForce() (*fleet.Fleet, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.good, b.since
}

// lastGood is the fleet of this term that was in force last, or what was before.
func (l *Loop) lastGood(ctx context.Context, b *board) (*fleet.Fleet, error) {
	if f, _ := b.inForce(); f != nil {
		return f, nil
	}
	return l.recall(ctx, b)
}

// recall finds what was in force before this process, from the clusters that the home record knows: what more than half of
// those that could be read carry. One cluster must not be able to name what all others get.
func (l *Loop) recall(ctx context.Context, b *board) (*fleet.Fleet, error) {
	if err := b.declare(ctx, &fleet.Fleet{Policy: api.SyncPolicy{}.WithDefaults()}); err != nil {
		return nil, err
	}
	b.forgetSides()
	newPass(l, b).meet(ctx)
	last := most(b.carried(&fleet.Fleet{}))
	b.forgetSides() // they were looked at for no fleet
	if last == "" {
		return nil, nil
	}
	d, err := l.Declared.At(ctx, last)
	if err == nil && d.Fleet == nil {
		err = ErrInvalid
	}
	if err != nil {
		return nil, fmt.Errorf("keep up commit %s, which was applied last: %w", last, err)
	}
	b.accept(d.Fleet)
	return d.Fleet, nil
}

// most is the commit that more than half of all clusters carry; empty: none.
func most(carried map[api.Commit][]api.ClusterName) api.Commit {
	all := 0
	for _, names := range carried {
		all += len(names)
	}
	for last, names := range carried {
		if 2*len(names) > all {
			return last
		}
	}
	return ""
}
