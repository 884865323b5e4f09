package main

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
	"github.com/linkwright/linkwright/sync/state"
)

// pollInterval is how often --watch reads what its watches do not report: the record of clusters, and clusters that could not be read.
const pollInterval = 10 * time.Second

// noRepositoryFlags are the flags of commands that count without a repository: the management cluster's record then lists the clusters.
func noRepositoryFlags() []string {
	return []string{
		"config", "color", "log-format", "log-level", "owner", "repo", "kubeconfig", "context", "namespace", "cluster-timeout", "allow-kubeconfig-paths",
		"allow-exec", "output", "watch", "help",
	}
}

// checkNoRepository refuses flags that only count with a repository.
func checkNoRepository(c *cobra.Command) (err error) {
	c.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(noRepositoryFlags(), flag.Name) {
			err = cli.Usage("--%s needs --repo", flag.Name)
		}
	})
	return err
}

// errUnread says that nothing could be read.
func errUnread(o report.Overview) error {
	text := strings.TrimSpace(report.NoneRead(o.Clusters) + "\n" + o.Revision.Uninstall.Line())
	return cli.Exit{Code: cli.ExitError, Err: errors.New(text)}
}

// showStatus shows what inventories record: once, or whenever it changes.
func showStatus(h *cli.ManagementFlags, c *cobra.Command, f report.Format, watch bool) error {
	if err := checkNoRepository(c); err != nil {
		return err
	}
	cs, err := openInstalled(h, c)
	if err != nil {
		return err
	}
	defer cs.Close(c.Context())
	if watch {
		p := &statusPrinter{out: c.OutOrStdout(), format: f}
		return cs.watch(c.Context(), p.print)
	}
	o, err := cs.firstOverview(c.Context(), false)
	if err != nil {
		return err
	}
	if err := cli.Write(c.OutOrStdout(), f, o.Answer()); err != nil || o.AsDeclared() {
		return err
	}
	if o.Unread() {
		return cli.Exit{Code: cli.ExitError, Err: errors.New(report.NoneRead(o.Clusters))} // the overview has the unfinished uninstall
	}
	return cli.Exit{Code: cli.ExitPartial}
}

// watch calls show with the overview, and again after each change, until ctx ends.
func (c installed) watch(ctx context.Context, show func(report.Overview) error) error {
	shown, read := false, c.firstOverview
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		o, err := read(ctx, true)
		read = c.overview
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !shown:
			return err
		case err != nil:
			c.log.Warn("the management cluster was not read", "why", err)
		default:
			if err := show(o); err != nil {
				return err
			}
			shown = true
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

// statusPrinter prints a status as a whole whenever it differs from the last. That time goes by is no difference.
type statusPrinter struct {
	out    io.Writer
	format report.Format
	last   string
}

func (p *statusPrinter) print(o report.Overview) error {
	var is, now strings.Builder
	if err := o.WithoutTime().Write(&is, report.JSON); err != nil || is.String() == p.last {
		return err
	}
	if err := cli.Write(&now, p.format, o.Answer()); err != nil {
		return err
	}
	between := ""
	switch {
	case p.last == "":
	case p.format == report.YAML:
		between = "---\n"
	case p.format != report.JSON:
		between = "\n"
	}
	p.last = is.String()
	_, err := io.WriteString(p.out, between+now.String())
	return err
}

// firstOverview is overview, which shows itself. What was read until a signal came is none.
func (c installed) firstOverview(ctx context.Context, watching bool) (report.Overview, error) {
	defer c.live.Show(ctx, live.Management)()
	o, err := c.overview(ctx, watching)
	if c.lacks(o) && err == nil && ctx.Err() == nil {
		c.about = nil
		o, err = c.overview(ctx, watching)
	}
	return o, cmp.Or(cli.Interrupted(ctx), err)
}

// lacks reports whether other clusters may say more about the links that are asked for.
func (c installed) lacks(o report.Overview) bool {
	has := o.Pairs()
	return len(c.about) > 0 && o.Unread() || slices.ContainsFunc(c.about, func(p api.Pair) bool { return !slices.Contains(has, p) })
}

// toRead are the clusters of a record to read: those of the links that are asked for, by any of their names.
func (c installed) toRead(known inventory.Record) []api.ClusterName {
	all := slices.Sorted(maps.Keys(known.Clusters))
	asked := func(name api.ClusterName) bool {
		return slices.ContainsFunc(c.about, func(p api.Pair) bool { return name == p.Source || name == p.Target })
	}
	if len(c.about) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(name api.ClusterName) bool {
		return !asked(name) && !slices.ContainsFunc(known.Clusters[name].Names, asked)
	})
}

