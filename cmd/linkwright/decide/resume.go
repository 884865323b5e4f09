package decide

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
)

func resumeCommand() *cobra.Command {
	var d deciding
	all := false
	c := &cobra.Command{
		Use:   "resume (CLUSTER | SOURCE/TARGET)... | --all",
		Short: "Resume what was suspended for an incident",
		Long: `End what "linkwright suspend" suspended, whoever did it. For a week, "linkwright
events" shows who resumed it. This does not resume a
cluster or link that is declared with suspend: true: change the declaration.`,
		Example: `  linkwright resume east --kubeconfig management.yaml
  linkwright resume --all --kubeconfig management.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return cli.Usage("name the clusters or links to resume, or give --all")
			}
			named, err := suspensions(args)
			if err != nil {
				return err
			}
			return d.decide(c, func(r *inventory.Record, by string) (outcome, error) { return d.resume(r, by, named) })
		},
	}
	d.addManagement(c.Flags())
	c.Flags().BoolVar(&all, "all", false, "everything that is suspended")
	return c
}

// resume ends suspensions of what is named, or all. What is not suspended stays as it is, and that is no error, so that a command may be repeated.
// If the record does not know a name, nothing is resumed.
func (d *deciding) resume(r *inventory.Record, by string, named []inventory.Decision) (outcome, error) {
	of := func(one inventory.Decision) func(inventory.Decision) bool {
		return func(o inventory.Decision) bool { return o.Kind == inventory.Suspend && o.Object() == one.Object() }
	}
	var missing []string
	for _, one := range named {
		if slices.ContainsFunc(r.Decisions, of(one)) {
			continue
		}
		if err := checkSuspension(*r, one); err != nil {
			return outcome{}, err
		}
		missing = append(missing, one.Object())
	}
	var out outcome
	gone := r.RemoveDecisions(func(o inventory.Decision) bool {
		return o.Kind == inventory.Suspend && (len(named) == 0 || slices.ContainsFunc(named, func(one inventory.Decision) bool { return of(one)(o) }))
	})
	out.add(report.Withdrawn, gone...)
	out.followed = len(gone) > 0
	r.Resumed(gone, by, time.Now())
	switch {
	case len(missing) > 0:
		out.unchanged = notSuspended(missing, *r)
	case len(out.changes) == 0:
		out.unchanged = "nothing is suspended by linkwright suspend"
	}
	return out, nil
}

// notSuspended says that names are not suspended, and what is.
func notSuspended(names []string, r inventory.Record) string {
	is := " is"
	if len(names) > 1 {
		is = " are"
	}
	lines := []string{strings.Join(names, ", ") + is + " not suspended by linkwright suspend"}
	for _, o := range r.Decisions {
		if o.Kind == inventory.Suspend && o.Check() == nil {
			lines = append(lines, "suspended: "+o.Object()+", by "+o.By)
		}
	}
	return strings.Join(lines, "\n")
}
