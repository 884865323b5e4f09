package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

func adoptCommand() *cobra.Command {
	t := takeover{after: "scale it back"}
	var out cli.Format
	var rules state.AdoptRules
	c := &cobra.Command{
		Use:   "adopt --repo URL (LINK... | --all)",
		Short: "Take over links that were made by hand",
		Long: `Take over links that were made by hand or by Helm: by link-gen, the chart's
controllers, or the older "linkerd multicluster link". The repository must
declare them. LINK is the name of a Link or a Mesh, or a link as any output
shows it: SOURCE/TARGET, "SOURCE → TARGET" or "SOURCE->TARGET".

It first shows, object by object, what the adoption writes and what the next
sync changes, by dry runs. Then it asks, unless you use --yes. Without --yes and
without a terminal it stops there; the exit code is 4 if there is something to
adopt, and 0 if not. An adoption writes only labels, annotations and
inventories. No pod restarts, no object is created again, and the controller
keeps its Lease. Objects of Helm get helm.sh/resource-policy: keep, so that Helm
leaves them when you remove the link from the chart's values.

It takes over only what Linkerd's own tools made or a release left, by name and
label: with links that are Shared, also their shared controller. It takes the
Leases of "run" and "sync", also those of --only-write. While a daemon holds one
of them, it does nothing, and the exit code is 5.`,
		Example: `  linkwright adopt west/east --repo URL --kubeconfig management.yaml
  linkwright adopt --all --repo URL --kubeconfig management.yaml --yes
  linkwright adopt west/east --repo URL --owner blue --from-owner linkwright`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := t.checkAdoption(args, rules); err != nil {
				return err
			}
			return t.do(c, out.Format, func(e engine, f *fleet.Fleet) (_ task, err error) {
				e.Loop.Adopt, e.Loop.Rules = cli.AllLinks(f), rules
				if !t.all {
					e.Loop.Adopt, err = cli.Links(f, args, false)
				}
				a := adoption{engine: e, takeover: &t, out: printing(c, out.Format)}
				return a.do, err
			})
		},
	}
	t.add(c.Flags(), "Adopt this?")
	out.Add(c.Flags(), report.DescribeFormats())
	c.Flags().BoolVar(&t.all, "all", false, "all declared links")
	c.Flags().StringVar(&rules.From, "from-owner", "", "OWNER: also take over what a removed installation of linkwright left")
	c.Flags().BoolVar(&rules.Managed, "force-manager", false, "also take over objects that Argo CD or Flux manage")
	return c
}

func (t *takeover) checkAdoption(args []string, rules state.AdoptRules) error {
	if rules.From != "" && rules.From == t.Management.Owner {
		return cli.Usage("--from-owner %s is this installation (--owner): give the owner of the other one", rules.From)
	}
	return cli.SomeOrAll(args, t.all)
}

// adoption is one run of the command.
type adoption struct {
	engine
	*takeover
	out   printer
	shown *proof // what a person saw, and said yes to
}

// do shows what an adoption does, and with write does exactly that.
func (a *adoption) do(ctx context.Context, term int64, write bool) error {
	w, err := a.Look(ctx, term)
	if err != nil {
		return err
	}
	proving := a.Live.Show(ctx, live.DryRuns)
	p := a.prove(ctx, w, a.Writing.Mode)
	proving()
	if err := cli.Interrupted(ctx); err != nil {
		return err // what was tried until then is no plan
	}
	a.plans(w, p.diff())
	if !a.asked {
		if err := p.write(a.out.notes); err != nil {
			return err
		}
		a.shown = p
	}
	switch {
	case len(p.adoptions) == 0:
		return p.verdict()
	case a.Writing.Mode == cli.DryRunServer:
		return cmp.Or(errors.Join(dryRuns{a.Engine}.rehearse(ctx, p.adoptions), p.verdict()), errPending)
	case a.Writing.Mode == cli.DryRunClient:
		return cmp.Or(p.verdict(), errPending)
	case !write:
		return errPending
	}
	a.Loop.Policies = append(slices.Clone(a.Loop.Policies), a.shown.shown)
	r, failed := a.Once(ctx, term)
	if a.out.format != report.Text {
		if err := a.reports(a.out, r); err != nil {
			return err
		}
	}
	if errors.Is(failed, sync.ErrInterrupted) {
		return errors.Join(cli.Verdict(r, failed), adopted(a.out.notes, r.Clusters))
	}
	if failed != nil {
		return cli.Exit{Code: cli.ExitError, Err: failed}
	}
	return errors.Join(adopted(a.out.notes, r.Clusters), p.verdict())
}

// shown is a Policy: nothing is adopted but what people saw.
func (p *proof) shown(_ state.Snapshot, _ object.End, changes []object.Change) *object.Reason {
	for _, c := range changes {
		same := func(o object.Change) bool {
			return o.End.Cluster == c.End.Cluster && o.Key == c.Key && o.Was.UID == c.Was.UID
		}
		if c.Action == object.Adopt && !slices.ContainsFunc(p.adoptions, same) {
			return object.Because(reason.ChangedSinceShown, "%s appeared after the plan was shown: run adopt again", c.Key)
		}
	}
	return nil
}

// adoptions simulates the adoption, and everything after it.
func adoptions(w state.Snapshot, r plan.Renderer, policies []plan.Policy) (first map[api.ClusterName]plan.Step, then map[api.ClusterName][]plan.Step) {
	first = map[api.ClusterName]plan.Step{}
	next := w
	next.Clusters, next.Adopt = maps.Clone(w.Clusters), nil
	for _, name := range sortedNames(w) {
		first[name] = plan.Next(w, name, r, policies...)
		next.Clusters[name] = plan.After(w.Clusters[name], first[name])
	}
	next.IssuedCredentials = missingCredentials(next)
	_, then = plan.Simulate(next, r, policies...)
	return first, then
}
