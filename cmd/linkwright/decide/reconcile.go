package decide

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/prune/inventory"
)

func reconcileCommand() *cobra.Command {
	var d deciding
	c := &cobra.Command{
		Use:   "reconcile [CLUSTER...]",
		Short: "Have a running daemon reconcile clusters now",
		Long: `Make a running daemon reconcile clusters now; without a name, all in the record.
The daemon reads the repository, reads these clusters by requests instead of
watches, and ends the back-off from objects that somebody else keeps changing.
This command does not wait for that: see linkwright status --watch.

The management cluster records the request until it is done.`,
		Example: `  linkwright reconcile --kubeconfig management.yaml
  linkwright reconcile east west --kubeconfig management.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range args {
				if err := api.CheckClusterName(api.ClusterName(name)); err != nil {
					return cli.Usage("%w", err)
				}
			}
			return d.decide(c, func(r *inventory.Record, by string) (outcome, error) { return d.reconcile(r, by, args) })
		},
	}
	d.add(c.Flags())
	return c
}

// reconcile records it for each cluster: processes with --only-write do each their own.
func (d *deciding) reconcile(r *inventory.Record, by string, names []string) (outcome, error) {
	all := slices.Sorted(maps.Keys(r.Clusters))
	if len(names) > 0 {
		all = nil
	}
	for _, name := range names {
		if err := checkRecorded(*r, api.ClusterName(name)); err != nil {
			return outcome{}, err
		}
		all = append(all, api.ClusterName(name))
	}
	if len(all) == 0 {
		return outcome{}, errors.New("the record has no cluster, so there is none to reconcile")
	}
	decisions := make([]inventory.Decision, len(all))
	for i, name := range all {
		decisions[i] = inventory.Decision{Kind: inventory.Reconcile, Cluster: name}
	}
	out := d.record(r, by, "", decisions...)
	out.result = "To see the result: " + d.command("status", "--watch")
	return out, nil
}
