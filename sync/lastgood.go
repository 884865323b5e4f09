package sync

import (
	"context"
	"fmt"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// accept puts a fleet in force.
func (b *board) accept(f *fleet.Fleet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.good == nil || b.good.Commit != f.Commit {
		b.since, b.root = time.Now(), ""
		b.version++
	}
	b.good = f
}

// withdraw takes a commit that is refused out of force. It was seen in no cluster, so nothing is lost with it.
func (b *board) withdraw(commit api.Commit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.good != nil && b.good.Commit == commit {
		b.good, b.root, b.since = nil, "", time.Time{}
	}
}

// inForce is the fleet that is, and since when in this term; nil: none yet.
func (b *board) inForce() (*fleet.Fleet, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.good, b.since
}

// lookAgain has clusters that could not be read tried again before anybody writes, as long as what is in force was seen in
// no cluster: what they carry may speak against it.
func (b *board) lookAgain() {
	good, _ := b.inForce()
	if good == nil || b.rooted(b.carried(good)) != "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsee(func(_ api.ClusterName, s state.Cluster) bool { return !s.Known })
}

// blind says why a fleet must not be applied while nobody knows what was before: no cluster that could be read carries a
// commit, and one that the home record names could not be read. Where none can be read, nothing would be applied either:
// the fleet may be in force, and is judged anew with the first that can.
func (b *board) blind(ctx context.Context, f *fleet.Fleet) error {
	carried := b.carried(f)
	if f.Commit == "" || len(carried) > 0 || b.rooted(carried) != "" {
		return nil
	}
	w, read := b.world(), false
	var unread []api.ClusterName
	for name, side := range w.Clusters {
		_, recorded := w.UIDs[name]
		switch {
		case !b.concerns(f, name):
		case side.Known:
			read = true
		case recorded:
			unread = append(unread, name)
		}
	}
	if !read || len(unread) == 0 {
		return nil
	}
	if err := b.loop.Declared.Follows(ctx, f.Commit, "", b.allowed()); err != nil {
		return fmt.Errorf("because nobody knows what was applied in %s, which cannot be read: %w", some(unread), err)
	}
	return nil
}

// resume puts what this process loaded before it led in force, if more than half of the clusters carry it: the evidence that recall asks
// for, without Git.
func (e *engine) resume(ctx context.Context) (*fleet.Fleet, error) {
	held := e.held
	if held == nil {
		return nil, nil
	}
	if err := e.enter(ctx, held); err != nil {
		return nil, err
	}
	if most(e.board.carried(held), e.board.guarded()) != held.Commit {
		return nil, nil
	}
	e.board.accept(held)
	e.board.plant(held.Commit)
	return held, nil
}

// recall finds what was in force before this process: what more than half of the clusters carry that the home record
// names, of those that we guard. One that cannot be read, or has no base, counts against it: a few clusters must not be
// able to name what all others get, not even while those are down.
func (e *engine) recall(ctx context.Context) (*fleet.Fleet, error) {
	if f, err := e.resume(ctx); f != nil || err != nil {
		return f, err
	}
	b := e.board
	if err := b.declare(ctx, &fleet.Fleet{Policy: api.SyncPolicy{}.WithDefaults()}); err != nil {
		return nil, err
	}
	e.cut()
	b.forgetSides()
	e.enroll()
	e.meet()
	last := most(b.carried(&fleet.Fleet{}), b.guarded())
	b.forgetSides() // they were looked at for no fleet
	if last == "" {
		return nil, nil
	}
	d, err := e.loop.Declared.At(ctx, last)
	if err == nil && d.Fleet == nil {
		err = ErrInvalid
	}
	if err != nil {
		return nil, fmt.Errorf("keep up commit %s, which was applied last: %w", last, err)
	}
	b.accept(d.Fleet)
	b.plant(last)
	return d.Fleet, nil
}

// plant notes that the commit in force was seen in clusters.
func (b *board) plant(commit api.Commit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.root = commit
}

// guarded is how many clusters that the home record names are ours to guard.
func (b *board) guarded() (n int) {
	for name := range b.lastRecord().Clusters {
		if b.loop.guards(name) {
			n++
		}
	}
	return n
}

// most is the commit that more than half of so many clusters carry; empty: none.
func most(carried map[api.Commit][]api.ClusterName, of int) api.Commit {
	for last, names := range carried {
		if 2*len(names) > of {
			return last
		}
	}
	return ""
}
