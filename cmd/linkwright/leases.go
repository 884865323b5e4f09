package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/decide"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/lease"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/setup"
)

// opening is what status opens with, as the record and the leases say.
func (c installed) opening(ctx context.Context, known inventory.Record) report.Opening {
	writers := c.writers(ctx, slices.Sorted(maps.Keys(known.Clusters)))
	revision := recordedRevision(known.Revision)
	now := time.Now()
	in := object.Installation{Owner: c.owner, Namespace: c.namespace}
	revision.Denied, revision.Approval = denial(known, in, now)
	revision.Uninstall = report.UninstallOf(known.Revision.UninstallSince, in)
	out := report.Opening{Revision: revision, Writers: writers, At: now, Decisions: decide.Decisions(known, c.owner, now)}
	out.Leader, out.Unread = c.leader(ctx)
	return out
}

// denial is what the record says is denied, and how people approve it, or that they did; nil: nothing is denied.
func denial(known inventory.Record, in object.Installation, now time.Time) (*object.Reason, report.Approval) {
	d := known.Denied
	if d == nil {
		return nil, report.Approval{}
	}
	if all := known.Covering(*d, now); len(all) > 0 && len(d.Units) > 0 {
		given, back := approvedBy(all, in)
		return object.Because(reason.PruneLimitExceeded, "approved %s: the next sync removes %s; to take it back, run %s",
				given, strings.Join(unitNames(d.Units), ", "), back),
			report.Approval{How: "approved " + given + ": the next sync removes it", Given: true}
	}
	out := report.Approval{How: "restore the declarations, or run " + in.Command("approve "+d.Hash)}
	if len(d.Units) == 0 {
		out.How = "" // nobody knows what to approve
	}
	return d.Why(in), out
}

// approvedBy is who gave approvals, and the commands that take them back. Each of several says which part it approves.
func approvedBy(all []inventory.Approval, in object.Installation) (given, back string) {
	var who, commands []string
	for _, a := range all {
		commands = append(commands, in.Command("approve "+a.Hash)+" --withdraw")
		if len(all) == 1 {
			who = append(who, a.Given())
			continue
		}
		who = append(who, a.Given()+" ("+a.Removes()+")")
	}
	return strings.Join(who, " and "), strings.Join(commands, " or ")
}

// leader reads the installation's lease; nil: there is none, or it could not be read.
func (c installed) leader(ctx context.Context) (_ *report.Leader, unread bool) {
	name := setup.LeaseOf(c.owner)
	all := c.leases(ctx, []string{name})
	if l, found := all[name]; found {
		leader := decide.Leader(l)
		return &leader, false
	}
	return nil, all == nil
}

// writers reads the leases that processes with --only-write take, one for each cluster: also of clusters that are not in the record, as
// far as the account may list Leases. It leaves out those that cannot be read, that are another installation's, and that only a command
// held which takes all of them for as long as it runs. For a cluster that is not in the record, only a holder counts.
func (c installed) writers(ctx context.Context, recorded []api.ClusterName) (out []report.Leader) {
	found := c.leases(ctx, nil)
	if found == nil && len(recorded) > 0 {
		names := make([]string, len(recorded))
		for i, cluster := range recorded {
			names[i] = setup.LeaseOnly(c.owner, cluster)
		}
		found = c.leases(ctx, names)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		one := found[name]
		cluster, ok := strings.CutPrefix(lease.About(&one), setup.OfOnly(c.owner, ""))
		if !ok || name != setup.LeaseOnly(c.owner, api.ClusterName(cluster)) {
			continue
		}
		l := decide.Leader(one)
		l.Only = api.ClusterName(cluster)
		if l.Holder != "" || l.Last.By != "" && slices.Contains(recorded, l.Only) {
			out = append(out, l)
		}
	}
	return out
}

// leases reads those of some names that are there, that were ever taken, and that may be read; without names all of the namespace, and nil
// if they may not be read.
func (c installed) leases(ctx context.Context, names []string) map[string]coordinationv1.Lease {
	seen, err := c.Management().Observe(ctx, []object.Watch{{
		Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Namespace: c.namespace, Names: names,
		Depth: object.Whole, MayBeForbidden: len(names) > 0,
	}})
	shows := func(name string) bool {
		return seen.Hides(object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: c.namespace, Name: name}) == nil
	}
	if err != nil || len(names) > 0 && !slices.ContainsFunc(names, shows) {
		return nil
	}
	out := map[string]coordinationv1.Lease{}
	for key, body := range seen.Bodies() {
		var l coordinationv1.Lease
		if json.Unmarshal(body.Bytes(), &l) == nil && l.Spec.RenewTime != nil {
			out[key.Name] = l
		}
	}
	return out
}
