package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/rollout/survey"
	"github.com/linkwright/linkwright/rollout/trust"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report"
)

// issuersSince is the flag with what nobody can read in a cluster.
const issuersSince = "issuers-since"

// trustFlags say which clusters are read, and about which anchor.
type trustFlags struct {
	logins
	linkerd, anchor, since string
	noHeaders              bool
	out                    cli.Format
}

func trustCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "trust",
		Short: "Show who needs which trust anchor",
		Long: `Show who needs which trust anchor: which bundles have it, which issuers it
signs, and which proxies know it.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(trustStatus())
	return c
}

func trustStatus() *cobra.Command {
	f := trustFlags{}
	c := &cobra.Command{
		Use:   "status --context A --context B",
		Short: "List trust anchors, and whether each may be removed",
		Long: `List the trust anchors of a mesh, and whether each may be removed from all
bundles now. Give every cluster of the mesh: others are not asked. With
--anchor, list what needs this anchor, or may need it. Nothing is written.

BUNDLE is whether new proxies get the anchor, ISSUER whether it signs the
cluster's issuer, and PROXIES how many know it. REMOVABLE is the answer for the
whole mesh, with the number of reasons against it. If something cannot be read,
the answer is not yes. Certificates of a former issuer count until they expire.
If issuers are renewed too often for that, give --issuers-since, with a time as
2026-11-25T18:00:00Z, or a date, which counts from its end in UTC.

It uses your own rights: to list pods, namespaces, Deployments, StatefulSets,
DaemonSets and Argo Rollouts, and in the namespace of the control plane to get
two ConfigMaps and the Secret of the issuer. It keeps only the certificates of
that Secret.

