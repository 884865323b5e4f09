package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/report"
)

// opening is what status opens with, as the record and the leases say.
func (c *clusters) opening(ctx context.Context, known inventory.Record) report.Opening {
	writers := c.writers(ctx, slices.Sorted(maps.Keys(known.Clusters)))
	return report.Opening{Revision: revisionTold(known.Revision), Leader: c.leader(ctx), Writers: writers, At: time.Now()}
}

// leader reads the installation's lease; nil: there is none, or who asks may not read it.
func (c *clusters) leader(ctx context.Context) *report.Leader {
	name := leaseOf(c.flags.owner)
	if l, found := c.leases(ctx, []string{name})[name]; found {
		return leaderOf(l)
	}
	return nil
}

// writers reads the leases that processes with --only-write take, one for each cluster. Not told are those that cannot be read, that
// are another installation's, and that only a command held which takes all of them for as long as it runs.
func (c *clusters) writers(ctx context.Context, of []api.ClusterName) (out []report.Leader) {
	names := make([]string, len(of))
	for i, cluster := range of {
		names[i] = leaseOnly(c.flags.owner, string(cluster))
	}
	found := c.leases(ctx, names)
	for i, cluster := range of {
		one, ok := found[names[i]]
		if !ok || lease.About(&one) != ofOnly(c.flags.owner, string(cluster)) {
			continue
		}
		if l := leaderOf(one); l.Holder != "" || l.Last.By != "" {
			l.Only = cluster
			out = append(out, *l)
		}
	}
	return out
}

// leases reads those of some names that are there, that were ever taken, and that may be read.
func (c *clusters) leases(ctx context.Context, names []string) map[string]coordinationv1.Lease {
	out := map[string]coordinationv1.Lease{}
	if len(names) == 0 {
		return out // without names all would be asked for
	}
	key := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: c.flags.namespace}
	seen, err := c.home.Observe(ctx, []object.Watch{
		{Group: key.Group, Version: "v1", Kind: key.Kind, Namespace: key.Namespace, Names: names, Depth: object.Whole, MayHide: true},
	})
	if err != nil {
		return out
	}
	for _, key.Name = range names {
		body, found := seen.Body(key)
		var l coordinationv1.Lease
		if found && json.Unmarshal(body.Bytes(), &l) == nil && l.Spec.RenewTime != nil {
			out[key.Name] = l
		}
	}
	return out
}

// leaderOf is what a lease says.
func leaderOf(l coordinationv1.Lease) *report.Leader {
	out := &report.Leader{Lease: l.Namespace + "/" + l.Name, Renewed: l.Spec.RenewTime.Time}
	if l.Spec.HolderIdentity != nil {
		out.Holder = *l.Spec.HolderIdentity
	}
	if l.Spec.LeaseDurationSeconds != nil {
		out.Lasts = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	if last, ok := lease.LastSync(&l); ok {
		out.Last = report.Sync{By: last.By, At: last.At}
	}
	return out
}
