package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
)

// checkVariable holds flags of `check` for who calls it without any of ours, as `linkerd check` does.
const checkVariable = "LINKWRIGHT_CHECK"

func checkCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	c := &cobra.Command{
		Use:   "check --repo URL",
		Short: "Check every cluster and every link once, in the manner of linkerd check",
		Long: `Check every cluster and every link once, live, in the manner of "linkerd check": it reads the repository and
the clusters, and writes nothing. Of each link it tells the stages in which it may fail, in their order: it renders,
its target is reachable, trust anchors are shared, access works, credentials are written and loaded, its controller leads, the
gateway is alive, its mirrors have endpoints (docs/health.md).

Put under the name linkerd-linkwright into the PATH, this program is an extension of Linkerd's command line:
"linkerd linkwright check", and a part of "linkerd check". That gives no flags of ours: they are taken from
` + checkVariable + `, separated by blanks.

The exit code is 4 where a check failed.`,
		Example: `  linkwright check --repo https://git.example.com/mesh/fleet.git --home-kubeconfig home.yaml -o short
  LINKWRIGHT_CHECK="--repo https://git.example.com/mesh/fleet.git --home-kubeconfig home.yaml" linkerd check`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flagsFromEnv(c); err != nil {
				return err
			}
			e, err := f.Open(c.Context(), c.ErrOrStderr())
			if err != nil {
				if extension() != "" && report.Unchecked(c.OutOrStdout(), out.Format, err) == nil {
					return cli.Exit{Code: cli.ExitPartial}
				}
				return err
			}
			defer e.Close(c.Context())
			e.ReadOnly()
			e.Loop.Probe = true
			r, failed := e.Loop.Once(c.Context(), cli.NoLeadership)
			ok, err := r.Check(c.OutOrStdout(), out.Format)
			if err != nil {
				return err
			}
			if failed == nil && ok {
				return nil
			}
			return verdictOf(failed)
		},
	}
	f.Add(c.Flags())
	cli.Group(c.Flags(), cli.GroupClusters, f.Home.AddConfinement)
	out.Add(c.Flags(), report.CheckFormats())
	return c
}

// verdictOf is the exit code of a check that failed.
func verdictOf(failed error) error {
	if failed != nil {
		return cli.Verdict(report.Report{}, failed)
	}
	return cli.Exit{Code: cli.ExitPartial}
}

// flagsFromEnv sets flags that were not given from the environment.
func flagsFromEnv(c *cobra.Command) error {
	words := strings.Fields(os.Getenv(checkVariable))
	out := c.Flags().Lookup("output").Value.String()
	if err := c.ParseFlags(words); err != nil {
		return cli.Usage("%s: %w", checkVariable, err)
	}
	return c.Flags().Set("output", out) // that of who called
}

// extension is the name of Linkerd's extension that this program was started as; empty: as none.
func extension() string {
	name, ok := strings.CutPrefix(filepath.Base(os.Args[0]), "linkerd-")
	if !ok {
		return ""
	}
	return name
}

// extended has the program take what Linkerd's command line gives every extension (linkerd2 cli/cmd/check.go), which says nothing
// here: which clusters there are, the repository says.
func extended(root *cobra.Command) {
	if extension() == "" {
		return
	}
	check, _, err := root.Find([]string{"check"})
	if err != nil {
		return
	}
	for _, name := range []string{"api-addr", "context", "as", "as-group", "kubeconfig", "linkerd-namespace", "verbose", "proxy", "wait"} {
		check.Flags().String(name, "", "of linkerd check")
		check.Flags().Lookup(name).Hidden = true
	}
	root.AddCommand(&cobra.Command{
		Use: "_extension-metadata", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return json.NewEncoder(c.OutOrStdout()).Encode(map[string]string{"name": filepath.Base(os.Args[0]), "checks": "always"})
		},
	})
}
