package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

func releaseCommand() *cobra.Command {
	t := takeover{after: "remove the declarations of these links before you scale it back: links that are still declared are Blocked (ObjectExists)"}
	var out cli.Format
	c := &cobra.Command{
		Use:   "release --repo URL (LINK... | --all)",
		Short: "Give links up and leave their objects",
		Long: `Give links up and leave their objects. It removes linkwright's labels and
annotations at both ends, and then the inventories. It deletes and changes
nothing that Linkerd uses, so the links go on working, with the accounts and
tokens that linkwright made. LINK is the name of a Link or a Mesh, or a link as
any output shows it: SOURCE/TARGET, "SOURCE → TARGET" or "SOURCE->TARGET". A
link that is not declared any more has only these.

It first shows what it gives up, and asks, unless you use --yes. Without --yes
and without a terminal it stops there; the exit code is 4 if there is something
to do, and 0 if not. A link that is still declared is then Blocked with
ObjectExists: remove its declaration, or take it over again with "adopt". It
takes the Leases of "run" and "sync", also those of --only-write. While a daemon
holds one of them, it does nothing, and the exit code is 5.`,
		Example: `  linkwright release west/east --repo URL --kubeconfig management.yaml
  linkwright release --all --repo URL --kubeconfig management.yaml --yes`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.SomeOrAll(args, t.all); err != nil {
				return err
			}
			return t.do(c, out.Format, func(e engine, f *fleet.Fleet) (task, error) {
				links, err := cli.Links(f, args, true)
				e.Loop.Release = &state.Releasing{Links: links, All: t.all}
				r := releasing{engine: e, takeover: &t, out: printing(c, out.Format)}
				return r.do, err
			})
		},
	}
	t.add(c.Flags(), "Give this up?")
	c.Flags().BoolVar(&t.all, "all", false, "everything of linkwright, in all clusters")
	out.Add(c.Flags(), report.Formats())
	return c
}

// printer is where a report goes, and how; notes is for the lines beside it, which a report for programs must not hold.
type printer struct {
	io.Writer
	notes  io.Writer
	format report.Format
}

func printing(c *cobra.Command, f report.Format) printer {
	p := printer{c.OutOrStdout(), c.OutOrStdout(), f}
	if f.Kind() != report.Text {
		p.notes = c.ErrOrStderr()
	}
	return p
}

// releasing is one run of the command.
type releasing struct {
	engine
	*takeover
	out printer
}

// do shows what is given up, and with write does it.
func (r *releasing) do(ctx context.Context, term int64, write bool) error {
	w, err := r.Look(ctx, term)
	if err != nil {
		return err
	}
	if err := mistaken(w, r.Loop.Release.Links); err != nil {
		return err
	}
	changes, denied := r.changes(w)
	left := r.unreleased(w)
	switch {
	case len(changes) == 0 && len(left) > 0:
		sayLeft(r.out, left, "left")
		return cli.Exit{Code: cli.ExitPartial}
	case len(changes) == 0:
		cli.Say(r.out.notes, "nothing to give up")
		if !r.Loop.Release.All {
			return nil
		}
		return r.finish(ctx, term, write, r.out)
	case r.Writing.Mode == cli.DryRunServer:
		return cmp.Or(errors.Join(dryRuns{r.Engine}.rehearse(ctx, changes), denied), errPending)
	case r.Writing.Dry():
		return cmp.Or(denied, errPending)
	case !write:
		cli.Say(r.out.notes, "\nLinks that are still declared are Blocked (ObjectExists) afterwards.")
		return errPending
	}
	done, failed := r.Once(ctx, term)
	if err := r.reports(r.out, done); err != nil {
		return err
	}
	if errors.Is(failed, sync.ErrInterrupted) {
		return cli.ShownVerdict(r.out.format, done, failed)
	}
	cli.Say(r.out.notes, "Links that are still declared are Blocked (ObjectExists) from now on: remove their declarations, or adopt them again.")
	return errors.Join(cli.ShownVerdict(r.out.format, done, failed), r.dropRecord(ctx))
}

// changes are what gives the links up, and the exit code if a cluster denies it. Each is shown, unless that was done before.
func (r *releasing) changes(w state.Snapshot) (out []object.Change, denied error) {
	notes := r.out.notes
	if r.asked {
		notes = io.Discard
	}
	var d report.Diff
	for _, name := range sortedNames(w) {
		s := plan.Next(w, name, r.Loop.Renderer)
		cd := report.ClusterDiff{Name: name, Denied: s.Denied}
		if s.Denied != nil {
			cli.Say(notes, fmt.Sprintf("%s: nothing is given up: %s: %s", name, s.Denied.Code, s.Denied.Message))
			denied = cli.Exit{Code: cli.ExitPartial}
		}
		for _, c := range append(s.Changes, s.After...) {
			cli.Say(notes, fmt.Sprintf("%s: %s %s", c.End, fate(c), c.Key))
			out = append(out, c)
			cd.Objects = append(cd.Objects, named(c))
		}
		d.Clusters = append(d.Clusters, cd)
	}
	r.plans(w, d)
	return out, denied
}

// unreleased is what clusters still hold of the links that are given up. A cluster that no such link touches is not asked.
func (e engine) unreleased(w state.Snapshot) []plan.LeftOver {
	asked := e.Loop.Release
	left := plan.Left(w, func(end object.End) bool { return asked.All || asked.Links[end.Link] })
	return slices.DeleteFunc(left, func(l plan.LeftOver) bool { return l.Unread != nil && !asked.Affects(w, l.Cluster) })
}

// mistaken reports a link that names a cluster that is neither declared nor in the record.
func mistaken(w state.Snapshot, links map[api.Pair]bool) error {
	for _, p := range slices.SortedFunc(maps.Keys(links), api.Pair.Compare) {
		for _, name := range []api.ClusterName{p.Source, p.Target} {
			_, declared := w.Fleet.Cluster(name)
			if !declared && !slices.ContainsFunc(w.Departed, func(c fleet.Cluster) bool { return c.Name == name }) {
				return fmt.Errorf("release %s: no cluster %s is declared or in the record: linkwright status lists all links", p, name)
			}
		}
	}
	return nil
}

// fate is what becomes of an object.
func fate(c object.Change) string {
	if c.Releases() {
		return "leave"
	}
	return c.Action.String()
}

// dropRecord deletes the record of clusters once it names none, and no cleanup is pending.
func (e engine) dropRecord(ctx context.Context) error {
	r, err := e.record(ctx)
	if err != nil || len(r.Clusters) > 0 || r.Was.IsZero() {
		return err
	}
	key := inventory.RecordKey(e.Loop.Owner, e.Loop.Management.Namespace)
	_, err = e.Loop.Management.Cluster.Write(ctx, object.Change{Action: object.Delete, Key: key, Was: r.Was})
	return err
}
