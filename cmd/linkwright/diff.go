package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/source"
	"github.com/linkwright/linkwright/sync/state"
)

func diffCommand() *cobra.Command {
	var f cli.Common
	var factsFile string
	var out cli.Format
	c := &cobra.Command{
		Use:   "diff --repo URL [REV | REV1..REV2]",
		Short: "Show what a revision changes",
		Long: `Show what a revision changes. Nothing is written anywhere.

With one revision (default: --ref) it compares the revision with the live
clusters, by server-side dry run. With REV1..REV2 it compares two revisions
without any cluster. Facts of clusters then come from --facts, else from the
declarations, else both sides have the same placeholders.

It first says which links are new, and which mirror Services a narrower selector
costs. Of each link that is removed, it says what happens in order, which mirror
Services go, and what denies or delays that. An object that is deleted is one
line: -o yaml has its body, too.

Values of secrets are short hashes. The exit code is 1 if there are differences,
and 4 if something is Denied or Blocked, or could not be compared.`,
		Example: `  linkwright diff --repo URL --kubeconfig management.yaml
  linkwright diff --repo . main..my-branch -o markdown`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Management.Check(); err != nil {
				return err
			}
			var between revisions
			two := false
			if len(args) > 0 {
				between.from, between.to, two = strings.Cut(args[0], "..")
			}
			if strings.HasPrefix(between.to, ".") { // no name of a ref begins so
				return cli.Usage("%s: a comparison with the merge base is not supported: write REV1..REV2", args[0])
			}
			f.Shows(c, false, out.Format)
			var d difference
			var err error
			if repo := f.Git.Options.Repo; two {
				d, err = offlineDiff(&f, c, factsFile, between)
				err = between.explain(err, repo)
			} else {
				d, err = liveDiff(c.Context(), &f, c.ErrOrStderr(), between.from)
			}
			if err != nil {
				return err
			}
			return d.finish(c, out.Format)
		},
	}
	f.Git.Here = true
	f.Add(c.Flags())
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddConfinement)
	c.Flags().StringVar(&factsFile, "facts", "", "YAML file of facts for REV1..REV2, as render --save-facts writes it")
	out.Add(c.Flags(), report.Formats())
	return c
}

// difference is a diff, with the snapshot after it: the uids of its clusters key the hashes of secrets.
type difference struct {
	report.Diff
	after  state.Snapshot
	failed []error // dry runs that the server refused
}

func (d difference) write(w io.Writer, format report.Format) error {
	key := func(name api.ClusterName) string { return d.after.Clusters[name].Facts.UID }
	return cli.Write(w, format, d.Answer(key))
}

// finish prints. That something could not be compared counts before differences.
func (d difference) finish(c *cobra.Command, format report.Format) error {
	if err := d.write(c.OutOrStdout(), format); err != nil {
		return err
	}
	if len(d.failed) > 0 {
		return cli.Exit{Code: cli.ExitPartial, Err: errors.Join(d.failed...)}
	}
	if d.Stopped() {
		return cli.Exit{Code: cli.ExitPartial}
	}
	if d.Different() {
		return cli.Exit{Code: cli.ExitDifferent}
	}
	if d.Unfinished() {
		return cli.Exit{Code: cli.ExitPartial}
	}
	return nil
}

// revisions are the two that are compared without any cluster.
type revisions struct{ from, to string }

// explain adds to an error the command that compares the same: revisions may be written as Git does, and the repository be the one here.
func (r revisions) explain(err error, repo string) error {
	both := r.from + ".." + r.to
	switch expression := strings.ContainsAny(both, "~^{"); {
	case err == nil:
		return nil
	case repo == "" && r.from != "" && r.to != "":
		return fmt.Errorf("%w; run linkwright diff %s --repo . in a checkout", err, both)
	case expression:
		return fmt.Errorf(`%w; run linkwright diff "$(git -C %[2]s rev-parse '%[3]s')..$(git -C %[2]s rev-parse '%[4]s')" --repo %[2]s`, err, repo, r.from, r.to)
	}
	return err
}