// overview reads the clusters of the management cluster's record; watching: from watches that are kept open.
func (c installed) overview(ctx context.Context, watching bool) (report.Overview, error) {
	known, err := c.record(ctx)
	if err != nil {
		return report.Overview{}, err
	}
	c.live.Wait(live.Clusters)
	names := c.toRead(known)
	failed := c.Follow(ctx, recordedClusters(known, names))
	found := make([]clusterInventories, len(names))
	answered := c.live.Clusters(names)
	out := report.Overview{
		Opening:  c.opening(ctx, known),
		Clusters: make([]report.RecordedCluster, len(names)), Ages: true,
	}
	access.Each(len(names), func(i int) {
		all, err := c.inventories(ctx, names[i], known.Clusters[names[i]], watching)
		answered(names[i])
		if failed[names[i]] != nil {
			err = failed[names[i]]
		}
		out.Clusters[i] = report.RecordedCluster{
			Name: names[i], Applied: appliedIn(all.inventories), Values: valuesIn(all.inventories), Rollout: rolloutIn(all.inventories),
			Leaving: known.Clusters[names[i]].Leaving,
		}
		for _, d := range known.Clusters[names[i]].Pending {
			out.Clusters[i].Cleanup = append(out.Clusters[i].Cleanup, state.Pending{Link: d.Link(), Since: d.Since})
		}
		if found[i] = all; err != nil {
			why := cluster.Explain(err)
			out.Clusters[i].Why = &why
		}
	})
	out.Links = c.asked(recordedLinks(out.Clusters, found, known.Clusters))
	markDenied(out.Links, known.Denied)
	out.Suspensions, out.Approvals = decide.Suspensions(known), decide.Approvals(known, out.At)
	for _, l := range known.RemovedLinks(out.At) {
		out.Removed = append(out.Removed, report.RemovedLink{Pair: l.Link(), Revision: l.Revision, At: l.At})
	}
	paused := map[api.ClusterName]bool{}
	for i, name := range names {
		paused[name] = slices.ContainsFunc(found[i].inventories, func(inv inventory.Inventory) bool { return inv.End.IsBase() && inv.Was.Paused })
	}
	c.suspended(&out, known, paused)
	out.Clusters = withUnrecorded(out)
	return out, nil
}

// asked are the links that are asked for: of others, not all clusters were read.
func (c installed) asked(all []report.RecordedLink) []report.RecordedLink {
	if len(c.about) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(l report.RecordedLink) bool { return !slices.Contains(c.about, l.Pair) })
}

// suspended adds to clusters and links who suspended them. Some clusters are paused from inside.
func (c installed) suspended(o *report.Overview, known inventory.Record, paused map[api.ClusterName]bool) {
	decided := slices.DeleteFunc(slices.Clone(known.Decisions), func(d inventory.Decision) bool { return d.Kind != inventory.Suspend })
	now := state.Snapshot{
		Installation: object.Installation{Owner: c.owner, Namespace: c.namespace}, Record: state.Record{Suspended: decided}, Now: o.At,
	}
	by := func(end object.End) *object.Reason {
		if paused[end.Cluster] {
			return plan.PausedCluster(c.owner, end.Cluster)
		}
		d, found := now.Suspension(end)
		if !found {
			return nil
		}
		return now.SuspendedBy(d)
	}
	names := map[api.ClusterName]api.ClusterName{} // of clusters, by each of their names
	for i, one := range o.Clusters {
		for _, name := range append([]api.ClusterName{one.Name}, known.Clusters[one.Name].Names...) {
			names[name] = one.Name
		}
		o.Clusters[i].Suspended = by(object.End{Cluster: one.Name})
	}
	for i, l := range o.Links {
		o.Links[i].Suspended = cmp.Or(by(object.End{Cluster: names[l.Pair.Source], Link: l.Pair}), by(object.End{Cluster: names[l.Pair.Target], Link: l.Pair}))
	}
}

