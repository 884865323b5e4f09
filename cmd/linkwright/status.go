package main

import (
	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/sync/report"
)

func statusCommand() *cobra.Command {
	var f common
	var out format
	c := &cobra.Command{
		Use:   "status --repo URL",
		Short: "Show where every link stands",
		Long: `Show where every link stands: it reads the repository and the clusters, and writes nothing.

  in place   both ends hold what is declared
  changing   the next pass writes something
  held       something is missing; the reason says what would supply it
  waiting    something must happen by itself first
  refused    a guard or a policy is against it
  suspended  left as it is, because that is declared, or until another end no longer is`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
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
	f.add(c.Flags())
	group(c.Flags(), groupClusters, f.home.addImages)
	out.add(c.Flags(), report.Formats())
	return c
}
