package main

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/decide"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/access"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report"
)

// unreadNames says for each cluster, and for its second names, whether it could not be read.
func unreadNames(clusters []report.RecordedCluster, known map[api.ClusterName]inventory.KnownCluster) map[api.ClusterName]bool {
	out := map[api.ClusterName]bool{}
	for _, c := range clusters {
		for _, name := range append([]api.ClusterName{c.Name}, known[c.Name].Names...) {
			out[name] = c.Why != nil
		}
	}
	return out
}

// recordedLinks are the links that inventories record; found are the inventories of each cluster.
func recordedLinks(clusters []report.RecordedCluster, found []clusterInventories, known map[api.ClusterName]inventory.KnownCluster) []report.RecordedLink {
	links, unread := map[api.Pair]report.RecordedLink{}, unreadNames(clusters, known)
	for i, all := range found {
		for _, inv := range all.inventories {
			if inv.End.IsBase() || inv.End.Cluster != clusters[i].Name {
				continue
			}
			l, known := links[inv.End.Link]
			if !known {
				l = report.RecordedLink{Pair: inv.End.Link, Source: missingEnd(unread, inv.End.Link.Source), Target: missingEnd(unread, inv.End.Link.Target)}
			}
			links[inv.End.Link] = all.addEnd(l, inv)
		}
	}
	return slices.SortedFunc(maps.Values(links), func(a, b report.RecordedLink) int { return a.Pair.Compare(b.Pair) })
}

// addEnd adds the end of a link that an inventory records.
func (c clusterInventories) addEnd(l report.RecordedLink, inv inventory.Inventory) report.RecordedLink {
	end := report.RecordedEnd
	if inv.Leaving {
		end = report.LeavingEnd
	}
	if !inv.End.IsSource() {
		l.Target, l.Denied, l.Failed = end, denied(inv), cmp.Or(l.Failed, removalFailure(inv))
		return l
	}
	l.Failed = cmp.Or(removalFailure(inv), l.Failed)
	if l.Source, l.Conditions, l.Missing = end, inv.Conditions, lacking(inv, c.missing); c.mirrors != nil {
		l.Mirrors = c.mirrors(inv.End.Link.Target)
	}
	return l
}

