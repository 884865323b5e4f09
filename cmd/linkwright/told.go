package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/decide"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report"
)

// relook is when --watch asks anew for what its watches do not tell: the record of clusters, and those that could not be read.
const relook = 10 * time.Second

// toldFlags are the flags of `status` that count without a repository, in whose place the management cluster's record names clusters.
func toldFlags() []string {
	return []string{
		"config", "owner", "repo", "kubeconfig", "context", "namespace", "cluster-timeout", "allow-kubeconfig-paths", "allow-exec", "output", "watch", "help",
	}
}

// showStatus shows what inventories tell: once, or whenever it is another.
func showStatus(h *cli.ManagementFlags, c *cobra.Command, f report.Format, watch bool) error {
	var err error
	c.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(toldFlags(), flag.Name) {
			err = cli.Usage("--%s needs --repo", flag.Name)
		}
	})
	if err != nil {
		return err
	}
	cs, err := openInstalled(h, c)
	if err != nil {
		return err
	}
	defer cs.Close(c.Context())
	if watch {
		return cs.watchTold(c.Context(), c.OutOrStdout(), f)
	}
	t, err := cs.links(c.Context(), false)
	if err != nil {
		return err
	}
	if err := t.Write(c.OutOrStdout(), f); err != nil || t.Clean() {
		return err
	}
	if t.Unread() {
		return cli.Exit{Code: cli.ExitError, Err: errors.New("no cluster could be read")}
	}
	return cli.Exit{Code: cli.ExitPartial}
}

// watchTold tells it whenever it is another, until ctx ends.
func (c installed) watchTold(ctx context.Context, out io.Writer, f report.Format) error {
	var last string
	tick := time.NewTicker(relook)
	defer tick.Stop()
	for {
		t, err := c.links(ctx, true)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && last == "":
			return err
		case err != nil:
			c.log.Warn("the management cluster was not read", "why", err)
		default:
			if last, err = retold(out, f, t, last); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.ObjectsMoved():
			c.Take()
		case <-tick.C:
		}
	}
}

// retold writes what tells something else than the last, as a whole, and gives what it tells. That time goes by is no news.
func retold(out io.Writer, f report.Format, t report.Told, last string) (string, error) {
	var is, now strings.Builder
	if err := t.Still().Write(&is, report.JSON); err != nil || is.String() == last {
		return last, err
	}
	if err := t.Write(&now, f); err != nil {
		return last, err
	}
	between := ""
	switch {
	case last == "":
	case f == report.AsYAML:
		between = "---\n"
	case f != report.JSON:
		between = "\n"
	}
	_, err := io.WriteString(out, between+now.String())
	return is.String(), err
}

// links reads all clusters that the management cluster remembers; live: from watches that are kept open.
func (c installed) links(ctx context.Context, live bool) (report.Told, error) {
	known, err := c.record(ctx)
	if err != nil {
		return report.Told{}, err
	}
	names := slices.Sorted(maps.Keys(known.Clusters))
	want := make([]fleet.Cluster, len(names))
	for i, name := range names {
		want[i] = fleet.Cluster{Name: name, Spec: api.Cluster{Access: known.Clusters[name].Access, Linkerd: known.Clusters[name].Linkerd}}
	}
	failed := c.Follow(ctx, want)
	found := make([]heard, len(names))
	out := report.Told{
		Opening:  c.opening(ctx, known),
		Clusters: make([]report.ToldCluster, len(names)), Ages: true,
	}
	access.Each(len(names), func(i int) {
		all, err := c.inventories(ctx, names[i], known.Clusters[names[i]], live)
		if failed[names[i]] != nil {
			err = failed[names[i]]
		}
		out.Clusters[i] = report.ToldCluster{Name: names[i], Applied: appliedIn(all.inventories)}
		for _, d := range known.Clusters[names[i]].Pending {
			out.Clusters[i].Cleanup = append(out.Clusters[i].Cleanup, d.Link())
		}
		if found[i] = all; err != nil {
			why := cluster.Explain(err)
			out.Clusters[i].Why = &why
		}
	})
	out.Links, out.Decisions = linksTold(out.Clusters, found, known.Clusters), decide.Decisions(known, out.At)
	if known.Denied != nil {
		out.Denied = known.Denied.Message(object.Installation{Owner: c.owner, Namespace: c.namespace})
	}
	out.Clusters = forgotten(out)
	return out, nil
}

// revisionTold is what the record remembers of revisions, as it is told.
func revisionTold(r inventory.Revision) report.Revision {
	return report.Revision{Applied: r.Applied, Observed: r.Observed, Why: r.Why, Since: r.Since, Links: r.Links, Suspended: r.Suspended, SuspendedLinks: r.SuspendedLinks}
}

// appliedIn is the revision that the base among a cluster's inventories carries; empty: none.
func appliedIn(all []inventory.Inventory) api.Commit {
	for _, inv := range all {
		if inv.End.IsBase() {
			return inv.Commit
		}
	}
	return ""
}

// heard is what one cluster tells.
type heard struct {
	inventories []inventory.Inventory
	missing     map[object.Key]bool // Secrets that inventories name and that are not there
}

