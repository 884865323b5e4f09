package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/linkwright/linkwright/object"
)

const (
	// manyMoves are reported as one: all.
	manyMoves = 4096
	// askAgain is how old the answer may be that a kind is not served: nothing tells when it comes to be.
	askAgain = 30 * time.Second
)

// feeds is what watches kept open show of a cluster.
type feeds struct {
	changes chan struct{} // capacity 1: one Live at a time
	finds   chan struct{} // capacity 1: discovery by feeds, so that they ask for a group and version once
	lists   chan struct{} // lists at once

	running sync.WaitGroup
	mu      sync.Mutex
	watches []object.Watch // of the last Live
	scopes  []scope        // the deepest first
	open    map[scope]*feed
	end     context.CancelFunc  // of the probe; nil: it does not run
	seen    *object.Observation // what is to be shown while nothing changes; nil: to be made
	failed  bool                // the last Live gave an error
	resync  chan struct{}       // closed when a feed may stand otherwise; nil: nobody waits
	moves   moves
	writes  writes
}

// moves are what is to be told.
type moves struct {
	notify func() // it must not block
	keys   map[object.Key]struct{}
	all    bool // of more than manyMoves keys, or of what nobody can tell
}

// writes are linkwright's. What moves of an object while it is being written may be that write: nobody knows before it ended.
type writes struct {
	ended  uint64                  // how many
	under  map[object.Key]int      // way
	moving map[object.Key]struct{} // moved meanwhile
}

func newFeeds(notify func()) *feeds {
	return &feeds{
		changes: make(chan struct{}, 1), finds: make(chan struct{}, 1), lists: make(chan struct{}, atOnce), open: map[scope]*feed{},
		moves:  moves{notify: notify, keys: map[object.Key]struct{}{}},
		writes: writes{under: map[object.Key]int{}, moving: map[object.Key]struct{}{}},
	}
}

// Live returns what Observe would, from watches that are kept open: those of these scopes and no others from now on. It waits until every one of
// them is complete and has shown every write of this client that succeeded, at most the timeout of one request. While one is broken, or the cluster
// does not answer, it fails at once and asks nothing. While nothing changes it gives the same observation again. It keeps the list of watches, which
// nobody may change any more.
func (c *watcher) Live(ctx context.Context, watches []object.Watch) (object.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if !acquire(ctx, c.feeds.changes) {
		return object.Observation{}, ctx.Err()
	}
	defer releaseSlot(c.feeds.changes)
	c.feedOn(ctx, watches)
	for {
		observed, turned, err := c.feeds.observe(c.reader)
		if turned == nil {
			return observed, err
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return object.Observation{}, c.feeds.behindError(ctx.Err())
		}
	}
}

// acquire takes a place in a channel that bounds; false: ctx ended first.
func acquire(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func releaseSlot(places chan struct{}) { <-places }

// feedOn starts and stops feeds until they are those that are asked for, and has kinds looked for again.
func (c *watcher) feedOn(ctx context.Context, watches []object.Watch) {
	l := c.feeds
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	if l.end == nil {
		l.end = l.start(ctx, c.probe)
	}
	if !reflect.DeepEqual(l.watches, watches) {
		l.watches = watches
		l.scopes, l.seen = mergeScopes(watches), nil
		l.stopOthers()
	}
	for _, s := range l.scopes {
		f, ok := l.open[s]
		if !ok {
			f = &feed{scope: s, again: make(chan struct{}, 1), pending: map[object.Key]pendingWrite{}}
			f.stop = l.start(ctx, func(ctx context.Context) { c.run(ctx, f) })
			l.open[s] = f
		}
		if f.condition == absent && time.Since(f.since) > askAgain {
			f.condition = trying
			notify(f.again)
		}
	}
}

// stopOthers ends the feeds that are no longer asked for.
func (l *feeds) stopOthers() {
	asked := make(map[scope]bool, len(l.scopes))
	for _, s := range l.scopes {
		asked[s] = true
	}
	for s, f := range l.open {
		if !asked[s] {
			f.stop()
			delete(l.open, s)
		}
	}
}

func (l *feeds) start(ctx context.Context, run func(context.Context)) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	l.running.Go(func() { run(ctx) })
	return cancel
}

// watched returns what the last Live asked for.
func (l *feeds) watched() []object.Watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watches
}

// close ends every feed and returns when they have ended.
func (l *feeds) close() {
	l.mu.Lock()
	for _, f := range l.open {
		f.stop()
	}
	if l.end != nil {
		l.end()
	}
	l.open = map[scope]*feed{}
	l.mu.Unlock()
	l.running.Wait()
}

// observe returns the observation, or what is broken, or the channel to wait for.
func (l *feeds) observe(c *reader) (observed object.Observation, turned <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := c.breaker.failure(); err != nil {
		l.failed = true
		return object.Observation{}, nil, err
	}
	behind, fresh, err := l.unready()
	switch {
	case err != nil && !fresh:
		l.failed = true
		return object.Observation{}, nil, err
	case fresh || len(behind) > 0:
		if l.resync == nil {
			l.resync = make(chan struct{})
		}
		return object.Observation{}, l.resync, nil
	}
	if l.failed = false; l.seen == nil {
		shown := c.merge(l.scopes, l.listings())
		l.seen = &shown
	}
	return *l.seen, nil, nil
}

