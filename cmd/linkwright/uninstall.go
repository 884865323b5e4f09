package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

func uninstallCommand() *cobra.Command {
	t := takeover{after: "leave it at 0, or remove the declarations before you scale it back: it links again what is still declared"}
	var out cli.Format
	wait := 10 * time.Minute // more than a drain takes
	c := &cobra.Command{
		Use:   "uninstall --repo URL",
		Short: "Unlink everything",
		Long: `Remove everything of this installation, mirrors included, from every cluster
that the repository declares or the management cluster's record remembers. It
works as if every Cluster were declared with state: Leaving.

It first shows what it removes, and asks, unless you use --yes. Without --yes
and without a terminal it stops there; the exit code is 4 if there is something
to do, and 0 if not. Run it again to continue. With --yes, the exit code is 0
only when nothing is left.

If a cluster cannot be read, its cleanup stays pending, and the exit code is 4:
run it again when the cluster is back. If the cluster never comes back, remove
its declaration and use --abandon-cluster. The command then says what stays
there. A source that does not answer keeps its access to others for
--unreachable-source-timeout.

Objects with linkwright.dev/prune: disabled stop it, and so does a prune.policy
that deletes nothing. At the end it deletes the record. Namespaces stay, and
what you installed: linkwright's Deployment, rights, Leases and access Secrets.
Stop the daemon and processes with --only-write first. While one of them holds
its Lease, the command does nothing, and the exit code is 5.

To keep the links, use "release".`,
		Example: `  linkwright uninstall --repo URL --kubeconfig management.yaml
  linkwright uninstall --repo URL --kubeconfig management.yaml --yes --wait 15m
  linkwright uninstall --repo URL --yes --abandon-cluster east`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return t.do(c, out.Format, func(e engine, f *fleet.Fleet) (task, error) {
				e.Loop.Patience, e.Loop.Uninstall = wait, true
				u := uninstalling{engine: e, takeover: &t, out: printing(c, out.Format), declared: e.Loop.Declared, fleet: f}
				return u.do, nil
			})
		},
	}
	t.add(c.Flags(), "Remove all of this?")
	cli.Group(c.Flags(), cli.GroupClusters, t.Management.AddDead)
	out.Add(c.Flags(), report.Formats())
	c.Flags().Var(&cli.Span{At: &wait, None: true}, "wait", "how long to wait for what happens by itself")
	return c
}

// leaving declares that every cluster leaves, also those that are only remembered.
type leaving struct {
	sync.Declared
	departed []fleet.Cluster
}

// Next implements sync.Declared.
func (l leaving) Next(ctx context.Context) (sync.Declaration, error) {
	return l.all(l.Declared.Next(ctx))
}

// At implements sync.Declared.
func (l leaving) At(ctx context.Context, commit api.Commit) (sync.Declaration, error) {
	return l.all(l.Declared.At(ctx, commit))
}