// inventories reads those of one cluster, unless it is another one than is remembered, and which of their Secrets are not there.
func (c installed) inventories(ctx context.Context, name api.ClusterName, known inventory.Known, live bool) (out heard, err error) {
	system := object.Key{Kind: "Namespace", Name: "kube-system"}
	watches := []object.Watch{inventory.Watch(), {Version: "v1", Kind: system.Kind, Names: []string{system.Name}}}
	err = c.WithCluster(ctx, name, func(conn object.Cluster) error {
		observe := conn.Observe
		if live {
			observe = conn.Live
		}
		seen, err := observe(ctx, watches)
		if err != nil {
			return err
		}
		if uid := seen.Record(system).UID; known.UID != "" && uid != known.UID {
			return fmt.Errorf("its kube-system has uid %s, but linkwright wrote to a cluster with uid %s: run linkwright status --repo URL", uid, known.UID)
		}
		if out.inventories, err = inventory.Read(c.owner, seen); err != nil {
			return err
		}
		out.missing = missingSecrets(ctx, conn, out.inventories)
		return nil
	})
	return out, err
}

// missingSecrets are the Secrets of sources' ends that are not there. Where they may not be read nobody knows: none is.
func missingSecrets(ctx context.Context, conn object.Cluster, all []inventory.Inventory) map[object.Key]bool {
	out, names := map[object.Key]bool{}, map[string][]string{}
	for _, inv := range all {
		for _, k := range inv.Entries {
			if inv.End.IsSource() && !inv.Leaving && k.Kind == "Secret" && k.Group == "" {
				names[k.Namespace] = append(names[k.Namespace], k.Name)
			}
		}
	}
	for ns, each := range names {
		slices.Sort(each)
		each = slices.Compact(each)
		seen, err := conn.Observe(ctx, []object.Watch{{Version: "v1", Kind: "Secret", Namespace: ns, Names: each}})
		for _, name := range each {
			if k := (object.Key{Kind: "Secret", Namespace: ns, Name: name}); err == nil && seen.Record(k).IsZero() {
				out[k] = true
			}
		}
	}
	return out
}

// unreadNames says of each cluster, and of its second names, whether it could not be read.
func unreadNames(clusters []report.ToldCluster, known map[api.ClusterName]inventory.Known) map[api.ClusterName]bool {
	out := map[api.ClusterName]bool{}
	for _, c := range clusters {
		for _, name := range append([]api.ClusterName{c.Name}, known[c.Name].Names...) {
			out[name] = c.Why != nil
		}
	}
	return out
}

// linksTold are the links of which inventories tell; found are those of each cluster.
func linksTold(clusters []report.ToldCluster, found []heard, known map[api.ClusterName]inventory.Known) []report.ToldLink {
	links, unread := map[api.Pair]report.ToldLink{}, unreadNames(clusters, known)
	for i, all := range found {
		for _, inv := range all.inventories {
			if inv.End.IsBase() || inv.End.Cluster != clusters[i].Name {
				continue
			}
			l, known := links[inv.End.Link]
			if !known {
				l = report.ToldLink{Pair: inv.End.Link, Source: absent(unread, inv.End.Link.Source), Target: absent(unread, inv.End.Link.Target)}
			}
			end := report.Recorded
			if inv.Leaving {
				end = report.LeavingEnd
			}
			if inv.End.IsSource() {
				l.Source, l.Conditions, l.Missing = end, inv.Conditions, lacking(inv, all.missing)
			} else {
				l.Target, l.Denied = end, denied(inv)
			}
			links[inv.End.Link] = l
		}
	}
	return slices.SortedFunc(maps.Values(links), func(a, b report.ToldLink) int { return a.Pair.Compare(b.Pair) })
}

// lacking are the entries of an inventory that are missing.
func lacking(inv inventory.Inventory, missing map[object.Key]bool) (out []object.Key) {
	for _, k := range inv.Entries {
		if missing[k] {
			out = append(out, k)
		}
	}
	return out
}

// denied is what an end in a target tells of a denial; nil: nothing.
func denied(inv inventory.Inventory) *object.Condition {
	for _, c := range inv.Conditions {
		if c.Type == object.Ready && c.Reason == reason.Denied {
			return &c
		}
	}
	return nil
}

// forgotten adds the sources of links that stay which the management cluster does not remember, so that nobody read them. A target need not be
// remembered: with tokens of people's own nothing is ever written there.
func forgotten(t report.Told) []report.ToldCluster {
	all := t.Clusters
	for _, l := range t.Links {
		name := l.Pair.Source
		if l.Source != report.UnknownEnd || l.Target == report.LeavingEnd || slices.ContainsFunc(all, func(c report.ToldCluster) bool { return c.Name == name }) {
			continue
		}
		why := object.Because(reason.NotRead, "a link names this cluster, but the record of clusters does not have it: run linkwright status --repo URL")
		all = append(all, report.ToldCluster{Name: name, Why: why})
	}
	slices.SortFunc(all, func(a, b report.ToldCluster) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// absent is an end of which no inventory tells.
func absent(unread map[api.ClusterName]bool, name api.ClusterName) report.End {
	if read, known := unread[name]; read || !known {
		return report.UnknownEnd
	}
	return report.Absent
}
