package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
)

func abandonCommand() *cobra.Command {
	var d deciding
	c := &cobra.Command{
		Use:   "abandon CLUSTER",
		Short: "Give a cluster up for good that is gone",
		Long: `Give a cluster up for good that is declared no more and cannot be read: what linkwright wrote there stays
there, its peers take its access away, and nobody asks for it again. One report says what stays behind. While
the cluster is declared, or can be read, nothing follows from the decision: it is unlinked like any other.

The decision is recorded in the management cluster and is dropped once the cluster is.
For a single sync there is the flag --abandon-cluster of "sync".`,
		Example: `  linkwright abandon east --reason "data centre closed" --home-kubeconfig home`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			one := inventory.Decision{Kind: inventory.AbandonCluster, Cluster: api.ClusterName(args[0])}
			if err := one.Check(); err != nil {
				return usage("%w", err)
			}
			return d.decide(c, func(r *inventory.Record, by string) ([]string, error) {
				if d.withdraw {
					return d.back(r, fmt.Sprintf("nobody abandons %s", one.Cluster), func(o inventory.Decision) bool {
						return o.Kind == one.Kind && o.Cluster == one.Cluster
					})
				}
				if err := knownTo(*r, one.Cluster); err != nil {
					return nil, err
				}
				return d.record(r, by, d.another("abandon", args[0], "--withdraw"), one), nil
			})
		},
	}
	d.addWithdraw(c.Flags())
	return c
}
