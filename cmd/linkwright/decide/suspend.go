package decide

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/prune/inventory"
)

func suspendCommand(recorded RecordedLinks) *cobra.Command {
	var d deciding
	until := ""
	c := &cobra.Command{
		Use:   "suspend (CLUSTER | SOURCE/TARGET)... --reason WHY",
		Short: "Leave clusters or links as they are, for an incident",
		Long: `Leave clusters or links as they are during an incident, as suspend: true in a
declaration does. linkwright leaves everything in the cluster, or both ends of
the link, as it is until "linkwright resume" or until --until. It writes only
whether links work, into its inventories: READY shows that. Status and reports
show who suspended it, why, and until when. Declare it if it lasts longer.

The management cluster records it. Suspending the same again replaces your
former suspension. linkwright asks the clusters of a link whether it exists. If
they do not answer within seconds, it is suspended without that check.`,
		Example: `  linkwright suspend east --reason "incident 42" --until 2h
  linkwright suspend west/east --reason "change" --until 2026-11-25T18:00:00Z`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			all, err := suspensions(args)
			if err != nil {
				return err
			}
			if d.reason == "" {
				return cli.Usage("--reason is missing: say why, because status and reports show it")
			}
			end, err := parseUntil(until, time.Now())
			if err != nil {
				return err
			}
			for i := range all {
				all[i].Until = end
			}
			links := linkCheck{of: &d, ask: recorded}
			return d.decide(c, func(r *inventory.Record, by string) (outcome, error) {
				for _, one := range all {
					if err := checkSuspension(*r, one); err != nil {
						return outcome{}, err
					}
				}
				unchecked, err := links.check(c.Context(), *r, all)
				if err != nil {
					return outcome{}, err
				}
				out := d.suspend(r, by, args, all)
				out.details = unchecked
				return out, nil
			})
		},
	}
	d.add(c.Flags())
	cli.Group(c.Flags(), cli.GroupClusters, d.management.AddLocal)
	c.Flags().StringVar(&until, "until", "", "when it ends by itself: a duration from now, such as 2h, or a time, such as 2026-11-25T18:00:00Z (default: never)")
	return c
}

// suspend records suspensions.
func (d *deciding) suspend(r *inventory.Record, by string, args []string, all []inventory.Decision) outcome {
	return d.record(r, by, d.command(append([]string{"resume"}, args...)...), all...)
}

// suspensions are of the clusters and links that arguments name.
func suspensions(args []string) ([]inventory.Decision, error) {
	out := make([]inventory.Decision, len(args))
	for i, arg := range args {
		out[i] = inventory.Decision{Kind: inventory.Suspend, Cluster: api.ClusterName(arg)}
		if pair, ok := cli.ParsePair(arg); ok {
			out[i] = inventory.Decision{Kind: inventory.Suspend, Source: pair.Source, Target: pair.Target}
		}
		if err := out[i].Check(); err != nil {
			return nil, cli.Usage("%q: want the name of a cluster, or SOURCE/TARGET: %w", arg, err)
		}
	}
	return out, nil
}

// checkSuspension refuses what names a cluster that the record does not know.
func checkSuspension(r inventory.Record, d inventory.Decision) error {
	if d.Cluster != "" {
		return checkRecorded(r, d.Cluster)
	}
	if err := checkRecorded(r, d.Source); err != nil {
		return err
	}
	for _, known := range r.Clusters {
		if slices.Contains(known.Names, d.Target) { // a link by a second name
			return nil
		}
	}
	return checkRecorded(r, d.Target)
}

// parseUntil reads --until; zero: never.
func parseUntil(until string, now time.Time) (time.Time, error) {
	if until == "" {
		return time.Time{}, nil
	}
	end, err := time.Parse(time.RFC3339, until)
	if after, bad := time.ParseDuration(strings.TrimPrefix(until, "+")); bad == nil {
		end, err = now.Add(after), nil
	}
	switch {
	case err != nil:
		return time.Time{}, cli.Usage("--until %q: want a duration such as 2h, or a time such as 2026-11-25T18:00:00Z", until)
	case !end.After(now):
		return time.Time{}, cli.Usage("--until %q is in the past: it is %s now", until, now.UTC().Format(time.RFC3339))
	}
	return end, nil
}