// markDenied marks the links whose removal, or that of one of their clusters, is denied; nil: nothing is denied.
func markDenied(links []report.RecordedLink, d *inventory.Denial) {
	if d == nil {
		return
	}
	for i, l := range links {
		links[i].RemovalDenied = slices.ContainsFunc(d.Units, func(u inventory.Unit) bool {
			return u.Kind == inventory.UnitLink && u.Link() == l.Pair ||
				u.Kind == inventory.UnitCluster && (u.Cluster == l.Pair.Source || u.Cluster == l.Pair.Target)
		})
	}
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

// denied is the condition by which an end in a target records a denial; nil: it records none.
func denied(inv inventory.Inventory) *object.Condition {
	for _, c := range inv.Conditions {
		if c.Type == object.Ready && c.Reason == reason.Denied {
			return &c
		}
	}
	return nil
}

// removalFailure is the condition by which an end that leaves records which write failed; nil: it records none, or stays.
func removalFailure(inv inventory.Inventory) *object.Condition {
	if !inv.Leaving {
		return nil
	}
	for _, c := range inv.Conditions {
		if c.Type == object.Stalled && c.Status == object.True && c.Reason != reason.Denied {
			c.Type, c.Status = object.Ready, object.False
			return &c
		}
	}
	return nil
}

// withUnrecorded adds the sources of links that stay which are not in the record, so that they were not read. A target need not be in it: with
// tokens of people's own nothing is ever written there.
func withUnrecorded(t report.Overview) []report.RecordedCluster {
	all := t.Clusters
	for _, l := range t.Links {
		name := l.Pair.Source
		if l.Source != report.UnknownEnd || l.Target == report.LeavingEnd || slices.ContainsFunc(all, func(c report.RecordedCluster) bool { return c.Name == name }) {
			continue
		}
		why := object.Because(reason.NotRead, "a link names this cluster, but the record of clusters does not have it: run linkwright status --repo URL")
		all = append(all, report.RecordedCluster{Name: name, Why: why})
	}
	slices.SortFunc(all, func(a, b report.RecordedCluster) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// missingEnd is an end that no inventory records.
func missingEnd(unread map[api.ClusterName]bool, name api.ClusterName) report.End {
	if read, known := unread[name]; read || !known {
		return report.UnknownEnd
	}
	return report.AbsentEnd
}

// recordedConditions are those that the inventories of the clusters of a report record, and the clusters whose inventories were read. A cluster that
// does not answer now has none.
func (c installed) recordedConditions(ctx context.Context, r report.Report) (recorded []report.LinkConditions, in []api.ClusterName) {
	found, read := make([][]inventory.Inventory, len(r.Clusters)), make([]bool, len(r.Clusters))
	access.Each(len(r.Clusters), func(i int) {
		if r.Clusters[i].Status() != report.Unknown {
			all, err := c.readInventories(ctx, r.Clusters[i].Name) // without them little is missing, such as ages
			found[i], read[i] = all, err == nil
		}
	})
	out := map[api.Pair]report.LinkConditions{}
	for i, all := range found {
		if read[i] {
			in = append(in, r.Clusters[i].Name)
		}
		for _, inv := range all {
			if inv.End.IsBase() {
				continue
			}
			l := out[inv.End.Link]
			l.Link = inv.End.Link
			if inv.End.IsSource() { // whose Ready counts before that of a target
				l.Conditions, l.Failed = slices.Concat(inv.Conditions, l.Conditions), cmp.Or(removalFailure(inv), l.Failed)
			} else {
				l.Conditions, l.Failed = append(l.Conditions, inv.Conditions...), cmp.Or(l.Failed, removalFailure(inv))
			}
			out[l.Link] = l
		}
	}
	recorded = make([]report.LinkConditions, 0, len(out))
	for _, link := range slices.SortedFunc(maps.Keys(out), api.Pair.Compare) {
		recorded = append(recorded, out[link])
	}
	return recorded, in
}

func (c installed) readInventories(ctx context.Context, name api.ClusterName) (all []inventory.Inventory, err error) {
	err = c.WithCluster(ctx, name, func(conn object.Cluster) error {
		seen, err := conn.Observe(ctx, []object.Watch{inventory.Watch()})
		if err == nil {
			all, err = inventory.Read(c.owner, seen)
		}
		return err
	})
	return all, err
}

// linksRecorded implements decide.RecordedLinks.
func linksRecorded(ctx context.Context, q decide.Question) (links []api.Pair, unread map[api.ClusterName]object.Reason) {
	unread = map[api.ClusterName]object.Reason{}
	clusters, err := q.Management.OpenClusters(ctx, q.Log)
	if err != nil {
		for _, name := range q.In {
			unread[name] = cluster.Explain(err)
		}
		return nil, unread
	}
	defer clusters.Close(ctx)
	c := installed{Clusters: clusters, owner: q.Management.Owner, namespace: q.Management.Namespace, log: q.Log}
	failed := c.Follow(ctx, recordedClusters(q.Record, q.In))
	found, errs := make([]clusterInventories, len(q.In)), make([]error, len(q.In))
	access.Each(len(q.In), func(i int) {
		if errs[i] = failed[q.In[i]]; errs[i] == nil {
			found[i], errs[i] = c.inventories(ctx, q.In[i], q.Record.Clusters[q.In[i]], false)
		}
	})
	for i, name := range q.In {
		if errs[i] != nil {
			unread[name] = cluster.Explain(errs[i])
		}
		for _, inv := range found[i].inventories {
			if !inv.End.IsBase() {
				links = append(links, inv.End.Link)
			}
		}
	}
	return links, unread
}