// unready returns what is behind (fresh: some of it has not been tried to the end yet), and why the rest is broken.
func (l *feeds) unready() (behind []string, fresh bool, err error) {
	var refused []error
	for _, s := range l.scopes {
		f := l.open[s]
		maps.DeleteFunc(f.pending, func(k object.Key, d pendingWrite) bool { return f.complete() && f.caughtUp(k, d) })
		switch {
		case f.condition == broken:
			refused = append(refused, f.err)
		case f.condition == trying:
			behind, fresh = append(behind, s.String()), true
		case f.complete() && len(f.pending) > 0:
			behind = append(behind, s.String()+" (which does not show linkwright's last write yet)")
		}
	}
	return behind, fresh, errors.Join(refused...)
}

// behindError returns which feeds are behind.
func (l *feeds) behindError(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = true
	behind, _, err := l.unready()
	return errors.Join(fmt.Errorf("watch %s: not complete in time: %w", strings.Join(behind, ", "), cause), err)
}

// listings hands out the items of all feeds.
func (l *feeds) listings() []listing {
	listings := make([]listing, len(l.scopes))
	for i, s := range l.scopes {
		f := l.open[s]
		f.shared = true
		listings[i] = listing{items: slices.Clip(f.items), condition: f.condition}
	}
	return listings
}

// changed tells whoever waits that a feed may stand otherwise, to be called under the lock.
func (l *feeds) changed() {
	if l.resync != nil {
		close(l.resync)
		l.resync = nil
	}
}

// has reports whether a feed is still one of those asked for, to be called under the lock.
func (l *feeds) has(f *feed) bool { return l.open[f.scope] == f }

// setCondition makes a feed stand so. What was not complete and is, or the other way round, is reported, unless it was waited for.
func (l *feeds) setCondition(f *feed, how condition, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := f.condition
	f.err, f.condition = err, how
	if !l.has(f) {
		return
	}
	defer l.changed()
	if how == absent || how == hidden {
		f.items, f.at, f.since, f.shared = nil, "", time.Now(), false
		clear(f.pending)
	}
	if was == how {
		return
	}
	if l.seen = nil; was != trying || l.failed {
		l.moves.addAll()
	}
}

// fill takes what was listed when so many writes of linkwright had ended.
func (l *feeds) fill(f *feed, got listing, writes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.at = got.at; !l.has(f) {
		return
	}
	differs := false
	differences(f.items, got.items, func(was, now *object.Item) {
		differs = true
		at := got.at
		if now != nil {
			at = now.Record.ResourceVersion
		}
		if f.complete() {
			l.reportMove(f, was, now, at)
		}
	})
	maps.DeleteFunc(f.pending, func(_ object.Key, d pendingWrite) bool { return d.number <= writes })
	if differs {
		f.items, f.shared, l.seen = slices.Clone(got.items), false, nil // a clone has no room to spare
	}
	l.changed()
}

// reset has everything listed again.
func (l *feeds) reset(f *feed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.at = ""
}

// apply takes an event of a watch.
func (l *feeds) apply(f *feed, e event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.at = e.at; !l.has(f) {
		return
	}
	if e.kind != watch.Bookmark {
		was, now := f.apply(e)
		if was != nil || now != nil {
			l.reportMove(f, was, now, e.at)
			l.seen = nil
		}
	}
	l.changed()
}

// reportMove tells a move, unless a write of linkwright explains it. While a write is under way nobody knows yet.
func (l *feeds) reportMove(f *feed, was, now *object.Item, at string) {
	it := now
	if it == nil {
		it = was
	}
	key := f.key(*it)
	d, ours := f.pending[key]
	switch {
	case sameItem(was, now) && !f.scope.versions:
	case l.writes.under[key] > 0:
		l.writes.moving[key] = struct{}{}
	case ours && d.explains(was, now, at) && !l.failed: // else somebody may have given up waiting for it
	default:
		l.moves.add(key)
	}
}

// add tells of one object.
func (m *moves) add(key object.Key) {
	if m.keys[key] = struct{}{}; len(m.keys) > manyMoves {
		m.addAll()
		return
	}
	m.notify()
}

func (m *moves) addAll() {
	m.all, m.keys = true, map[object.Key]struct{}{}
	m.notify()
}

// broke or healed as a whole.
func (l *feeds) resynced() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) > 0 {
		l.moves.addAll()
	}
	l.changed()
}

// take returns what moved since it was last asked.
func (l *feeds) take() (object.ChangedKeys, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := object.ChangedKeys{All: l.moves.all}
	if !m.All {
		m.Keys = slices.SortedFunc(maps.Keys(l.moves.keys), object.Key.Compare)
	}
	l.moves.all, l.moves.keys = false, map[object.Key]struct{}{} // its memory goes with it
	return m, m.All || len(m.Keys) > 0
}
