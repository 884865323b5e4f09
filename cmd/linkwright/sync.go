package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/setup"
)

func syncCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	var status statusFlags
	wait := cli.DefaultWait
	c := &cobra.Command{
		Use:   "sync --repo URL",
		Short: "Make the clusters as the repository declares them, once",
		Long: `Make the clusters as the repository declares them, once, and report what it did.

It takes the same Lease as "run", so that a CronJob and a daemon never write at
the same time. If another process holds the Lease, it does nothing, and the exit
code is 5.

It waits up to --wait for what happens by itself, such as a token that the API
server issues, or pods that end. It waits at most 10 s for the controller of a
new link to take its Lease. The next sync continues with the rest.`,
		Example: `  linkwright sync --repo https://git.example.com/mesh/fleet.git --git-token-file token
  linkwright sync --repo git@git.example.com:mesh/fleet.git \
      --git-ssh-key-file id --git-known-hosts-file known_hosts`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.Shows(c, !f.Writing.Dry(), out.Format)
			if f.Writing.Dry() {
				return drySync(c, &f, printing(c, out.Format))
			}
			e, err := f.Open(c.Context(), c.ErrOrStderr(), func() error { return status.check(f.Git.Options.Repo) })
			if err != nil {
				return unfinished(c.Context(), err, f.Management.Installation())
			}
			defer e.Close(c.Context())
			limitMemory(e.Loop.Log)
			e.Loop.Patience, e.Loop.Holder = wait, setup.Identity()
			poster, err := newStatusPoster(e, status, &f)
			if err != nil {
				return err
			}
			return syncOnce(c, e, poster, out.Format)
		},
	}
	f.Add(c.Flags())
	f.Writing.Add(c.Flags())
	cli.Group(c.Flags(), cli.GroupTrust, f.NonFastForward.Add)
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddConfinement)
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddOnly)
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddDead)
	out.Add(c.Flags(), report.Formats())
	cli.Group(c.Flags(), cli.GroupForge, status.add)
	c.Flags().Var(&cli.Span{At: &wait, None: true}, "wait", "how long to wait for what happens by itself")
	return c
}

// syncOnce syncs during one leadership, shows the report, and posts the status of the commit.
func syncOnce(c *cobra.Command, e *cli.Engine, poster *statusPoster, as report.Format) error {
	locks, err := e.Locks(e.Loop.Only...)
	if err != nil {
		return err
	}
	var done report.Report
	var verdict error
	shown := e.Live.Show(c.Context(), live.Lease)
	defer shown()
	err = e.Lead(c.Context(), showing(setup.Syncing(locks), e.Live), lease.Lock.Once, func(ctx context.Context, term int64) error {
		r, failed := e.Once(ctx, term)
		if errors.Is(failed, sync.ErrInterrupted) {
			failed = resumable(failed, r, engine{e}.installation())
			r.Err = failed.Error()
		}
		if err := (engine{e}).afterUninstall(ctx, failed); err != nil {
			r.Err, failed = err.Error(), err
		}
		if ctx.Err() == nil {
			e.Clusters.Renewal(e.Loop.Only).Once(ctx, time.Now())
		}
		restarted := (engine{e}).restartOnce(ctx, r)
		shown()
		done, verdict = r, cli.Show(c.OutOrStdout(), as, r, failed)
		for _, line := range restarted {
			cli.Say(c.ErrOrStderr(), line)
		}
		return nil
	})
	if errors.Is(err, lease.ErrHeld) {
		return syncHeld(err, engine{e}.installation())
	}
	if err != nil { // the lease was not taken, or is lost, and then the report was shown
		return unfinished(c.Context(), err, engine{e}.installation())
	}
	defer e.Live.Show(c.Context(), live.Status)()
	poster.once(c.Context(), done, e.Live)
	return verdict
}

// afterUninstall adds to the error of a denied revision that an uninstall began, and how to go on with that; nil: the error is another one, or
// none began.
func (e engine) afterUninstall(ctx context.Context, failed error) error {
	if _, denied := errors.AsType[sync.DeniedRevision](failed); !denied {
		return nil
	}
	known, _ := e.record(ctx) // one that cannot be read says of none
	u := report.UninstallOf(known.Revision.UninstallSince, e.installation())
	if u.Since.IsZero() {
		return nil
	}
	return fmt.Errorf("an uninstall began at %s and has not ended: run %s to go on with it; to sync again what is declared: %w", u.Since.Format(time.RFC3339), u.Command, failed)
}

// resumable is the error of a sync that a signal ended, with the clusters in which it left something to do, and the command that does it.
func resumable(err error, r report.Report, in object.Installation) error {
	const most = 3
	undone := r.Undone()
	names := make([]string, 0, most+1)
	for _, name := range undone[:min(len(undone), most)] {
		names = append(names, string(name))
	}
	if more := len(undone) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	again := "run " + in.Command("sync --repo URL") + " again"
	if len(names) == 0 {
		return fmt.Errorf("%w; %s", err, again)
	}
	return fmt.Errorf("%w; there may be more to do in %s: %s", err, strings.Join(names, ", "), again)
}

// unfinished is the error of a sync that has no report. After a signal it has the command that syncs.
func unfinished(ctx context.Context, err error, in object.Installation) error {
	if live.StoppedBy(ctx) == nil {
		return err
	}
	return cli.Exit{Code: cli.ExitPartial, Err: resumable(interrupted(ctx, err), report.Report{}, in)}
}

// syncHeld says what to do instead of a sync if another process has the lease.
func syncHeld(err error, in object.Installation) error {
	return cli.Exit{Code: cli.ExitHeld, Err: fmt.Errorf("%w; if that is a daemon, run %s to have it sync now; if not, run this command again once that process has ended", err, in.Command("reconcile"))}
}
