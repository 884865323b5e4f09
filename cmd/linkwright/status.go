package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/sync/report"
)

func statusCommand() *cobra.Command {
	var f common
	var out format
	watch := false
	c := &cobra.Command{
		Use:   "status [--repo URL]",
		Short: "Show where every link stands",
		Long: `Show where every link stands. Nothing is written.

Without --repo it shows what the clusters' inventories tell of links: whether each is Ready, as the last
"run" or "sync" saw it, why not, and since when (docs/health.md). It asks the clusters that the home
cluster remembers, and needs no repository and no daemon. With --watch it goes on, and shows all anew
whenever something of it changes. The exit code is 4 where a link is not ready or a cluster cannot be read.

With --repo it reads the repository and the clusters, and compares them, as the next pass would:

  in place   both ends hold what is declared
  changing   the next pass writes something
  held       something is missing; the reason says what would supply it
  waiting    something must happen by itself first
  refused    a guard or a policy is against it
  suspended  left as it is, because that is declared, or until another end no longer is`,
		Example: `  linkwright status --home-kubeconfig home -o wide
  linkwright status --home-kubeconfig home --watch
  linkwright status --repo URL --home-kubeconfig home`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case f.git.options.Repo == "":
				return f.home.told(c, out.Format, watch)
			case watch:
				return usage("--watch tells what inventories tell: leave out --repo")
			case !slices.Contains(report.Formats(), out.Format):
				return usage("--output %s: with --repo want %s", out.Format, report.Enumerate(report.Formats()))
			}
			e, err := f.open(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer e.close(c.Context())
			e.readOnly()
			r, failed := e.loop.Once(c.Context(), noTerm)
			if err := r.Status(c.OutOrStdout(), out.Format); err != nil {
				return err
			}
			return verdict(r, failed)
		},
	}
	f.git.here = true
	f.add(c.Flags())
	group(c.Flags(), groupClusters, f.home.addImages)
	out.add(c.Flags(), report.ToldFormats())
	c.Flags().BoolVar(&watch, "watch", false, "go on, and show it whenever it changes; without --repo")
	return c
}
