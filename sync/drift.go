package sync

import (
	"context"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
)

// hush is the least time between two turns about keys: what moves at once is looked at at once.
const hush = 10 * time.Millisecond

// drift compares the ends alone that keys which moved belong to, and takes back what was changed under them.
func (u *turn) drift(ctx context.Context) {
	u.drifts = true
	if !u.follow(ctx) {
		return
	}
	v, ok := u.board.view(u.epoch)
	if u.stale = !ok; u.stale {
		return
	}
	uid, asked := v.Sides[u.cluster.Name].Facts.UID, u.compare(v)
	u.board.done(v)
	if asked && u.step.Writes() > 0 {
		u.do(ctx, uid)
	}
}

// compare plans what the keys ask for; false: nothing, or more than can be said of some ends alone.
func (u *turn) compare(v view) bool {
	ends, whole := plan.Asks(v.World, u.last, u.keys)
	if u.again = whole || len(ends) > 0 && !u.loop.writes(u.cluster.Name); u.again || len(ends) == 0 {
		return false // what is not ours to write is told as a whole: nothing of it is done
	}
	u.step = plan.Drift(v.World, u.last, ends, u.loop.Renderer, u.loop.Policies...)
	u.again = u.step.Whole
	return true
}

// follow has the board show what watches show now; false: they do not, or other declarations came meanwhile. Facts are not read
// anew: where they may be others, or the cluster is another one under its name, the board shows what it did before, and the whole
// is asked for.
func (u *turn) follow(ctx context.Context) bool {
	looked := u.board.looked(u.cluster.Name)
	var seen object.Observation
	err := u.loop.Clusters.WithCluster(ctx, u.cluster.Name, func(conn Cluster) (err error) {
		seen, err = conn.Live(ctx, looked)
		return err
	})
	u.lane.hear()
	if err != nil || !tellSame(u.cluster.Spec, u.board.side(u.cluster.Name).Seen, seen) {
		u.again = true
		return false
	}
	now := pair.Side{Seen: seen}
	now.Gap, now.Anyone = u.board.gap(u.cluster.Spec, seen)
	u.moved, u.known = u.board.refresh(u.cluster.Name, now, slices.ContainsFunc(u.keys, shows), u.epoch)
	u.stale = !u.known
	return u.known
}

// refresh takes over what is seen of a cluster whose facts are as they were; false: it is not known, or for another epoch.
func (b *board) refresh(name api.ClusterName, now pair.Side, shows bool, epoch int) (moved, ok bool) {
	b.mu.Lock()
	side, current := b.sides.at[name], b.epoch == epoch
	b.mu.Unlock()
	if !side.Known || !current {
		return false, false
	}
	side.Seen, side.Gap, side.Anyone, side.Pass = now.Seen, now.Gap, now.Anyone, 0
	if shows {
		return b.put(name, side, epoch)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch != epoch {
		return false, false
	}
	b.sides.set(name, side)
	return false, true
}

// shows says that other clusters' steps depend on an object, see shownBy.
func shows(k object.Key) bool {
	return k.Namespace == object.AccessNamespace || k.Kind == "Secret" || k.Kind == "Link"
}

// take hands what moved to the lanes.
func (t *term) take() {
	for name, moves := range t.loop.Changes.Take() {
		l := t.lane(name)
		if l == nil {
			continue
		}
		l.fresh = false
		switch {
		case moves.All:
			l.ready = true
		case !l.still && !l.running:
			t.want(name) // a lane that gets no more turns in this pass has all of it looked at in the next
		default:
			if l.keys = append(l.keys, moves.Keys...); l.owes {
				t.want(name)
			}
		}
	}
}

// repaired takes over what became of a turn about keys.
func (t *term) repaired(u *turn) {
	l := u.lane
	l.hush = time.Now().Add(hush)
	tell := u.pass != t.number // that pass may have told that the cluster does not answer
	if len(u.step.Rows) > 0 {
		u.blame()
		l.step = l.step.With(u.step)
		t.news, tell = true, true
	}
	if tell {
		t.board.tell(u.cluster.Name, l.step)
	}
	if u.again || u.step.Refused != nil { // there was no connection any more to write to
		l.ready = true
	}
	if _, failed := tally(u.outcomes); failed > 0 {
		l.still = false
		if l.fails++; !t.stuck(l) {
			l.wake = time.Now().Add(again)
		}
	}
	t.stir(u)
}

// restored says that a turn about a whole cluster did nothing but take back drift: its ends are in place then, and a turn about
// what it wrote sees whether they are. Another one about the whole would find what was changed meanwhile, write that, and ask
// for yet another.
func (t *term) restored(u *turn) bool {
	if _, failed := tally(u.outcomes); t.loop.Changes == nil || !u.restores || failed > 0 || len(u.outcomes) == 0 {
		return false
	}
	for _, o := range u.outcomes {
		u.lane.keys = append(u.lane.keys, o.Change.Key)
	}
	u.step = u.step.Restored()
	return true
}

// sweep has what moved while a turn ran be looked at with everything else, where that did not leave all done: in the next pass,
// where the cluster gets no more turns in this one, which would not end while others go on.
func (t *term) sweep(l *lane) {
	if len(l.keys) > 0 && !l.still {
		l.keys = nil
		t.want(l.cluster.Name)
	}
}
