package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
)

func checkCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	watch := false
	c := &cobra.Command{
		Use:   "check --repo URL",
		Short: "Check every cluster and every link once, like linkerd check",
		Long: `Check every cluster and every link once, live, like "linkerd check". It reads
the repository and the clusters, verifies each credential, and writes nothing.
For each link it checks these stages in order: it renders, its target is
reachable, trust anchors are shared, access works, credentials are written and
loaded, its controller leads, the gateway is alive, its mirrors have endpoints.

Under the name linkerd-linkwright in the PATH, this program extends Linkerd's
command line: "linkerd linkwright check", and as part of "linkerd check". Set
its flags by environment variables then, such as LINKWRIGHT_REPO. It does not
use Linkerd's --kubeconfig, --context and --namespace.

The exit code is 4 if a check failed; with --watch, if the last one did. It is 3
if the declarations are invalid.`,
		Example: `  linkwright check --repo URL --kubeconfig management.yaml -o short
  LINKWRIGHT_REPO=URL LINKWRIGHT_KUBECONFIG=management.yaml linkerd check`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if extension() == "" {
				f.Shows(c, false, out.Format)
			}
			e, err := f.Open(c.Context(), c.ErrOrStderr())
			if err != nil {
				if extension() != "" && cli.Write(c.OutOrStdout(), out.Format, report.Unchecked(err)) == nil {
					return cli.Exit{Code: cli.ExitPartial}
				}
				return err
			}
			defer e.Close(c.Context())
			e.ReadOnly()
			e.Loop.Probe = true
			if watch {
				return again(c.Context(), c.OutOrStdout(), func(ctx context.Context) (string, error) {
					var answer strings.Builder
					err := engine{e}.check(ctx, &answer, out.Format)
					return answer.String(), err
				})
			}
			return engine{e}.check(c.Context(), c.OutOrStdout(), out.Format)
		},
	}
	f.Add(c.Flags())
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddConfinement)
	out.Add(c.Flags(), report.CheckFormats())
	c.Flags().BoolVar(&watch, "watch", false, "check again every 10 seconds, and show the result whenever it changes, until you interrupt it")
	return c
}

// check reads everything once, and writes what it found.
func (e engine) check(ctx context.Context, w io.Writer, f report.Format) error {
	r, failed := e.Once(ctx, cli.NoLeadership)
	r = e.withRecord(ctx, r, failed)
	if _, ok := whileUninstalling(r.Uninstall(), failed); ok {
		r.Err = "" // the answer says that an uninstall began
	}
	answer, ok := r.CheckAnswer()
	switch err := cli.Write(w, f, answer); {
	case err != nil:
		return err
	case failed != nil:
		return shownVerdict(r.Uninstall(), f, r, failed)
	case !ok:
		return cli.Exit{Code: cli.ExitPartial}
	}
	return nil
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
	for _, name := range []string{"api-addr", "as", "as-group", "linkerd-namespace", "verbose", "proxy", "wait"} {
		check.Flags().String(name, "", "of linkerd check")
		check.Flags().Lookup(name).Hidden = true
	}
	check.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		for _, name := range []string{"kubeconfig", "context", "namespace"} { // of the cluster that linkerd checks
			f := c.Flags().Lookup(name)
			if err := f.Value.Set(f.DefValue); err != nil {
				return err
			}
			f.Changed = false
		}
		return cli.Preset(c)
	}
	root.AddCommand(&cobra.Command{
		Use: "_extension-metadata", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return json.NewEncoder(c.OutOrStdout()).Encode(map[string]string{"name": filepath.Base(os.Args[0]), "checks": "always"})
		},
	})
}
