package sync

import (
	"context"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
	"github.com/linkwright/linkwright/sync/plan"
)

// observe reads the cluster by requests that begin now; what fails makes it unknown, with the reason.
func (u *turn) observe(ctx context.Context) pair.Side {
	side := pair.Side{Pass: u.pass}
	err := u.loop.Clusters.WithCluster(ctx, u.cluster.Name, func(conn Cluster) error {
		ledger, err := conn.Observe(ctx, plan.Ledger())
		if err != nil {
			return err
		}
		side.Looked, err = plan.Watches(u.board.world(), u.cluster, u.loop.Renderer, ledger)
		if err != nil {
			side.Err = object.Because("Inventory", "%v", err)
			return nil
		}
		side.Seen, err = conn.Observe(ctx, side.Looked)
		if err != nil {
			return err
		}
		side.Facts = linkerd.FactsOf(u.cluster.Spec, conn.Address(), side.Seen)
		side.Known = true
		return nil
	})
	if err != nil {
		return pair.Side{Err: u.loop.why(err)}
	}
	u.judge(ctx, side)
	return side // not known where its inventories say nothing
}

// judge asks about what a cluster that was just read carries, before anybody plans with it.
func (u *turn) judge(ctx context.Context, side pair.Side) {
	base, ok := inventory.ReadBase(u.loop.Owner, side.Seen)
	if ok && u.loop.guards(u.cluster.Name) {
		_ = u.board.ask(ctx, u.board.commit(), base.Commit) // the answer is in the world that is planned from
	}
}

func (l *Loop) why(err error) *object.Reason {
	if l.Explain == nil {
		return object.Because("Unknown", "%v", err)
	}
	r := l.Explain(err)
	return &r
}