The exit code is 4 if the anchor may not be removed, or nobody knows. Without
--anchor it is 4 if a cluster could not be read. It is 2 if none could.`,
		Example: `  linkwright trust status --context east --context west
  linkwright trust status --context east --context west --anchor 3f9c0e51b7a2`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.status(c) },
	}
	f.out.Add(c.Flags(), report.ListFormats())
	f.addLogins(c, "read")
	c.Flags().StringVar(&f.anchor, "anchor", "", "list what needs this trust anchor: its common name, or the first digits of its fingerprint")
	c.Flags().StringVar(&f.since, issuersSince, "", "`time` since when each issuer has been signed by the anchor that signs it now, if you know that")
	cli.WithoutVariable(c.Flags(), "anchor", issuersSince) // of one rotation: the next one must not find it anywhere
	c.Flags().StringVar(&f.linkerd, "linkerd-namespace", api.DefaultNamespace, "namespace of the control plane in all of them")
	c.Flags().BoolVar(&f.noHeaders, "no-headers", false, "leave out the line of column names")
	return c
}

// status reads all clusters, one after the other, and shows what they say together.
func (f *trustFlags) status(c *cobra.Command) error {
	if c.Flags().Changed("anchor") && f.anchor == "" {
		return cli.Usage("--anchor is empty: give the common name of a trust anchor, or the first digits of its fingerprint")
	}
	since, err := f.issuersSince(c, time.Now())
	if err != nil {
		return err
	}
	all, err := f.open()
	if err != nil {
		return err
	}
	clusters, err := f.read(c, all)
	if err != nil {
		return err
	}
	for i := range clusters {
		clusters[i].Issuer.Since = since
	}
	return f.show(c, trust.Of(clusters, cluster.Explain), time.Now())
}

// issuersSince reads the flag; zero: it is not given. A date counts from its end: the change may have been at any time of that day.
func (f *trustFlags) issuersSince(c *cobra.Command, now time.Time) (time.Time, error) {
	if !c.Flags().Changed(issuersSince) {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, f.since)
	since := at
	if day, bad := time.Parse(time.DateOnly, f.since); bad == nil {
		at, since, err = day, day.AddDate(0, 0, 1), nil
	}
	switch {
	case err != nil:
		return time.Time{}, cli.Usage("--%s %q: want a time such as 2026-11-25T18:00:00Z, or a date such as 2026-11-25", issuersSince, f.since)
	case at.After(now):
		return time.Time{}, cli.Usage("--%s %q is in the future: it is %s now", issuersSince, f.since, now.UTC().Format(time.RFC3339))
	}
	return since, nil
}

func (f *trustFlags) read(c *cobra.Command, all []login) ([]trust.Cluster, error) {
	names := namesOf(all)
	show := cli.DisplayOf(c, f.timeout)
	defer show.Show(c.Context(), live.Cluster(names[0]))()
	var out []trust.Cluster
	for i, l := range all {
		show.Nth(names, i)
		one, err := f.survey(c.Context(), l.config)
		if stopped := cli.Interrupted(c.Context()); stopped != nil {
			return nil, stopped
		}
		one.Name, one.Namespace, one.Err = l.name, f.linkerd, err
		out = append(out, one)
	}
	return out, nil
}

// survey reads one cluster.
func (f *trustFlags) survey(ctx context.Context, cfg *rest.Config) (trust.Cluster, error) {
	client, err := survey.NewClient(cfg)
	if err != nil {
		return trust.Cluster{}, err
	}
	return survey.Trust(ctx, client, f.linkerd)
}

// show prints the answer about all anchors, or about one.
func (f *trustFlags) show(c *cobra.Command, m trust.Mesh, now time.Time) error {
	var unread []error
	for _, n := range m.Unread() {
		unread = append(unread, fmt.Errorf("cluster %s was not read: %s: %s", n.Cluster, n.Why.Code, n.Why.Message))
	}
	switch failed := errors.Join(unread...); {
	case len(unread) == len(f.contexts):
		return cli.Exit{Code: cli.ExitError, Err: failed}
	case f.anchor != "":
		return f.showNeeds(c, m, now, failed)
	default:
		return f.showAnchors(c, m, now, failed)
	}
}

// showAnchors prints all anchors. failed is why clusters were not read; nil: all were.
func (f *trustFlags) showAnchors(c *cobra.Command, m trust.Mesh, now time.Time, failed error) error {
	needs := map[string][]trust.Need{} // by fingerprint
	for _, a := range m.Anchors() {
		needs[a.Fingerprint] = m.Needs(a, now)
	}
	var all []report.TrustAnchor
	for _, r := range m.Rows() {
		of := needs[r.Anchor.Fingerprint]
		all = append(all, report.TrustAnchor{
			Cluster: r.Cluster, Fingerprint: r.Anchor.Fingerprint, Subject: r.Anchor.Subject, Expires: r.Anchor.Expires, Expired: !now.Before(r.Anchor.Expires),
			InBundle: r.InBundle, SignsIssuer: r.Signs, Proxies: r.Proxies.All, Knowing: r.Proxies.Know, Unknown: r.Proxies.Unknown,
			Removable: trust.Removable(of), Needs: len(of),
		})
	}
	if err := f.write(c, report.TrustAnchors(all), report.SumOfAnchors(all)); err != nil {
		return err
	}
	if failed != nil {
		return cli.Exit{Code: cli.ExitPartial, Err: failed}
	}
	return nil
}

// showNeeds prints what needs one anchor. Clusters that were not read are rows of their own.
func (f *trustFlags) showNeeds(c *cobra.Command, m trust.Mesh, now time.Time, failed error) error {
	found := m.Named(f.anchor)
	if len(found) != 1 {
		return f.notOne(m, found, failed)
	}
	needs := m.Needs(found[0], now)
	var all []report.TrustNeed
	for _, n := range needs {
		all = append(all, report.TrustNeed{Cluster: n.Cluster, Object: n.Object, Unknown: n.Unknown, Why: n.Why})
	}
	sum, removable := found[0].Short(), trust.Removable(needs)
	switch removable {
	case object.True:
		sum = fmt.Sprintf("trust anchor %s may be removed: nothing in %s needs it", sum, object.Count(len(f.contexts), "cluster"))
	case object.False:
		sum = fmt.Sprintf("trust anchor %s may not be removed now: %s", sum, object.Count(len(needs), "reason"))
	default:
		sum = fmt.Sprintf("nobody knows whether trust anchor %s may be removed: %s", sum, object.Count(len(needs), "reason"))
	}
	if err := f.write(c, report.TrustNeeds(all), sum); err != nil || removable == object.True {
		return err
	}
	return cli.Exit{Code: cli.ExitPartial, Err: failed, Shown: true}
}

// notOne is the error of a name that no anchor has, or several. A cluster that was not read may have the anchor.
func (f *trustFlags) notOne(m trust.Mesh, found []trust.Anchor, failed error) error {
	several := len(found) > 0
	if !several {
		found = m.Anchors()
	}
	var list strings.Builder
	for _, a := range found {
		fmt.Fprintf(&list, "\n  %s %s", a.Short(), a.Subject)
	}
	if len(found) == 0 {
		list.WriteString(" none")
	}
	switch {
	case several:
		return cli.Usage("--anchor %s is the name of %d trust anchors: give more digits of one of them:%s", f.anchor, len(found), &list)
	case failed != nil:
		return cli.Exit{Code: cli.ExitPartial, Err: fmt.Errorf("--anchor %s is no trust anchor of the clusters that were read, which have:%s\n%w", f.anchor, &list, failed)}
	}
	return cli.Usage("--anchor %s is no trust anchor of these clusters, which have:%s", f.anchor, &list)
}

// write prints a list, and for people one line about all of it.
func (f *trustFlags) write(c *cobra.Command, l report.Listing, sum string) error {
	text := slices.Contains([]report.Format{report.Text, report.Wide}, f.out.Format)
	if l.Len() > 0 || !text {
		if err := cli.Write(c.OutOrStdout(), f.out.Format, l.Answer(!f.noHeaders)); err != nil {
			return err
		}
	}
	if text {
		cli.Say(c.ErrOrStderr(), report.Printable(sum))
	}
	return nil
}
