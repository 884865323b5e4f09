package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
)

// resource is what get lists.
type resource struct {
	kind string                                     // in the singular
	use  string                                     // of the names
	long string                                     // what it lists
	list func(o report.Overview) report.Listing     // all of it
	ref  func(name string) (prefix string, ok bool) // kind/name of what a name chooses, or how that begins

	readsMirrors bool // those in sources are read for it
}

func resources() []resource {
	return []resource{
		{
			kind: "link", use: linkNames, list: report.Overview.LinkList,
			long: `List links as the clusters' inventories record them, with their status.
AGE is the time since READY or its reason changed. -o wide shows each end as
Recorded (its inventory lists its objects), Leaving (it is being removed),
Absent (no inventory has it), or Unknown (its cluster was not read).`,
			ref: pairRef("link"),
		},
		{
			kind: "gateway", use: linkNames, list: report.Overview.GatewayList, readsMirrors: true,
			long: `List the gateway of each link's target, as the mirrors in the source show it:
their addresses are ready while the controller's probes succeed. ALIVE is
Unknown while no mirror has an address. SERVICES counts mirror Services, and
READY those with a ready address. This replaces "linkerd multicluster gateways",
also for shared controllers. Their metric gateway_latency has latencies.`,
			ref: pairRef("gateway"),
		},
		{
			kind: "cluster", use: "[NAME...]", list: report.Overview.ClusterList,
			long: `List the clusters of the management cluster's record, with the revision that is
applied there. LINKS counts the links that are Ready, of all links with an end
in the cluster. There is no AGE, because the record does not keep since when a
cluster is managed.`,
			ref: func(name string) (string, bool) {
				return "cluster/" + name, api.CheckClusterName(api.ClusterName(name)) == nil
			},
		},
		{
			kind: "revision", use: "[COMMIT...]", list: report.Overview.RevisionList,
			long: `List the applied revision, the observed one if it is not applied, and those that
clusters still have. AGE is the time since that became so.`,
			ref: func(name string) (string, bool) { return "revision/" + name, len(name) >= shortestCommit },
		},
	}
}

// linkNames are names of links in a usage.
const linkNames = "[SOURCE/TARGET...]"

// pairRef names items by link.
func pairRef(kind string) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		p, ok := cli.ParsePair(name)
		return kind + "/" + p.Name(), ok && cli.CheckPair(p) == nil
	}
}

// shortestCommit is how many digits of a commit choose it.
const shortestCommit = 7

func getCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "get",
		Short: "List links, gateways, clusters or revisions",
		Long: `List links, gateways, clusters or revisions, from the management cluster's
record and from clusters. It needs no repository and no daemon, and writes
nothing.`,
		Example: `  linkwright get links
  linkwright get clusters -o wide
  linkwright get links -o custom-columns=LINK:.source,STATUS:.status
  linkwright get link west/east -o jsonpath='{.reason.message}'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, r := range resources() {
		c.AddCommand(r.command())
	}
	return c
}

// listFlags are how a list is shown.
type listFlags struct {
	out              cli.Format
	watch, noHeaders bool
	mirrors          bool       // are read, too
	about            []api.Pair // the links that are asked for; empty: all
}

func (l *listFlags) add(c *cobra.Command, formats []report.Format) {
	l.out.Add(c.Flags(), formats)
	c.Flags().BoolVarP(&l.watch, "watch", "w", false, "after the list, show what changes")
	c.Flags().BoolVar(&l.noHeaders, "no-headers", false, "leave out the line of column names")
}

func (r resource) command() *cobra.Command {
	var h cli.ManagementFlags
	l := listFlags{mirrors: r.readsMirrors}
	c := &cobra.Command{
		Use:     r.kind + "s " + r.use,
		Aliases: []string{r.kind},
		Short:   "List " + r.kind + "s",
		Long:    r.long + "\n\nThe exit code is 0 also if something is not Ready (\"status\" then exits with 4),\nand 2 if a name is not found, or no cluster could be read.",
		Example: "  linkwright get " + r.kind + "s --kubeconfig management.yaml\n  linkwright get " + r.kind + "s -o json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range args {
				if _, ok := r.ref(name); !ok {
					hint := ""
					if r.use == linkNames {
						hint = cli.DidYouMeanLink(name, nil)
					}
					return cli.Usage("%q names no %s: write %s%s", name, r.kind, strings.Trim(r.use, "[.]"), hint)
				}
				if p, ok := cli.ParsePair(name); ok && r.use == linkNames {
					l.about = append(l.about, p)
				}
			}
			return l.show(&h, c, func(o report.Overview) (report.Listing, error) { return r.chosen(o, args) })
		},
	}
	h.AddReading(c.Flags())
	l.add(c, report.ListFormats())
	return c
}

// chosen are the items that names choose; without names all. If a name chooses nothing, the items of the other names come with the error.
func (r resource) chosen(o report.Overview, names []string) (report.Listing, error) {
	all := r.list(o)
	if len(names) == 0 {
		return all, nil
	}
	var missing error
	prefixes := make([]string, len(names))
	for i, name := range names {
		prefixes[i], _ = r.ref(name)
		if missing == nil && !slices.ContainsFunc(all.Refs(), func(ref string) bool { return r.is(ref, prefixes[i]) }) {
			missing = notFound(o, r.kind, name)
		}
	}
	return all.Only(func(ref string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return r.is(ref, p) })
	}), missing
}

// is says that a name chooses an item. A commit may be given by its first digits.
func (r resource) is(ref, prefix string) bool {
	return ref == prefix || r.kind == "revision" && strings.HasPrefix(ref, prefix)
}

// show shows a list once, or with --watch also what changes.
func (l *listFlags) show(h *cli.ManagementFlags, c *cobra.Command, list func(report.Overview) (report.Listing, error)) error {
	if l.watch {
		cs, err := openInstalled(h, c)
		if err != nil {
			return err
		}
		defer cs.Close(c.Context())
		cs.mirrors = l.mirrors
		p := &listPrinter{out: c.OutOrStdout(), flags: l, list: list}
		return cs.watch(c.Context(), p.print)
	}
	o, err := overviewOnce(h, c, l.mirrors, l.about)
	if err != nil {
		return err
	}
	all, err := list(o)
	if err != nil {
		return err
	}
	showNotRead(o, c, l.out.Format)
	if all.Len() == 0 && (l.out.Format == report.Text || l.out.Format == report.Wide) {
		cli.Say(c.ErrOrStderr(), nothing(c.Name(), o))
		return nil
	}
	a := all.Answer(!l.noHeaders)
	if len(c.Flags().Args()) == 1 && all.Len() == 1 && c.Name() != "events" { // as kubectl get NAME
		a = all.One(!l.noHeaders)
	}
	if c.Name() != "events" {
		showAge(o, c, l.out.Format)
	}
	return cli.Write(c.OutOrStdout(), l.out.Format, a)
}

// nothing says that a list is empty, and which links are removed and not cleaned up.
func nothing(command string, o report.Overview) string {
	kind := strings.TrimSuffix(command, "s")
	pending := cleanupPending(o.Clusters, func(api.Pair) bool { return kind == "link" })
	return strings.Join(append([]string{fmt.Sprintf("No %ss found.", kind)}, pending...), "\n")
}

// showAge says on standard error how old recorded states are, if no process keeps them current. Programs read READY.
func showAge(o report.Overview, c *cobra.Command, as report.Format) {
	if text := as == report.Text || as == report.Wide; text && o.AsRecorded() != "" {
		cli.Say(c.ErrOrStderr(), o.AsRecorded())
	}
}

// showNotRead says on standard error which clusters a list lacks. The rows of clusters say it.
func showNotRead(o report.Overview, c *cobra.Command, as report.Format) {
	text, lacks := as == report.Text || as == report.Wide, c.Name() != "clusters"
	if text && lacks && o.NotRead() != "" {
		cli.Say(c.ErrOrStderr(), o.NotRead())
	}
}

// listPrinter prints a list, and then the items that changed. A name that chooses nothing is an error only at first: it may come back.
type listPrinter struct {
	out    io.Writer
	flags  *listFlags
	list   func(report.Overview) (report.Listing, error)
	last   *report.Listing
	headed bool // the headers were printed
}

func (p *listPrinter) print(o report.Overview) error {
	all, err := p.list(o)
	if err != nil && p.last == nil {
		return err
	}
	now := all
	if p.last != nil {
		now = all.Changed(*p.last)
	}
	if p.last = &all; now.Len() == 0 {
		return nil
	}
	headers := !p.headed && !p.flags.noHeaders
	p.headed = true
	if kind := p.flags.out.Kind(); kind == report.Text || kind == report.Wide || kind == report.Name {
		return cli.Write(p.out, kind, now.Answer(headers))
	}
	return p.each(now, headers)
}

// each prints every item as a document of its own.
func (p *listPrinter) each(items report.Listing, headers bool) error {
	for i, a := range items.Each() {
		a.NoHeaders = !headers || i > 0
		if p.flags.out.Format == report.YAML {
			if _, err := io.WriteString(p.out, "---\n"); err != nil {
				return err
			}
		}
		if err := cli.Write(p.out, p.flags.out.Format, a); err != nil {
			return err
		}
	}
	return nil
}
