package decide

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/prune/inventory"
)

func acceptCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "accept",
		Short: "Accept a change that needs your confirmation",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(acceptClusterCommand())
	return c
}

func acceptClusterCommand() *cobra.Command {
	var d deciding
	c := &cobra.Command{
		Use:   "cluster NAME=UID",
		Short: "Accept that a name means the cluster with this kube-system uid",
		Long: `Accept that NAME means the cluster with this kube-system uid. If a cluster was
created again, or has another name now, linkwright writes nothing there until
you accept it (ClusterChanged, ClusterRenamed, DuplicateCluster). The message of
that reason has NAME=UID. linkwright then removes links of a former name, and
makes them again for this one. Declare the new name as a second name first
(spec.sameAs) to avoid that.

The management cluster records the decision until the record has the new
identity. "sync" also has the flag --accept-cluster.`,
		Example: `  linkwright accept cluster east=4f2c1c1e-0b7e-4b7c-9a55-6d1f6f1f7b1a
  linkwright accept cluster east --withdraw --kubeconfig management.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name, uid, _ := strings.Cut(args[0], "=")
			one := inventory.Decision{Kind: inventory.AcceptCluster, Cluster: api.ClusterName(name), UID: uid}
			err := one.Check()
			if err == nil {
				err = cli.CheckUID(uid)
			}
			if err != nil && !d.withdraw {
				return cli.Usage("%q: want NAME=UID: %w", args[0], err)
			}
			return d.decide(c, func(r *inventory.Record, by string) (outcome, error) { return d.accept(r, by, one) })
		},
	}
	d.addWithdraw(c.Flags())
	return c
}

// accept notes a name that the record does not know yet: the decision waits until it is declared.
func (d *deciding) accept(r *inventory.Record, by string, one inventory.Decision) (outcome, error) {
	if d.withdraw {
		return d.withdrawAll(r, fmt.Sprintf("no cluster is accepted as %s", one.Cluster), func(o inventory.Decision) bool {
			return o.Kind == one.Kind && o.Cluster == one.Cluster
		})
	}
	out := d.record(r, by, d.command("accept", "cluster", string(one.Cluster), "--withdraw"), one)
	if err := checkRecorded(*r, one.Cluster); err != nil {
		out.note = fmt.Sprintf("%v. The decision waits until a cluster of that name is declared", err)
	}
	return out, nil
}
