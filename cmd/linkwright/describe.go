package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
)

func describeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "describe",
		Short: "Show one link or cluster in detail, and what to do about it",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(describeLinkCommand(), describeClusterCommand())
	return c
}

// described are what describe shows of its argument: from a report, or from an overview.
type described struct {
	check    func(arg string) error
	report   func(r report.Report, arg string) (report.Answer, bool)
	overview func(o report.Overview, arg string) (report.Answer, bool)
}

func describeLinkCommand() *cobra.Command {
	return describing(&cobra.Command{
		Use:   "link SOURCE/TARGET",
		Short: "Show one link in detail",
		Long: `Show one link in detail: its status and why it has that status, both ends, the
last transition of each condition ("Events"), and the next step. Nothing is
written.

Without --repo it shows what the clusters' inventories record, as "status" does.
With --repo it reads the repository and the clusters, verifies credentials as
"check" does, and also shows all stages and what the next sync would write.

The exit code is 0 also if the link is not Ready ("status" then exits with 4),
and 2 if it is not found, or nothing could be read. With --repo it is 3 if the
declarations are invalid, and 4 if the observed revision is denied.`,
		Example: `  linkwright describe link west/east --kubeconfig management.yaml
  linkwright describe link west/east --repo URL`,
	}, described{
		check: func(arg string) error {
			pair, ok := cli.ParsePair(arg)
			if !ok {
				return cli.Usage("%q is not a link: write SOURCE/TARGET%s", arg, cli.DidYouMeanLink(arg, nil))
			}
			return cli.CheckPair(pair)
		},
		report: func(r report.Report, arg string) (report.Answer, bool) {
			p, _ := cli.ParsePair(arg)
			return r.LinkAnswer(p)
		},
		overview: func(o report.Overview, arg string) (report.Answer, bool) {
			p, _ := cli.ParsePair(arg)
			return o.LinkAnswer(p)
		},
	})
}

func describeClusterCommand() *cobra.Command {
	return describing(&cobra.Command{
		Use:   "cluster NAME",
		Short: "Show one cluster in detail",
		Long: `Show one cluster in detail: its status and why it has that status, its links,
and the next step. Nothing is written.

Without --repo it shows what the management cluster's record and the cluster's
inventories say, as "status" does. With --repo it reads the repository and the
clusters, and also shows its base and what the next sync would write there.

The exit code is 0 also if the cluster is not Ready ("status" then exits with
4), and 2 if it is not found, or nothing could be read. With --repo it is 3 if
the declarations are invalid, and 4 if the observed revision is denied.`,
		Example: `  linkwright describe cluster east --kubeconfig management.yaml
  linkwright describe cluster east --repo URL`,
	}, described{
		check: func(arg string) error {
			if err := api.CheckClusterName(api.ClusterName(arg)); err != nil {
				return cli.Usage("%w", err)
			}
			return nil
		},
		report: func(r report.Report, arg string) (report.Answer, bool) {
			return r.ClusterAnswer(api.ClusterName(arg))
		},
		overview: func(o report.Overview, arg string) (report.Answer, bool) {
			return o.ClusterAnswer(api.ClusterName(arg))
		},
	})
}

// describing makes a command that shows one thing.
func describing(c *cobra.Command, d described) *cobra.Command {
	var f cli.Common
	var out cli.Format
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := d.check(args[0]); err != nil {
			return err
		}
		if f.Git.Options.Repo == "" {
			return d.offline(&f.Management, c, args[0], out.Format)
		}
		return d.compared(&f, c, args[0], out.Format)
	}
	f.Git.Here = true
	f.Add(c.Flags())
	out.Add(c.Flags(), report.DescribeFormats())
	return c
}

// verdictOn is the exit code where no revision could be compared, and why.
func verdictOn(o report.Overview, r report.Report, failed error) cli.Exit {
	if exit, ok := whileUninstalling(o.Revision.Uninstall, failed); ok {
		return exit
	}
	exit, _ := errors.AsType[cli.Exit](cli.Verdict(r, failed)) // of an error it is one
	return exit
}

// showLastKnown shows what inventories record, and ends with the verdict.
func (d described) showLastKnown(o report.Overview, c *cobra.Command, arg string, as report.Format, verdict cli.Exit) error {
	if _, found := d.overview(o, arg); !found {
		verdict.Err = errors.Join(verdict.Err, notFound(o, c.Name(), arg))
		return verdict
	}
	return cmp.Or(d.show(o, c, arg, as), error(verdict))
}

// offline shows what inventories record.
func (d described) offline(h *cli.ManagementFlags, c *cobra.Command, arg string, as report.Format) error {
	if err := checkNoRepository(c); err != nil {
		return err
	}
	var about []api.Pair
	if c.Name() == "link" {
		p, _ := cli.ParsePair(arg)
		about = []api.Pair{p}
	}
	o, err := overviewOnce(h, c, false, about)
	if err != nil {
		return err
	}
	return d.show(o, c, arg, as)
}

// show shows what inventories record.
func (d described) show(o report.Overview, c *cobra.Command, arg string, as report.Format) error {
	a, found := d.overview(o, arg)
	if !found {
		return notFound(o, c.Name(), arg)
	}
	showAge(o, c, as)
	return cli.Write(c.OutOrStdout(), as, a)
}