// revisionLoader loads what a revision declares.
type revisionLoader struct {
	*cli.Kustomize
	source *source.Source
	dir    string // of the declarations
}

func (l revisionLoader) load(c *cobra.Command, rev string) (*fleet.Fleet, error) {
	if rev == "" {
		return nil, cli.Usage("REV1..REV2: name both revisions")
	}
	snap, err := l.source.At(c.Context(), rev)
	if err != nil {
		return nil, err
	}
	fl, problems, err := l.Load(c.Context(), declared.Origin{Snapshot: snap, Dir: l.dir})
	for _, p := range problems {
		if fl == nil { // warnings are validate's to show
			cli.Say(c.ErrOrStderr(), rev+":"+report.Line(p)) // as git grep names a file of a revision
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("revision %s: %w", rev, err)
	case fl == nil:
		return nil, cli.Exit{Code: cli.ExitInvalid, Err: fmt.Errorf("revision %s is invalid", rev)}
	}
	return fl, nil
}

// offlineDiff simulates empty clusters until they are as REV1 declares, then until they are as REV2 does, and compares the two.
func offlineDiff(f *cli.Common, c *cobra.Command, factsFile string, between revisions) (difference, error) {
	o, err := cli.NewOffline(f.Management.Owner, factsFile)
	if err != nil {
		return difference{}, err
	}
	f.Git.Options.Ref = cmp.Or(f.Git.Options.Ref, between.to)
	src, err := f.Git.Open()
	if err != nil {
		return difference{}, err
	}
	defer src.Close() //nolint:errcheck // what was wanted of it was read
	k, err := f.Overlays.Open(c.Context(), f.Management.Owner, cli.Warner(c.ErrOrStderr()))
	if err != nil {
		return difference{}, err
	}
	defer k.Close()
	show, _, err := f.Management.Display(c)
	if err != nil {
		return difference{}, err
	}
	c.SetErr(show) // for warnings: they appear above the tree
	defer show.Show(c.Context(), live.Repository)()
	l := revisionLoader{k, src, f.Git.Dir()}
	a, err := l.load(c, between.from)
	if err != nil {
		return difference{}, err
	}
	b, err := l.load(c, between.to)
	if err != nil {
		return difference{}, err
	}
	renderer := f.Management.Renderer(k)
	before, _ := plan.Simulate(plan.WithConfigs(o.Snapshot(a), a, b), renderer)
	begin, policies := plan.WithControllers(plan.WithConfigs(next(o, before, b), a, b)), []plan.Policy{plan.Suspend, plan.PrunePolicy}
	after, steps := plan.Simulate(begin, renderer, policies...)
	d := difference{Diff: linksDiff(begin, steps, renderer, policies), after: after}
	d.Clusters = snapshotsDiff(f.Management.Owner, before, after, steps)
	return d, nil
}

// next is the snapshot of a fleet in which b is declared: new clusters are empty, and clusters that b does not declare have departed.
func next(o *cli.Offline, w state.Snapshot, b *fleet.Fleet) state.Snapshot {
	next := o.Snapshot(b)
	next.Guard.Limits = next.Guard.Limits.Next(w.Fleet.Commit, w.Fleet.Policy.Limits()) // those of a count, too
	for _, c := range w.Fleet.Clusters {
		side := w.Clusters[c.Name]
		if declared, ok := b.Cluster(c.Name); ok && declared.Spec.SameAs == "" {
			side.Facts, side.SecondNameFacts = next.Clusters[c.Name].Facts, next.Clusters[c.Name].SecondNameFacts
		} else {
			next.Departed = append(next.Departed, c)
		}
		next.Clusters[c.Name] = side
	}
	for _, c := range b.Clusters { // a second name that is the cluster's own now
		if was, ok := w.Fleet.Cluster(c.Name); ok && was.Spec.SameAs != "" {
			side, fresh := w.Clusters[was.Spec.SameAs], next.Clusters[c.Name]
			uid := side.Facts.UID
			side.Facts, side.SecondNameFacts = fresh.Facts, fresh.SecondNameFacts
			side.Facts.UID = uid
			next.Clusters[c.Name] = side
		}
	}
	return next
}

// snapshotsDiff compares the objects of two snapshots, cluster by cluster, without linkwright's own bookkeeping.
func snapshotsDiff(owner string, before, after state.Snapshot, steps map[api.ClusterName][]plan.Step) (out []report.ClusterDiff) {
	for _, name := range sortedNames(after) {
		cd := report.ClusterDiff{Name: name}
		a, b, reasons := before.Clusters[name].Live, after.Clusters[name].Live, reasonsOf(steps[name])
		for _, key := range cli.SortedKeys(a, b) {
			if bookkeeping(owner, key) || key.Kind == "Pod" { // linkwright writes no pods: these are of simulated controllers
				continue
			}
			x, inA := a.Body(key)
			y, inB := b.Body(key)
			od := report.ObjectDiff{Key: key, Before: x, After: y, Action: object.Update, Why: reasons[key]}
			switch {
			case inA && inB && string(x.Bytes()) == string(y.Bytes()):
				continue
			case !inA:
				od.Action = object.Create
			case !inB:
				od.Action = object.Delete
			case key == linkerd.ConfigKey(after.Spec(name).Linkerd): // Linkerd's own
				od.Action = object.Patch
			}
			cd.Objects = append(cd.Objects, od)
		}
		slices.SortStableFunc(cd.Objects, func(a, b report.ObjectDiff) int { return deletesLast(a) - deletesLast(b) })
		out = append(out, ends(cd, steps[name]))
	}
	return out
}

// deletesLast orders objects without clusters: as in a cluster, deletes come after the other writes.
func deletesLast(o report.ObjectDiff) int {
	if o.Action == object.Delete {
		return 1
	}
	return 0
}

// bookkeeping says that an object is our own: shown nowhere.
func bookkeeping(owner string, k object.Key) bool {
	return k.Kind == "Namespace" && k.Name == object.AccessNamespace ||
		k.Kind == "ConfigMap" && k.Namespace == object.AccessNamespace && strings.HasPrefix(k.Name, owner+".") ||
		k == inventory.RecordKey(owner, k.Namespace)
}

// liveDiff simulates all steps from what is live, and sends every write as a dry run.
func liveDiff(ctx context.Context, f *cli.Common, stderr io.Writer, rev string) (difference, error) {
	f.Git.Options.Ref = cmp.Or(f.Git.Options.Ref, rev)
	e, err := f.Open(ctx, stderr)
	if err != nil {
		return difference{}, err
	}
	defer e.Close(ctx)
	e.ReadOnly()
	if rev != "" {
		e.Loop.Declared = &declared.Branch{Source: declared.Pinned{Repository: e.Source, Rev: rev}, Loader: e.Kustomize.Loader, Dir: f.Git.Dir(), In: f.Management.Installation()}
	}
	w, err := e.Look(ctx, cli.NoLeadership)
	if err != nil {
		return difference{}, err
	}
	w.IssuedCredentials = missingCredentials(w)
	_, steps := plan.Simulate(w, e.Loop.Renderer, e.Loop.Policies...)
	defer e.Live.Show(ctx, live.DryRuns)()
	d := difference{after: w, Diff: linksDiff(w, steps, e.Loop.Renderer, e.Loop.Policies)}
	for _, name := range sortedNames(w) {
		cd, failed := dryRuns{e}.previews(ctx, w, name, steps[name])
		d.Clusters, d.failed = append(d.Clusters, cd), append(d.failed, failed...)
	}
	return d, cli.Interrupted(ctx)
}
