package decide

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/prune/inventory"
)

func allowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "allow",
		Short: "Allow what linkwright does not do by itself",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(allowNonFastForwardCommand())
	return c
}

func allowNonFastForwardCommand() *cobra.Command {
	var d deciding
	c := &cobra.Command{
		Use:   "non-fast-forward COMMIT",
		Short: "Allow a commit that does not descend from the applied one",
		Long: `Allow a commit that does not descend from the applied one, and all its
descendants: after a forced push, or if you replaced the repository. COMMIT has
all 40 digits, as reports show it. You may allow a commit before you push it.

The management cluster records the decision until every cluster carries the
commit, and for 7 days at most. "sync" also has the flag
--allow-non-fast-forward.`,
		Example: `  linkwright allow non-fast-forward 89abcdef0123 --reason "secret removed"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			one := inventory.Decision{Kind: inventory.AllowNonFastForward, Revision: api.Commit(args[0])}
			if err := one.Check(); err != nil {
				return cli.Usage("%w", err)
			}
			return d.decide(c, func(r *inventory.Record, by string) (outcome, error) {
				if !d.withdraw {
					return d.record(r, by, d.command("allow", "non-fast-forward", args[0], "--withdraw"), one), nil
				}
				return d.withdrawAll(r, fmt.Sprintf("%s is not allowed", one.Revision), func(o inventory.Decision) bool {
					return o.Kind == one.Kind && o.Revision == one.Revision
				})
			})
		},
	}
	d.addWithdraw(c.Flags())
	return c
}
