package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/rollout/restart"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report"
)

// byHandFlags say in which clusters restarts are paused, resumed or undone.
type byHandFlags struct {
	logins
	owner   string
	confirm cli.Writing
	out     cli.Format
}

func (f *byHandFlags) add(c *cobra.Command) {
	f.addLogins(c, "change")
	f.out.Add(c.Flags(), report.ListFormats())
	c.Flags().StringVar(&f.owner, "owner", object.DefaultOwner, "name of the installation")
}

func rolloutPause() *cobra.Command {
	f := byHandFlags{}
	c := &cobra.Command{
		Use:   "pause --context A --context B",
		Short: "Stop linkwright from restarting workloads in a cluster",
		Long: `Stop linkwright from restarting workloads in a cluster. Restarts that began
continue. It annotates linkwright's inventory of the cluster with your own
login, and the daemon follows at once. Links and values of proxies are still
kept as declared.`,
		Example: "  linkwright rollout pause --context east",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return f.pause(c, true) },
	}
	f.add(c)
	return c
}

func rolloutResume() *cobra.Command {
	f := byHandFlags{}
	c := &cobra.Command{
		Use:     "resume --context A --context B",
		Short:   "Let linkwright restart workloads in a cluster again",
		Long:    "Let linkwright restart workloads in a cluster again, with your own login.",
		Example: "  linkwright rollout resume --context east",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return f.pause(c, false) },
	}
	f.add(c)
	return c
}

func rolloutUndo() *cobra.Command {
	f := byHandFlags{}
	c := &cobra.Command{
		Use:   "undo --context A",
		Short: "Pause restarts, and take back those that are not finished",
		Long: `Pause restarts in a cluster, and take back those that are not finished: of each
workload that linkwright restarted and that is not ready, the former template
counts again, so that a Deployment keeps its former pods. Other pods that start
get the current proxy: to go back to former values, revert the commit.

A restart whose former pods are all gone cannot be taken back. It uses your own
login, and asks before it changes a workload. Run resume to go on.`,
		Example: "  linkwright rollout undo --context east --yes",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return f.undo(c) },
	}
	f.add(c)
	f.confirm.AddConfirmation(c.Flags())
	return c
}

// each calls do for each cluster, and answers with what it did. One that fails is an error beside the others.
func (f *byHandFlags) each(c *cobra.Command, do func(login, restart.ByHand) (report.Restarts, error)) error {
	all, err := f.open()
	if err != nil {
		return err
	}
	var done []report.Restarts
	var failed []error
	for _, l := range all {
		hand, err := restart.NewByHand(l.config, f.owner)
		var one report.Restarts
		if err == nil {
			one, err = do(l, hand)
		}
		if stopped := cli.Interrupted(c.Context()); stopped != nil {
			return stopped
		}
		if exit, ok := errors.AsType[cli.Exit](err); ok {
			return exit
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("cluster %s: %w", l.name, meaning(err)))
			continue
		}
		done = append(done, one)
	}
	if len(done) == 0 {
		return errors.Join(failed...)
	}
	if err := cli.Write(c.OutOrStdout(), f.out.Format, report.RestartsList(done).Answer(true)); err != nil || len(failed) == 0 {
		return err
	}
	return cli.Exit{Code: cli.ExitPartial, Err: errors.Join(failed...)}
}

// meaning is an error of a cluster with what it means.
func meaning(err error) error {
	if errors.Is(err, restart.ErrNoBase) {
		return err
	}
	why := cluster.Explain(err)
	return fmt.Errorf("%s: %s", why.Code, why.Message)
}

// pause pauses or resumes restarts.
func (f *byHandFlags) pause(c *cobra.Command, paused bool) error {
	return f.each(c, func(l login, hand restart.ByHand) (report.Restarts, error) {
		return report.Restarts{Cluster: l.name, Paused: paused}, hand.Pause(c.Context(), paused)
	})
}

// undo pauses restarts, and takes back those that are not finished.
func (f *byHandFlags) undo(c *cobra.Command) error {
	return f.each(c, func(l login, hand restart.ByHand) (report.Restarts, error) {
		out := report.Restarts{Cluster: l.name, Paused: true}
		all, argo, err := hand.Unfinished(c.Context())
		if err != nil {
			return out, err
		}
		if argo != nil {
			cli.Say(c.ErrOrStderr(), fmt.Sprintf("Cluster %s: Argo Rollouts were not read, and stay as they are: %v", l.name, meaning(argo)))
		}
		for _, u := range all {
			cli.Say(c.ErrOrStderr(), fmt.Sprintf("Cluster %s: %s restarted at %s, and is not ready.", l.name, u.Ref, u.Restarted.Stamp()))
		}
		question := fmt.Sprintf("Pause restarts in cluster %s, and take back %s?", l.name, object.Count(len(all), "restart"))
		if err := f.confirm.Confirm(c, question); err != nil {
			return out, err
		}
		if err := hand.Pause(c.Context(), true); err != nil {
			return out, err
		}
		now, _, err := hand.Unfinished(c.Context()) // some may be ready meanwhile
		failed := []error{err}
		for _, u := range now {
			if !slices.ContainsFunc(all, func(asked restart.Unfinished) bool { return asked.Ref == u.Ref }) {
				continue
			}
			if err := hand.Undo(c.Context(), u); err != nil {
				failed = append(failed, err)
				continue
			}
			out.Undone = append(out.Undone, u.Ref)
		}
		return out, errors.Join(failed...)
	})
}
