package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
)

// turn is what one cluster is to be looked at for, and what became of it: read, plan, write. Its methods run in a goroutine of
// its own, and touch nothing of the term but the board.
type turn struct {
	loop    *Loop
	board   *board
	lane    *lane // of which a turn that runs uses the sign alone
	cluster fleet.Cluster
	began   time.Time
	pass    int  // in which it began
	epoch   int  // of the board when it began
	fresh   bool // the cluster need not be read: it was just now, or is known in another way
	first   bool // of its cluster in this pass

	observes bool         // by requests, not from watches
	folds    bool         // what it writes need not be read again
	last     plan.Step    // of the cluster
	keys     []object.Key // that moved since

	stale    bool // other declarations came meanwhile: nothing was planned
	met      bool // it was only to read
	drifts   bool // it was about keys that moved alone
	again    bool // a turn about all of the cluster is needed
	restores bool // it was about all of it, and takes back nothing but what may be looked at alone
	asked    bool // the cluster was asked how it is
	known    bool // the cluster was read
	kept     bool // the board shows it as the turn left it
	moved    bool // what others depend on
	read     time.Duration
	planned  time.Duration
	step     plan.Step
	basis    basis
	moves    int // of the board when the step was planned
	outcomes []object.Outcome
	issued   []api.ClusterName // have a token that they did not have
	err      error             // of the home record: nothing was written
}

// whole plans all of the cluster from all that is known, and does it.
func (u *turn) whole(ctx context.Context) {
	if !u.fresh || !u.sees() {
		u.look(ctx)
	}
	v, ok := u.board.view(u.epoch)
	if u.stale = u.stale || !ok; u.stale {
		return
	}
	began := time.Now()
	u.step = plan.Cluster(v.World, u.cluster.Name, u.loop.Renderer, u.loop.Policies...)
	u.planned, u.basis, u.moves = time.Since(began), v.basis(u.step), v.moves
	side, restores := v.Sides[u.cluster.Name], plan.Restores(v.World, u.step)
	given, yields := plan.GiveUp(v.World, u.step)
	u.board.done(v)
	if u.kept = u.folds && side.Known; !u.loop.writes(u.cluster.Name) {
		return
	}
	u.restores = restores
	u.do(ctx, side.Facts.UID)
	if yields && u.forbidden() {
		u.step, u.outcomes, u.err = given, nil, u.board.forget(ctx, u.cluster.Name)
	}
	u.fold(ctx, side)
	u.issue(ctx)
	_, failed := tally(u.outcomes)
	u.kept = u.kept && failed == 0
}

// meet only reads.
func (u *turn) meet(ctx context.Context) {
	u.met = true
	u.look(ctx)
}

// look reads the cluster, and puts what it shows on the board.
func (u *turn) look(ctx context.Context) {
	began := time.Now()
	u.asked = true
	side := u.side(ctx)
	u.read, u.known = time.Since(began), side.Known
	u.lane.hear()
	moved, ok := u.board.put(u.cluster.Name, side, u.epoch)
	if u.moved, u.stale = moved, !ok; ok {
		u.board.specify(u.cluster.Name, sumOf(u.cluster.Spec))
	}
}

// do does the step, once it is written down which cluster that is.
func (u *turn) do(ctx context.Context, uid string) {
	if u.step.Writes() == 0 {
		u.err = u.keepRecord(ctx, uid)
		return
	}
	if u.err = u.board.remember(ctx, u.cluster, uid, u.step); u.err != nil {
		return
	}
	err := u.loop.Clusters.WithCluster(ctx, u.cluster.Name, func(conn Cluster) error {
		u.outcomes = act(ctx, heard{conn, u.lane}, u.step)
		return nil
	})
	if err != nil {
		u.step.Refused = u.loop.why(err)
	}
}

// forbidden says that the account may do none of the writes, by its rights or by admission: those of later phases were skipped for that.
func (u *turn) forbidden() bool {
	tried := slices.DeleteFunc(slices.Clone(u.outcomes), func(o object.Outcome) bool { return errors.Is(o.Err, errSkipped) })
	may := func(o object.Outcome) bool {
		return o.Err == nil || !slices.Contains([]string{object.Forbidden, object.NotAdmitted}, u.loop.why(o.Err).Code)
	}
	return len(tried) > 0 && !slices.ContainsFunc(tried, may)
}

// heard is a cluster whose answers to writes are noted.
type heard struct {
	Cluster
	lane *lane
}

func (h heard) Write(ctx context.Context, c object.Change) (object.Record, error) {
	defer h.lane.hear()
	return h.Cluster.Write(ctx, c)
}

// keepRecord forgets a cluster that departed, or is declared to leave, once nothing of ours is left in it: nobody need
// find it again, and what becomes of it is no longer our concern. Before that it strikes off what is no longer owed, and
// writes a cluster down again that holds something of ours and is in the record no more, since that was lost, or is in it with an
// identity that people replaced.
func (u *turn) keepRecord(ctx context.Context, uid string) error {
	if err := u.board.keepJudged(ctx, u.step.Judged); err != nil {
		return err
	}
	switch known, recorded := u.board.lastRecord().Clusters[u.cluster.Name]; {
	case u.step.Left():
		return u.board.forget(ctx, u.cluster.Name)
	case len(u.step.Paid) > 0:
		return u.board.acquit(ctx, u.cluster.Name, u.step.Paid)
	case (!recorded || known.UID != uid) && u.step.Refused == nil && u.holds():
		return u.board.remember(ctx, u.cluster, uid, u.step)
	}
	return nil
}

// holds says that a base of ours is seen in the cluster.
func (u *turn) holds() bool {
	_, found := inventory.ReadBase(u.loop.Owner, u.board.side(u.cluster.Name).Seen)
	return found
}

// issue asks for the tokens that the step needs: what they are bound to was seen. One that is not granted is told as
// a write that failed.
func (u *turn) issue(ctx context.Context) {
	for _, n := range u.step.Needs {
		if ctx.Err() != nil || u.err != nil || !u.loop.writes(n.Link.Source) {
			return
		}
		token, err := u.loop.Clusters.Token(ctx, u.cluster.Name, n.Request)
		if err == nil {
			u.board.issued(n.Link, token)
			u.issued = append(u.issued, n.Link.Source)
			continue
		}
		u.outcomes = append(u.outcomes, object.Outcome{Err: err, Change: object.Change{
			End: object.End{Cluster: u.cluster.Name, Link: n.Link}, Action: object.Create, Key: tokenRequest(n.Request.Account),
			Why: object.Reason{Code: "Token", Message: "its source needs one"},
		}})
	}
}

// tokenRequest is how a request for a token of an account is called.
func tokenRequest(account object.Key) object.Key {
	return object.Key{Group: "authentication.k8s.io", Kind: "TokenRequest", Namespace: account.Namespace, Name: account.Name}
}

// still says that nothing is left to do, or nothing that is ours to do.
func (u *turn) still() bool {
	_, failed := tally(u.outcomes)
	return failed == 0 && u.err == nil && len(u.step.Look) == 0 && (u.step.Writes()+len(u.step.Needs) == 0 || !u.loop.writes(u.cluster.Name))
}

func tally(outcomes []object.Outcome) (written, failed int) {
	for _, o := range outcomes {
		if o.Err != nil {
			failed++
		} else {
			written++
		}
	}
	return written, failed
}
