package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// engine is what a command works with.
type engine struct{ *cli.Engine }

// fleet is what the repository declares now.
func (e engine) fleet(ctx context.Context) (*fleet.Fleet, error) {
	d, err := e.Loop.Declared.Next(ctx)
	if err == nil && d.Fleet == nil {
		_, err = e.Look(ctx, cli.NoLeadership) // which says what is wrong
	}
	return d.Fleet, err
}

// installation is the one that the engine syncs.
func (e engine) installation() object.Installation {
	return object.Installation{Owner: e.Loop.Owner, Namespace: e.Loop.Management.Namespace}
}

// record is what the management cluster remembers of clusters.
func (e engine) record(ctx context.Context) (inventory.Record, error) {
	return e.Loop.Management.Record(ctx, e.Loop.Owner)
}

// takeover is what commands share that show first what they would do to links, and do it once that is confirmed.
type takeover struct {
	cli.Common
	all      bool
	question string // that is asked before anything is written
	after    string // what to do with a daemon that was scaled to 0 for this
	asked    bool   // a person saw what will be done, and said yes

	planned *report.Answer // what is not written; nil: nothing is known of it, or something was written
}

func (t *takeover) add(f *pflag.FlagSet, question string) {
	t.question = question
	t.Add(f)
	t.Writing.AddAsking(f)
	cli.Group(f, cli.GroupTrust, t.NonFastForward.Add)
	cli.Group(f, cli.GroupClusters, t.Management.AddImages)
}

// task is what such a command does once it knows what is declared. Without write it only shows that, and gives errPending if there is
// something to do.
type task func(ctx context.Context, term int64, write bool) error

// errPending means that there is something to do, and that it was shown and not done.
var errPending = errors.New("there is something to do")

// do does it, and answers a program with what would be written if nothing was.
func (t *takeover) do(c *cobra.Command, as report.Format, prepare func(engine, *fleet.Fleet) (task, error)) error {
	err := t.work(c, as, prepare)
	if as == report.Text || t.planned == nil {
		return err
	}
	if failed := cli.Write(c.OutOrStdout(), as, *t.planned); failed != nil {
		return failed
	}
	return err
}

// plans keeps what would be written, until it is.
func (t *takeover) plans(w state.Snapshot, d report.Diff) {
	t.planned = new(d.Answer(func(name api.ClusterName) string { return w.Clusters[name].Facts.UID }))
}

// reports answers with what was written.
func (t *takeover) reports(out printer, r report.Report) error {
	t.planned = nil
	return cli.Write(out.Writer, out.format, r.Answer())
}

// work opens the engine, and calls what prepare makes of it and of what is declared: first to show it, and once that is confirmed to do it.
func (t *takeover) work(c *cobra.Command, as report.Format, prepare func(engine, *fleet.Fleet) (task, error)) error {
	t.Shows(c, t.Writing.Yes(), as)
	opened, err := t.Open(c.Context(), c.ErrOrStderr())
	if err != nil {
		return err
	}
	e := engine{opened}
	defer e.Close(c.Context())
	shown := e.Live.Show(c.Context(), live.Repository)
	declared, err := e.fleet(c.Context())
	shown()
	if err != nil {
		return err
	}
	it, err := prepare(e, declared)
	if err != nil {
		return err
	}
	if !t.Writing.Yes() {
		err := it(c.Context(), cli.NoLeadership, false)
		if t.Writing.Dry() {
			t.Writing.Ended(c.ErrOrStderr())
		}
		switch pending := errors.Is(err, errPending); {
		case !pending:
			return err
		case t.Writing.Dry():
			return nil
		}
		if err := t.Writing.Confirm(c, t.question); err != nil {
			return err
		}
		t.asked = true
		e.Live.Writes()
	}
	return t.lease(c.Context(), e, declared, it)
}

// lease calls f during a leadership. Processes with --only-write have leases of their own, which it holds, too: they would link again what
// f unlinks.
func (t *takeover) lease(ctx context.Context, e engine, declared *fleet.Fleet, f task) error {
	shown := e.Live.Show(ctx, live.Lease)
	defer shown()
	locks, err := e.AllLocks(ctx, declared)
	if err != nil {
		return err
	}
	var failed error
	err = e.Lead(ctx, showing(locks, e.Live), lease.Lock.Once, func(ctx context.Context, term int64) error {
		shown()
		failed = f(ctx, term, true)
		return nil
	})
	if errors.Is(err, lease.ErrHeld) {
		return t.held(err)
	}
	return errors.Join(failed, err)
}

// held says what to do if a daemon has a lease that the command needs.
func (t *takeover) held(err error) error {
	return cli.Exit{Code: cli.ExitHeld, Err: fmt.Errorf("%w; a daemon or a process with --only-write keeps its lease while it runs: scale it to 0, run this command again, and %s", err, t.after)}
}
