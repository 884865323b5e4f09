package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/decide"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

func statusCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	watch := false
	c := &cobra.Command{
		Use:   "status [--repo URL]",
		Short: "Show the status of every link",
		Long: `Show the status of every link. Nothing is written.

The first lines say which revision is applied in which clusters, which one is
observed and why it is not applied, and which process leads, or when the last
sync ended. AGE is the time since READY or its reason changed.

Without --repo it shows the conditions that the last "run" or "sync" wrote into
the clusters' inventories. It asks the clusters in the management cluster's
record, and needs no repository and no daemon. --watch repeats it after each
change. The exit code is 4 if not all is as declared, 2 if nothing could be
read, and with --repo 3 if the declarations are invalid.

With --repo it reads the repository and the clusters, and compares them:

  Ready        all is as declared, and the link works
  Progressing  linkwright has something to write, or something happens by itself
  Suspended    it is left as it is, because that is declared or decided
  Leaving      it is being removed
  Stalled      a write failed, or the link does not work
  Blocked      it cannot be rendered or written, or its target cannot be read
  Denied       a guard, a policy or an approval forbids the change
  Unknown      nobody knows how it is: nothing could be read of it
  Removed      nothing of it is left

Without --repo, -o wide shows each end as Recorded (its inventory lists its
objects), Leaving (it is being removed), Absent (no inventory has it), or
Unknown (its cluster was not read).`,
		Example: `  linkwright status --kubeconfig management.yaml -o wide
  linkwright status --kubeconfig management.yaml --watch
  linkwright status --repo URL --kubeconfig management.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case f.Git.Options.Repo == "", watch && cli.FromVariable(c.Flags().Lookup("repo")):
				return showStatus(&f.Management, c, out.Format, watch)
			case watch:
				return cli.Usage("--watch reads only inventories: leave out --repo")
			}
			return compare(&f, c, out.Format)
		},
	}
	f.Git.Here = true
	f.Add(c.Flags())
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddConfinement)
	out.Add(c.Flags(), report.StatusFormats())
	c.Flags().BoolVar(&watch, "watch", false, "show the status again whenever it changes; not with --repo")
	return c
}

// compare compares the links with what the repository declares.
func compare(f *cli.Common, c *cobra.Command, as report.Format) error {
	f.Shows(c, false, as)
	e, err := f.Open(c.Context(), c.ErrOrStderr())
	if err != nil {
		return err
	}
	defer e.Close(c.Context())
	e.ReadOnly()
	r, failed := e.Once(c.Context(), cli.NoLeadership)
	if o, ok := (engine{e}).lastKnown(c.Context(), r, failed); ok {
		return cmp.Or(cli.Write(c.OutOrStdout(), as, o.Answer()), shownVerdict(o.Revision.Uninstall, as, r, failed))
	}
	r = engine{e}.withRecord(c.Context(), r, failed)
	if r.Opening != nil && r.Opening.Leader == nil && !r.Opening.Unread && cli.Interrupted(c.Context()) == nil { // it may be the wrong cluster
		f.Management.Announce(c.ErrOrStderr(), e.Loop.Log)
	}
	if err := cli.Write(c.OutOrStdout(), as, r.StatusAnswer()); err != nil {
		return err
	}
	if err := shownVerdict(r.Uninstall(), as, r, failed); err != nil || r.Works() {
		return err
	}
	return cli.Exit{Code: cli.ExitPartial}
}

// lastKnown is what inventories record, if no revision could be compared with the clusters: what was observed is not applied, and the applied one could
// not be loaded. It says why, also where no cluster could be read; false: the report says more, or there is no record that can be read.
func (e engine) lastKnown(ctx context.Context, r report.Report, failed error) (report.Overview, bool) {
	if failed == nil || len(r.Clusters) > 0 || errors.Is(failed, sync.ErrInvalid) || unanswered(failed) || cli.Interrupted(ctx) != nil {
		return report.Overview{}, false
	}
	o, err := installedOf(e.Engine).firstOverview(ctx, false)
	if err != nil || len(o.Clusters) == 0 {
		return report.Overview{}, false
	}
	o.Revision, o.Err = observedNow(o.Revision, r, failed), r.Err
	return o, true
}

// unanswered reports whether the management cluster did not answer. To ask it again would take as long again.
func unanswered(failed error) bool {
	return errors.Is(failed, record.ErrNotRead) && cluster.Unanswered(failed)
}

// withRecord adds to a report what the record, the leases and inventories say, and what reading the repository adds to that.
func (e engine) withRecord(ctx context.Context, r report.Report, failed error) report.Report {
	if cli.Interrupted(ctx) != nil { // nothing more is read
		return r
	}
	if unanswered(failed) {
		r.Opening = &report.Opening{Unread: true, At: time.Now()}
		return r
	}
	known, err := installedOf(e.Engine).recorded().Record(ctx, e.Loop.Owner)
	out := installedOf(e.Engine).opening(ctx, known)
	switch {
	case err != nil: // the report says so
	case known.Was.IsZero():
		r.NeverApplied = out.Idle()
	default:
		out.Revision = observedNow(out.Revision, r, failed)
	}
	r.Opening, r.Suspensions = &out, decide.Suspensions(known)
	r.Recorded, r.RecordedIn = installedOf(e.Engine).recordedConditions(ctx, r)
	return r
}

// whileUninstalling replaces the error of a denied revision if an uninstall began, because no revision is applied then; false: it stays.
func whileUninstalling(u report.Uninstall, failed error) (cli.Exit, bool) {
	_, denied := errors.AsType[sync.DeniedRevision](failed)
	text := strings.TrimSpace(u.Line())
	return cli.Exit{Code: cli.ExitPartial, Err: errors.New(text)}, denied && text != ""
}

// shownVerdict is the verdict on an answer that was written, which has the unfinished uninstall, too.
func shownVerdict(u report.Uninstall, as report.Format, r report.Report, failed error) error {
	if exit, ok := whileUninstalling(u, failed); ok {
		exit.Shown = true
		return exit
	}
	return cli.ShownVerdict(as, r, failed)
}

// observedNow is what the record remembers of revisions, with what was just seen of the repository.
func observedNow(known report.Revision, r report.Report, failed error) report.Revision {
	why := unappliedNow(r, failed)
	switch {
	case why == nil && (r.Head == "" || known.Applied == r.Head):
		known.Why = nil
	case why == nil && known.Observed == r.Head && known.Why != nil: // another process applies it not, whatever this one would do
		return known
	case why == nil && known.Applied == "":
		return known // the record does not have what is applied
	case why == nil:
		known.Why = object.Because(reason.NotAppliedYet, "no sync has applied it yet")
	case known.Observed == r.Head && known.Why != nil && known.Why.Code == why.Code:
		known.Why = why
		return known // with since when that is so
	default:
		known.Why = why
	}
	known.Observed, known.Since = cmp.Or(r.Head, known.Observed), time.Time{}
	return known
}

// unappliedNow says why this process would not apply what it observed; nil: it would.
func unappliedNow(r report.Report, failed error) *object.Reason {
	refused, denied := errors.AsType[sync.DeniedRevision](failed)
	switch {
	case failed == nil:
		return nil
	case errors.Is(failed, sync.ErrInvalid):
		return object.Because(reason.InvalidDeclarations, "%s", report.First(r.Problems))
	case denied:
		return object.Because(reason.NonFastForward, "%v", refused.Unwrap())
	case r.Head == "":
		return object.Because(reason.RepositoryNotRead, "%v", failed)
	}
	return object.Because(reason.RevisionNotRead, "%v", failed)
}
