package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
)

// polled is what the head was found to be: a fleet, or an error.
type polled struct {
	Declaration
	at  time.Time // when it was asked
	err error
}

// poll asks what the head declares.
func (l *Loop) poll(ctx context.Context) polled {
	at := time.Now()
	d, err := l.Declared.Next(ctx)
	if err == nil && d.Fleet == nil {
		err = ErrInvalid
	}
	if err != nil {
		d.Fleet = nil
	}
	return polled{d, at, err}
}

// same says that nothing new came since.
func (p polled) same(o polled) bool {
	return p.Commit == o.Commit && cause(p.err) == cause(o.err)
}

// fleeting is an error of whose text a part is of the moment only, such as when the next try is.
type fleeting interface {
	error
	Fleeting() string
}

// cause is an error's text without what is of the moment; empty: none.
func cause(err error) string {
	if err == nil {
		return ""
	}
	if f, ok := errors.AsType[fleeting](err); ok {
		return strings.ReplaceAll(err.Error(), f.Fleeting(), "")
	}
	return err.Error()
}

// choose decides which fleet is in force, and begins a pass over it; false: there is no fleet. Its clusters are read then.
// The error says why it is not the head's.
//
//	head                                         in force
//	of the commit in force, seen in a cluster    the head
//	follows all that bases carry                 the head
//	no base is known, and clusters are unread    the last good one
//	anything else, or not known                  the last good one: this term's, else what most clusters carry; else none
func (e *engine) choose(ctx context.Context, head polled) (bool, error) {
	e.board.lookAgain()
	why := head.err
	if why == nil {
		refused, err := e.admit(ctx, head.Fleet)
		if refused == nil || err != nil {
			return err == nil, err
		}
		e.board.withdraw(head.Commit)
		why = RefusedHead{fmt.Errorf("the head is not applied, %w", refused)}
	}
	ok, err := e.keepUp(ctx)
	return ok, errors.Join(why, err)
}

// keepUp enters the last good fleet: the one in force, unless that is refused itself, else what was in force before this
// process.
func (e *engine) keepUp(ctx context.Context) (bool, error) {
	var gone error
	if f, _ := e.board.inForce(); f != nil {
		refused, err := e.admit(ctx, f)
		if refused == nil || err != nil {
			return err == nil, err
		}
		e.board.withdraw(f.Commit)
		gone = fmt.Errorf("commit %s is in force no more, %w", f.Commit, refused)
	}
	f, err := e.recall(ctx)
	if f == nil {
		return false, errors.Join(gone, err)
	}
	err = e.enter(ctx, f)
	return err == nil, errors.Join(gone, err)
}

// admit puts a fleet in force and enters it, unless it is refused. That is asked twice: before its clusters are opened, as
// far as bases are known, and once all of them were read.
func (e *engine) admit(ctx context.Context, f *fleet.Fleet) (refused, err error) {
	if refused = e.board.refusal(ctx, f); refused != nil {
		return refused, nil
	}
	if err = e.enter(ctx, f); err != nil {
		return nil, err
	}
	if refused = e.board.refusal(ctx, f); refused != nil {
		return refused, nil
	}
	e.board.accept(f)
	return nil, nil
}

// refusal says why a fleet must not be applied: not all that bases carry is followed by it, or nothing is known of them.
// What is in force and was seen in a cluster is not asked about any more: a cluster that it does not follow is refused alone.
func (b *board) refusal(ctx context.Context, f *fleet.Fleet) error {
	good, _ := b.inForce()
	if good != nil && good.Commit == f.Commit && b.rooted(b.carried(f)) != "" {
		return nil
	}
	if err := b.judge(ctx, f); err != nil {
		return err
	}
	return b.blind(ctx, f)
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
			first = fmt.Errorf("because of what was applied in %s: %w", some(carried[last]), err)
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
	switch slices.Sort(names); len(names) {
	case 0:
		return "clusters that cannot be read now"
	case 1:
		return "cluster " + string(names[0])
	}
	return fmt.Sprintf("cluster %s and %d more", names[0], len(names)-1)
}

// carried are the commits that bases carry in the clusters that we guard, with those. Where the fleet suspends all that is
// in a cluster, it would apply nothing.
func (b *board) carried(f *fleet.Fleet) map[api.Commit][]api.ClusterName {
	out := map[api.Commit][]api.ClusterName{}
	for name, last := range b.applied() {
		if b.concerns(f, name) {
			out[last] = append(out[last], name)
		}
	}
	return out
}

// guards says that a cluster's history is ours to guard: of those that other processes write, it is theirs.
func (l *Loop) guards(name api.ClusterName) bool {
	return len(l.Only) == 0 || slices.Contains(l.Only, name)
}

// concerns says that a fleet would be applied in a cluster whose history is ours to guard.
func (b *board) concerns(f *fleet.Fleet, name api.ClusterName) bool {
	c, declared := f.Cluster(name)
	return b.loop.guards(name) && (!declared || !c.Spec.Suspend) && !b.suspends(name)
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
	err := b.loop.Declared.Follows(ctx, commit, last, b.allowed())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[[2]api.Commit{commit, last}] = err
	b.derived.barred, b.derived.rules = nil, nil
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
