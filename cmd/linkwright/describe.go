package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
)

func describeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "describe",
		Short: "Show one link or cluster in detail, and what to do about it",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(describeLinkCommand(), describeClusterCommand())
	return c
}

func describeLinkCommand() *cobra.Command {
	return describing(&cobra.Command{
		Use:   "link SOURCE/TARGET --repo URL",
		Short: "Show one link in detail",
		Long: `Show one link in detail: its status, why it has that status and what to do,
both ends, all stages, and what the next sync would write. It reads the
repository and the clusters, verifies credentials as "check" does, and writes
nothing.`,
		Example: "  linkwright describe link west/east --repo https://git.example.com/mesh/fleet.git",
	}, func(arg string) error {
		pair, ok := cli.ParsePair(arg)
		if !ok {
			return cli.Usage("%q is not a link: write SOURCE/TARGET", arg)
		}
		return cli.CheckPair(pair)
	}, func(r report.Report, w io.Writer, arg string) (bool, error) {
		p, _ := cli.ParsePair(arg)
		return r.DescribeLink(w, p)
	})
}

func describeClusterCommand() *cobra.Command {
	return describing(&cobra.Command{
		Use:   "cluster NAME --repo URL",
		Short: "Show one cluster in detail",
		Long: `Show one cluster in detail: its status, why it has that status and what to do,
its base, its links, and what the next sync would write there. It reads the
repository and the clusters, and writes nothing.`,
		Example: "  linkwright describe cluster east --repo https://git.example.com/mesh/fleet.git",
	}, func(arg string) error {
		if err := api.CheckClusterName(api.ClusterName(arg)); err != nil {
			return cli.Usage("%w", err)
		}
		return nil
	}, func(r report.Report, w io.Writer, arg string) (bool, error) {
		return r.DescribeCluster(w, api.ClusterName(arg))
	})
}

// describing makes a command that reads everything once, and shows what a report says about its argument.
func describing(c *cobra.Command, check func(arg string) error, show func(r report.Report, w io.Writer, arg string) (bool, error)) *cobra.Command {
	var f cli.Common
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := check(args[0]); err != nil {
			return err
		}
		e, err := f.Open(c.Context(), c.ErrOrStderr())
		if err != nil {
			return err
		}
		defer e.Close(c.Context())
		e.ReadOnly()
		e.Loop.Probe = true
		r, failed := e.Loop.Once(c.Context(), cli.NoLeadership)
		found, err := show(r, c.OutOrStdout(), args[0])
		switch {
		case err != nil:
			return err
		case failed != nil:
			return cli.Verdict(r, failed)
		case found:
			return nil
		}
		return fmt.Errorf("the repository declares no %s %s, and no cluster has anything of it: linkwright status --repo lists what there is", c.Name(), args[0])
	}
	f.Git.Here = true
	f.Add(c.Flags())
	return c
}