// recordedRevision is what the record says of revisions.
func recordedRevision(r inventory.Revision) report.Revision {
	return report.Revision{Applied: r.Applied, Observed: r.Observed, Why: r.Why, Since: r.Since, AppliedSince: r.AppliedSince, Links: r.Links, Suspended: r.Suspended, SuspendedLinks: r.SuspendedLinks}
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

// rolloutIn returns the progress of a rollout that a base keeps; zero: none.
func rolloutIn(all []inventory.Inventory) (p rollout.Progress) {
	for _, inv := range all {
		if inv.End.IsBase() {
			p, _ = rollout.Decode([]byte(inv.Rollout))
		}
	}
	return p
}

// valuesIn returns the values of Linkerd's installation that a base says linkwright set.
func valuesIn(all []inventory.Inventory) (out []output.ProxyValue) {
	for _, inv := range all {
		for _, v := range inv.Values {
			out = append(out, output.ProxyValue{Path: v.Path, Set: withoutEnv(v.Path, v.Set), Before: withoutEnv(v.Path, v.Before)})
		}
	}
	return out
}

// withoutEnv returns a value as it is shown: of a list of environment variables only the names, because others may have put a secret there.
func withoutEnv(path, value string) string {
	if !strings.HasSuffix(path, "Env") || value == "" {
		return value
	}
	var vars []struct{ Name string }
	names := []string{}
	if json.Unmarshal([]byte(value), &vars) == nil {
		for _, v := range vars {
			names = append(names, v.Name)
		}
	}
	out, err := json.Marshal(names)
	if err != nil {
		return "[]" // strings encode
	}
	return string(out)
}

// clusterInventories are those of one cluster.
type clusterInventories struct {
	inventories []inventory.Inventory
	missing     map[object.Key]bool                          // Secrets that inventories name and that are not there
	mirrors     func(target api.ClusterName) *report.Mirrors // nil: they were not read
}

// inventories reads those of one cluster, unless it is another one than is remembered, and which of their Secrets are not there.
func (c installed) inventories(ctx context.Context, name api.ClusterName, known inventory.KnownCluster, watching bool) (out clusterInventories, err error) {
	system := object.Key{Kind: "Namespace", Name: "kube-system"}
	watches := []object.Watch{inventory.Watch(), {Version: "v1", Kind: system.Kind, Names: []string{system.Name}}}
	if c.mirrors {
		watches = append(watches, mirrorWatches(known.Linkerd)...)
	}
	err = c.WithCluster(ctx, name, func(conn object.Cluster) error {
		observe := conn.Observe
		if watching {
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
		if out.missing = missingSecrets(ctx, conn, out.inventories); c.mirrors {
			out.mirrors = mirrorsIn(seen, known.Linkerd)
		}
		return nil
	})
	return out, err
}

// recordedClusters are clusters of the record as declarations have them.
func recordedClusters(known inventory.Record, names []api.ClusterName) []fleet.Cluster {
	want := make([]fleet.Cluster, len(names))
	for i, name := range names {
		want[i] = fleet.Cluster{Name: name, Spec: api.Cluster{Access: known.Clusters[name].Access, Linkerd: known.Clusters[name].Linkerd}}
	}
	return want
}

// mirrorWatches are those of the mirrors in a source.
func mirrorWatches(l api.Linkerd) []object.Watch {
	out := slices.Clone(linkerd.MirrorWatches(l)[:2])
	for i := range out {
		out[i].MayBeForbidden = true
	}
	return out
}

// mirrorsIn gives the mirrors in a source of each target.
func mirrorsIn(seen object.Observation, l api.Linkerd) func(api.ClusterName) *report.Mirrors {
	all, health, hidden := linkerd.MirrorsOf(l, seen), linkerd.GatewayHealths(l, seen), seen.HidesAny(mirrorWatches(l)...)
	return func(target api.ClusterName) *report.Mirrors {
		return &report.Mirrors{
			Services: len(all[target].Services), Serving: health[target].Serving, NotReady: len(health[target].NotReady), Hidden: hidden,
		}
	}
}
