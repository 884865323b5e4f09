package sync

import (
	"context"
	"slices"
	gosync "sync"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// removedLinks records which links were removed: once the last object of a link is gone, no inventory says that there was one.
type removedLinks struct {
	shared
	mu   gosync.Mutex
	last []api.Pair // that the last report called removed; mu
}

// note takes a report: of a sync at its end, and of what a daemon does between two syncs. What cannot be recorded is only logged: nothing depends on it.
func (n *removedLinks) note(ctx context.Context, r report.Report) {
	if !n.loop.remembersRevisions() || n.loop.Uninstall || len(n.store.Record.Last().Clusters) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var removed, news []api.Pair
	if deletesLinks(r) {
		for _, l := range report.Links(r) {
			if l.Phase == plan.Removed {
				removed = append(removed, l.Pair)
			}
		}
	}
	for _, link := range removed {
		if !slices.Contains(n.last, link) {
			news = append(news, link)
		}
	}
	n.last = removed
	if len(news) == 0 || ctx.Err() != nil {
		return
	}
	err := n.record.Amend(ctx, func(to *inventory.Record) bool {
		to.AddRemoved(r.Commit, time.Now(), news...)
		return true
	})
	if err != nil && n.loop.Log != nil {
		n.loop.Log.Warn("removed links were not recorded: linkwright events will not show them", "error", err)
	}
}

// deletesLinks says that a report has a delete of an object of a link. Most have none, and are not looked at further.
func deletesLinks(r report.Report) bool {
	return slices.ContainsFunc(r.Clusters, func(c report.Cluster) bool {
		return slices.ContainsFunc(c.Outcomes, func(o object.Outcome) bool {
			return o.Change.Action == object.Delete && !o.Change.End.IsBase() && o.Err == nil
		})
	})
}
