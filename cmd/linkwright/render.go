package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

func renderCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	var factsFile, saveFacts string
	var only []string
	c := &cobra.Command{
		Use:   "render [PATH | REPO@REV]",
		Short: "Print what each cluster must hold, without any cluster",
		Long: `Print what each cluster must hold, as YAML, without any cluster.

Facts of clusters come from --facts, else from the declarations, else they are
placeholders like <east: gateway address>. Credentials are always placeholders:
read the output, do not apply it. Values of a ProxyConfig are fields of an
object of others, so they are not printed: see "diff".

With --save-facts it reads the clusters, and writes their facts to a file that
you can use with --facts.`,
		Example: `  linkwright render . --cluster west
  linkwright render --repo URL --save-facts facts.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Management.Check(); err != nil {
				return err
			}
			if saveFacts != "" {
				f.Shows(c, false, "")
				return storeFacts(c.Context(), &f, c.ErrOrStderr(), saveFacts)
			}
			return f.WithoutClusters(c, args, factsFile, func(w state.Snapshot, r plan.Renderer) error {
				a, err := rendered(w, r, only)
				if err != nil {
					return err
				}
				return cli.Write(c.OutOrStdout(), out.Format, a)
			})
		},
	}
	f.Git.Here = true
	f.Add(c.Flags())
	out.Add(c.Flags(), report.DescribeFormats())
	c.Flags().StringVar(&factsFile, "facts", "", "YAML file of facts: cluster name → facts, as --save-facts writes it")
	c.Flags().StringVar(&saveFacts, "save-facts", "", "read the clusters of --repo and write their facts to this file")
	c.Flags().StringArrayVar(&only, "cluster", nil, "print only this cluster (repeatable)")
	return c
}

// rendered are the objects of every end as they are once all is in place: in order of cluster and end.
func rendered(snapshot state.Snapshot, r plan.Renderer, only []string) (report.Answer, error) {
	chosen, err := cli.Clusters(snapshot.Fleet, only)
	if err != nil {
		return report.Answer{}, err
	}
	var out report.Manifests
	snapshot, _ = plan.Simulate(snapshot, r)
	for _, c := range chosen {
		for _, end := range plan.DesiredEnds(snapshot, c.Name, r) {
			out.AddEnd(end, snapshot.Clusters[c.Name].Facts.UID)
		}
	}
	return out.Answer(), nil
}

// storeFacts reads all clusters and writes what it learned of those that could be read.
func storeFacts(ctx context.Context, f *cli.Common, stderr io.Writer, file string) error {
	e, err := f.Open(ctx, stderr)
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	e.ReadOnly()
	w, err := e.Look(ctx, cli.NoLeadership)
	if err != nil {
		return err
	}
	facts := map[api.ClusterName]linkerd.Facts{}
	unread := 0
	for _, name := range sortedNames(w) {
		side := w.Clusters[name]
		if !side.Known() {
			cli.Say(stderr, report.Printable("cluster "+string(name)+": "+side.Err.Message))
			unread++
			continue
		}
		facts[name] = side.Facts
	}
	text, err := yaml.Marshal(facts)
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	text = append([]byte("# Facts of clusters, for --facts of linkwright validate, render and diff. Nothing in it is secret.\n"), bytes.TrimLeft(text, "\n")...)
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // facts are public
		return fmt.Errorf("write --save-facts: %w", err)
	}
	if unread > 0 {
		return cli.Exit{Code: cli.ExitPartial, Err: fmt.Errorf("%d clusters could not be read", unread)}
	}
	return nil
}