func (l leaving) all(d sync.Declaration, err error) (sync.Declaration, error) {
	if err != nil || d.Fleet == nil {
		return d, err
	}
	clusters := slices.Concat(d.Fleet.Clusters, l.departed)
	for i := range clusters {
		clusters[i].Spec.State = api.Leaving
	}
	slices.SortFunc(clusters, func(a, b fleet.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	d.Fleet = &fleet.Fleet{Commit: d.Fleet.Commit, Clusters: clusters, Policy: d.Fleet.Policy} // without a link
	return d, nil
}

// remembered are the clusters that left the fleet, without those that people give up if not all can be removed: what is declared is never given up.
func (e engine) remembered(w state.Snapshot) []fleet.Cluster {
	return slices.DeleteFunc(slices.Clone(w.Departed), func(c fleet.Cluster) bool {
		side := w.Clusters[c.Name]
		base, _ := inventory.ReadBase(w.Owner, side.Live)
		return w.Abandoned[c.Name] && (!side.Known() || len(side.Live.Hidden)+len(base.Values) > 0)
	})
}

// uninstalling is one run of the command.
type uninstalling struct {
	engine
	*takeover
	out      printer
	declared sync.Declared // before every cluster was declared to leave
	fleet    *fleet.Fleet  // likewise
}

// do shows what goes, and with write takes it away.
func (u *uninstalling) do(ctx context.Context, term int64, write bool) error {
	u.Loop.Declared = u.declared
	w, err := u.Look(ctx, term)
	if err != nil {
		return err
	}
	u.Loop.Declared = leaving{u.declared, u.remembered(w)}
	if w, err = u.Look(ctx, term); err != nil {
		return err
	}
	left := plan.Left(w, nil)
	u.plans(w, report.Diff{})
	if len(left) == 0 {
		cli.Say(u.out.notes, "no link is left")
		cli.Say(u.out.notes, staysInstalled)
		u.warn()
		return u.finish(ctx, term, write, u.out)
	}
	_, steps := plan.Simulate(w, u.Loop.Renderer, u.Loop.Policies...)
	d := removals(w, steps)
	d.Unlinks = plan.Unlinks(w, steps, u.Loop.Renderer, u.Loop.Policies...)
	u.plans(w, d)
	if !u.asked {
		if text := d.UnlinksText(); text != "" {
			cli.Say(u.out.notes, text)
		}
		u.going(w, steps, u.out)
	}
	switch {
	case write:
		return u.remove(ctx, term)
	case u.Writing.Mode == cli.DryRunServer:
		var all []object.Change
		for _, name := range sortedNames(w) {
			all = append(all, liveChanges(u.Loop.Owner, w.Clusters[name].Live, lastChanges(steps[name]))...)
		}
		return cmp.Or(errors.Join(dryRuns{u.Engine}.rehearse(ctx, all), stopped(steps)), errPending)
	}
	sayLeft(u.out, left, "holds now")
	u.warn()
	cli.Say(u.out.notes, "Stop the daemon and processes with --only-write first: while one of them holds its Lease, nothing is removed, and the exit code is 5.")
	if u.Writing.Dry() {
		return cmp.Or(stopped(steps), errPending)
	}
	return errPending
}

// staysInstalled is what no uninstall removes.
const staysInstalled = "Namespace linkwright-access stays in every cluster, and what you installed: linkwright's Deployment, Leases, access Secrets, accounts, rights and policies."

// warn says that the next sync writes again what is still declared.
func (u *uninstalling) warn() {
	if text := stillDeclared(u.fleet); text != "" {
		cli.Say(u.out.notes, text)
	}
}

// stillDeclared is a warning of declarations that the next sync would write again; empty: there are none. A cluster that leaves is none.
func stillDeclared(f *fleet.Fleet) string {
	if f == nil {
		return ""
	}
	clusters := 0
	for _, c := range f.Clusters {
		if c.Spec.State != api.Leaving {
			clusters++
		}
	}
	var what []string
	if clusters > 0 {
		what = append(what, object.Count(clusters, "cluster"))
	}
	if n := f.NumLinks(); n > 0 {
		what = append(what, object.Count(n, "link"))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("The repository still declares %s. The next sync writes that again: remove the declarations, or keep the daemon stopped and run no sync.", strings.Join(what, " and "))
}

// removals name what steps remove, and say what they leave.
func removals(w state.Snapshot, steps map[api.ClusterName][]plan.Step) (d report.Diff) {
	for _, name := range sortedNames(w) {
		cd := ends(report.ClusterDiff{Name: name}, steps[name])
		for _, c := range lastChanges(steps[name]) {
			if takesAway(c) {
				cd.Objects = append(cd.Objects, named(c))
			}
		}
		d.Clusters = append(d.Clusters, cd)
	}
	return d
}

// takesAway reports whether a change deletes or releases an object, or puts values of Linkerd's installation back.
func takesAway(c object.Change) bool {
	return c.Action == object.Delete || c.Action == object.Release || c.Action == object.Patch
}

// named is a change of which only the object's name is shown.
func named(c object.Change) report.ObjectDiff {
	return report.ObjectDiff{Action: c.Action, Key: c.Key, Why: c.Why}
}

// stopped gives the exit code of steps of which some are denied or blocked.
func stopped(steps map[api.ClusterName][]plan.Step) error {
	var d report.Diff
	for name, of := range steps {
		d.Clusters = append(d.Clusters, ends(report.ClusterDiff{Name: name}, of))
	}
	if d.Stopped() {
		return cli.Exit{Code: cli.ExitPartial}
	}
	return nil
}

// remove takes everything away, and says what is left.
func (u *uninstalling) remove(ctx context.Context, term int64) error {
	e, out := u.engine, u.out
	if err := e.uninstallBegins(ctx); err != nil {
		return err
	}
	r, failed := e.Once(ctx, term)
	if err := u.reports(out, r); err != nil {
		return err
	}
	again := e.installation().Command("uninstall --yes")
	if errors.Is(failed, sync.ErrInterrupted) {
		cli.Say(out.notes, "There may be more to remove: run "+again+" again. A sync would write all that is declared again.")
		return cli.ShownVerdict(out.format, r, failed)
	}
	cli.Say(out.notes, staysInstalled)
	u.warn()
	e.Loop.Abandoned = nil // what was given up is not in the record any more
	w, err := e.Look(ctx, term)
	if err != nil {
		return errors.Join(cli.ShownVerdict(out.format, r, failed), err)
	}
	left := plan.Left(w, nil)
	sayLeft(out, left, "left")
	if slices.ContainsFunc(left, func(l plan.LeftOver) bool { return l.Unread != nil || len(l.Cleanup) > 0 }) {
		cli.Say(out.notes, "Not all is removed: run "+again+" again once every cluster can be read.")
	}
	err = cli.ShownVerdict(out.format, r, failed)
	if err == nil && len(left) > 0 {
		err = cli.Exit{Code: cli.ExitPartial}
	}
	return errors.Join(err, e.dropRecord(ctx))
}

// uninstallBegins records when the uninstall began, so that status says so until it or a sync ends that. Without a record there is nothing to add it to.
func (e engine) uninstallBegins(ctx context.Context) error {
	known, err := e.record(ctx)
	if err != nil || known.Was.IsZero() {
		return err
	}
	return installedOf(e.Engine).recorded().Amend(ctx, e.Loop.Owner, func(r *inventory.Record) error {
		if !r.Revision.UninstallSince.IsZero() {
			return record.ErrUnchanged
		}
		r.Revision.UninstallSince = time.Now().UTC().Truncate(time.Second)
		return nil
	})
}

// sayLeft writes a line for each cluster that still holds something.
func sayLeft(out printer, left []plan.LeftOver, what string) {
	for _, l := range left {
		switch {
		case l.Unread != nil:
			cli.Say(out.notes, fmt.Sprintf("%s: linkwright does not know what is left there: it was not read (%s)", l.Cluster, l.Unread.Code))
		case len(l.Objects) > 0:
			cli.Say(out.notes, fmt.Sprintf("%s: %s: %s, the first is %s", l.Cluster, what, object.Count(len(l.Objects), "object"), l.Objects[0]))
		}
		if len(l.Orphans) > 0 {
			cli.Say(out.notes, fmt.Sprintf("%s: %s with linkwright's label that no inventory lists, the first is %s: delete those that you do not need", l.Cluster, object.Count(len(l.Orphans), "object"), l.Orphans[0]))
		}
		for _, o := range l.Cleanup {
			cli.Say(out.notes, fmt.Sprintf("%s: left of removed link %s: %s", l.Cluster, o.Link, o.Left))
		}
	}
}

// finish deletes the record of an installation of which nothing is left in any cluster. An uninstall or a release of everything that was
// killed at its very end may have left clusters in the record: one more sync takes them out.
func (e engine) finish(ctx context.Context, term int64, yes bool, out printer) error {
	if !yes {
		return nil
	}
	known, err := e.record(ctx)
	if err != nil {
		return err
	}
	if len(known.Clusters) > 0 {
		if r, err := e.Once(ctx, term); err != nil {
			return cli.Verdict(r, err)
		}
		if known, err = e.record(ctx); err != nil {
			return err
		}
	}
	if len(known.Clusters) > 0 {
		cli.Say(out.notes, "the record still names clusters: run this again")
		return cli.Exit{Code: cli.ExitPartial}
	}
	return e.dropRecord(ctx)
}

// going shows, from the simulated steps of a removal, what is deleted, what prevents that, and which removals began before and wait.
func (e engine) going(w state.Snapshot, steps map[api.ClusterName][]plan.Step, out printer) {
	for _, name := range sortedNames(w) {
		cd := ends(report.ClusterDiff{Name: name}, steps[name])
		if cd.Denied != nil {
			cli.Say(out.notes, fmt.Sprintf("%s: nothing is removed: %s: %s", name, cd.Denied.Code, cd.Denied.Message))
		}
		for _, r := range cd.Rows {
			switch {
			case r.Why == nil:
			case r.Phase == plan.Denied:
				cli.Say(out.notes, fmt.Sprintf("%s: stays: %s: %s", r.End, r.Why.Code, r.Why.Message))
			case r.Phase == plan.Waiting && r.Leaving:
				cli.Say(out.notes, fmt.Sprintf("%s: is being removed: %s: %s", r.End, r.Why.Code, r.Why.Message))
			case r.Why.Code == reason.Abandoned:
				cli.Say(out.notes, fmt.Sprintf("%s: %s", name, r.Why.Message))
			}
		}
		for _, c := range lastChanges(steps[name]) {
			if takesAway(c) {
				line := fmt.Sprintf("%s: %s %s", c.End, c.Action, c.Key)
				if c.Action == object.Patch {
					line += ": " + c.Why.Message
				}
				cli.Say(out.notes, line)
			}
		}
	}
}