// compared reads everything once, and shows what a report says.
func (d described) compared(f *cli.Common, c *cobra.Command, arg string, as report.Format) error {
	f.Shows(c, false, as)
	e, err := f.Open(c.Context(), c.ErrOrStderr())
	if err != nil {
		return err
	}
	defer e.Close(c.Context())
	e.ReadOnly()
	e.Loop.Probe = true
	r, failed := e.Once(c.Context(), cli.NoLeadership)
	if o, ok := (engine{e}).lastKnown(c.Context(), r, failed); ok {
		return d.showLastKnown(o, c, arg, as, verdictOn(o, r, failed))
	}
	r = engine{e}.withRecord(c.Context(), r, failed)
	a, found := d.report(r, arg)
	if found {
		err = cli.Write(c.OutOrStdout(), as, a)
	}
	exit, uninstalling := whileUninstalling(r.Uninstall(), failed)
	switch {
	case err != nil:
		return err
	case uninstalling:
		return exit
	case failed != nil && found:
		return cli.ShownVerdict(as, r, failed)
	case failed != nil:
		return cli.Verdict(r, failed)
	case found:
		return nil
	}
	recorded := make([]report.RecordedCluster, 0, len(r.Clusters))
	for _, cl := range r.Clusters {
		recorded = append(recorded, report.RecordedCluster{Name: cl.Name, Cleanup: cl.Cleanup})
	}
	if pending := cleanupPending(recorded, func(p api.Pair) bool { return c.Name() == "link" && p.Name() == arg }); len(pending) > 0 {
		return errors.New(strings.Join(pending, "; "))
	}
	events := ""
	if c.Name() == "link" {
		events = "; if it was removed, linkwright events --for link/" + arg + " shows its last events"
	}
	return fmt.Errorf("the repository declares no %s %s, and no cluster has anything of it: linkwright status with the same --repo lists what there is%s", c.Name(), arg, events)
}

// overviewOnce reads an installation once, or only the clusters of some links.
func overviewOnce(h *cli.ManagementFlags, c *cobra.Command, mirrors bool, about []api.Pair) (report.Overview, error) {
	cs, err := openInstalled(h, c)
	if err != nil {
		return report.Overview{}, err
	}
	defer cs.Close(c.Context())
	cs.mirrors, cs.about = mirrors, about
	o, err := cs.firstOverview(c.Context(), false)
	if err == nil && o.Unread() {
		err = errUnread(o)
	}
	return o, err
}

// cleanupPending says of which of some removed links clusters still hold ends.
func cleanupPending(clusters []report.RecordedCluster, of func(api.Pair) bool) (parts []string) {
	for _, c := range clusters {
		for _, p := range c.Cleanup {
			if of(p.Link) {
				parts = append(parts, fmt.Sprintf("link %s is removed, but its cleanup is pending in cluster %s: linkwright describe cluster %s shows why", p.Link.Name(), c.Name, c.Name))
			}
		}
	}
	return parts
}

// notFound says that there is no such link, cluster or revision, and which clusters may know more.
func notFound(o report.Overview, kind, name string) error {
	if pending := cleanupPending(o.Clusters, func(p api.Pair) bool { return kind == "link" && p.Name() == name }); len(pending) > 0 {
		return errors.New(strings.Join(pending, "; "))
	}
	if o.Unread() {
		return errors.New(report.NoneRead(o.Clusters))
	}
	parts := []string{fmt.Sprintf("%s %q not found%s: linkwright get %ss lists what there is", kind, name, meantName(o, kind, name), kind)}
	if kind == "link" {
		parts = []string{noLink(o, name)}
	}
	for _, c := range o.Clusters {
		if c.Why != nil {
			parts = append(parts, fmt.Sprintf("cluster %s was not read (%s)", c.Name, c.Why.Code))
		}
	}
	return errors.New(strings.Join(parts, "; "))
}

// noLink says that no cluster has anything of a link: it was removed, or it is not declared. Events may say more.
func noLink(o report.Overview, name string) string {
	events := "; for its last events, run linkwright events --for link/" + name
	for _, l := range o.Removed {
		if l.Pair.Name() == name {
			return fmt.Sprintf("link %q was removed at %s: it is not declared, and nothing of it is left%s", name, l.At.UTC().Format(time.RFC3339), events)
		}
	}
	if o.EventList().Only(func(ref string) bool { return ref == "link/"+name }).Len() == 0 {
		events = ""
	}
	return fmt.Sprintf("link %q not found%s: it is not declared, or no sync has written it yet: linkwright get links lists what there is%s", name, meantName(o, "link", name), events)
}

// meantName names what was probably meant in brackets; empty: nothing is like it.
func meantName(o report.Overview, kind, name string) string {
	var names []string
	for _, r := range resources() {
		if r.kind != kind || kind == "revision" {
			continue
		}
		for _, ref := range r.list(o).Refs() {
			names = append(names, strings.TrimPrefix(ref, kind+"/"))
		}
	}
	if pair, ok := cli.ParsePair(name); ok && kind == "link" {
		return cli.NearestLink(pair, o.Pairs())
	}
	if near, ok := api.Nearest(name, names); ok {
		return " (did you mean " + near + "?)"
	}
	return ""
}
