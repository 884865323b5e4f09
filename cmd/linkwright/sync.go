package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/setup"
)

func syncCommand() *cobra.Command {
	var f common
	var out format
	var status statusFlags
	wait := defaultWait
	c := &cobra.Command{
		Use:   "sync --repo URL",
		Short: "Make the clusters as the repository declares them, once",
		Long: `Make the clusters as the repository declares them, once, and say what was done.

It takes the same lease as "run", so a CronJob and a daemon never write at the same time: when
another holds it, nothing is done and the exit code is 5. What must happen by itself first (a token
to be issued, a controller's pods to end) is waited for up to --wait; the rest is left to the next run.`,
		Example: `  linkwright sync --repo https://git.example.com/mesh/fleet.git --git-token-file token
  linkwright sync --repo git@git.example.com:mesh/fleet.git --git-ssh-key-file id --git-known-hosts-file known_hosts`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			e, err := f.open(c.Context(), c.ErrOrStderr(), func() error { return status.check(f.git.options.Repo) })
			if err != nil {
				return err
			}
			defer e.Close(c.Context())
			e.Loop.Patience, e.Loop.Holder = wait, setup.Identity()
			teller, err := e.teller(status, &f)
			if err != nil {
				return err
			}
			locks, err := e.Locks(e.Loop.Only...)
			if err != nil {
				return err
			}
			var done report.Report
			var told error
			err = setup.Lead(c.Context(), setup.Syncing(locks), lease.Lock.Once, func(ctx context.Context, term int64) error {
				r, failed := e.Loop.Once(ctx, term)
				e.Clusters.Renewal(e.Loop.Only).Once(ctx, time.Now())
				done, told = r, tell(c.OutOrStdout(), out.Format, r, failed)
				return nil
			})
			if errors.Is(err, lease.ErrHeld) {
				return exit{exitHeld, err}
			}
			if err != nil {
				return err // the lease is lost; what was written is told
			}
			teller.once(c.Context(), done, c.ErrOrStderr())
			return told
		},
	}
	f.add(c.Flags())
	group(c.Flags(), groupTrust, f.rewind.add)
	group(c.Flags(), groupClusters, f.home.addConfinement)
	group(c.Flags(), groupClusters, f.home.addOnly)
	group(c.Flags(), groupClusters, f.home.addDead)
	out.add(c.Flags(), report.Formats())
	group(c.Flags(), groupForge, status.add)
	c.Flags().Var(&span{at: &wait, none: true}, "wait", "how long to wait for what must happen by itself")
	return c
}

// format is a flag that is checked when it is read.
type format struct {
	report.Format
	among []report.Format
}

func (f *format) String() string { return string(f.Format) }
func (f *format) Type() string   { return "format" }

func (f *format) Set(word string) (err error) {
	f.Format, err = report.ParseFormat(word, f.among)
	return err
}

func (f *format) add(flags *pflag.FlagSet, among []report.Format) {
	f.Format, f.among = among[0], among
	flags.VarP(f, "output", "o", report.Enumerate(among))
}

// tell shows what a pass did, and gives its exit code.
func tell(w io.Writer, f report.Format, r report.Report, failed error) error {
	if err := r.Write(w, f); err != nil {
		return err
	}
	return verdict(r, failed)
}

// verdict turns a pass that was told into an exit code.
func verdict(r report.Report, failed error) error {
	switch {
	case errors.Is(failed, sync.ErrInvalid):
		return exit{exitInvalid, nil}
	case failed != nil:
		return exit{exitError, failed}
	case !r.Clean():
		return exit{exitPartial, nil}
	}
	return nil
}
