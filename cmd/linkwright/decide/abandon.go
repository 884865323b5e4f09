package decide

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

func abandonCommand() *cobra.Command {
	d := deciding{question: "Give this cluster up for good?"}
	c := &cobra.Command{
		Use:   "abandon CLUSTER",
		Short: "Give up for good a cluster that is gone",
		Long: `Give up for good a cluster that is not declared any more. If linkwright can read
it, it first removes what it may. What it cannot remove stays there, and one
report lists it. linkwright then deletes the cluster's access to other clusters,
and does not connect to it again.

The management cluster records the decision until its record has no such
cluster. The next sync drops the decision if the cluster is declared: remove its
declaration first. "sync" also has the flag --abandon-cluster. The command asks
before it records anything, unless you use --yes.`,
		Example: `  linkwright abandon east --reason "data centre closed"
  linkwright abandon east --dry-run=server --kubeconfig management.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			one := inventory.Decision{Kind: inventory.AbandonCluster, Cluster: api.ClusterName(args[0])}
			if err := one.Check(); err != nil {
				return cli.Usage("%w", err)
			}
			return d.decide(c, func(r *inventory.Record, by string) (outcome, error) {
				if d.withdraw {
					return d.withdrawAll(r, fmt.Sprintf("%s is not abandoned", one.Cluster), func(o inventory.Decision) bool {
						return o.Kind == one.Kind && o.Cluster == one.Cluster
					})
				}
				if err := checkRecorded(*r, one.Cluster); err != nil {
					return outcome{}, err
				}
				out := d.record(r, by, d.command("abandon", args[0], "--withdraw"), one)
				out.details = staysBehind(one.Cluster, out.stays)
				out.after = append(out.after, "If the cluster is still declared, the next sync drops this decision: remove its declaration, then abandon it.")
				return out, nil
			})
		},
	}
	d.addWithdraw(c.Flags())
	return c
}

// stays is what a cluster keeps that a decision gives up, as far as the record has it: what it holds of removed links.
func stays(r inventory.Record, owner string, d inventory.Decision) (out []state.Pending) {
	if d.Kind != inventory.AbandonCluster {
		return nil
	}
	for _, p := range r.Clusters[d.Cluster].Pending {
		end := object.End{Cluster: d.Cluster, Link: p.Link()}
		out = append(out, state.Pending{Link: p.Link(), Since: p.Since, Left: state.LeftBehind(cmp.Or(owner, object.DefaultOwner), end)})
	}
	return out
}

// staysBehind says what an abandoned cluster keeps.
func staysBehind(name api.ClusterName, stays []state.Pending) []string {
	if len(stays) == 0 {
		return []string{fmt.Sprintf("The record has no pending cleanup of cluster %s. If linkwright cannot remove something there, it stays, and one report lists it.", name)}
	}
	lines := []string{fmt.Sprintf("This stays in cluster %s, unless linkwright can read it:", name)}
	for _, p := range stays {
		lines = append(lines, fmt.Sprintf("  of link %s: %s", p.Link.Name(), p.Left))
	}
	return lines
}
