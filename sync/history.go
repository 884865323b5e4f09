package sync

import (
	"context"
	"fmt"
	"maps"
	"slices"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/store"
)

// history judges which commits may be applied, by the commits that clusters have.
type history struct {
	loop   *Loop
	store  *store.Store
	asking gosync.Mutex // held while whether one commit follows another is asked
}

// denied returns why a fleet must not be applied: it does not descend from every applied commit, or these are not known. Once a cluster has the
// applied commit, it is not compared again: a cluster that it does not follow is denied alone.
func (h *history) denied(ctx context.Context, f *fleet.Fleet) error {
	good, _ := h.store.Declared.Applied()
	if good != nil && good.Commit == f.Commit && h.store.Declared.Confirmed(h.appliedCommits(f)) != "" {
		return nil
	}
	if err := h.compareApplied(ctx, f); err != nil || h.loop.Uninstall { // an uninstall applies nothing of the revision to clusters that it cannot read
		return err
	}
	return h.deniedUnread(ctx, f)
}

// compareApplied compares a fleet with each commit that clusters have, and returns the first answer against it. The applied commit counts also while
// no cluster that has it can be read.
func (h *history) compareApplied(ctx context.Context, f *fleet.Fleet) error {
	carried := h.appliedCommits(f)
	if last := h.store.Declared.Confirmed(carried); last != "" && carried[last] == nil {
		carried[last] = nil
	}
	var first error
	for _, last := range slices.Sorted(maps.Keys(carried)) {
		if err := h.ask(ctx, f.Commit, last); err != nil && first == nil {
			first = fmt.Errorf("%w; revision %s is applied in %s", err, last.Short(), nameSome(carried[last]))
		}
	}
	return first
}

// nameSome names the first clusters.
func nameSome(names []api.ClusterName) string {
	switch slices.Sort(names); len(names) {
	case 0:
		return "clusters that cannot be read now"
	case 1:
		return "cluster " + string(names[0])
	}
	return fmt.Sprintf("cluster %s and %d more", names[0], len(names)-1)
}

// appliedCommits returns the commits in the bases of the guarded clusters, with those clusters. A suspended cluster does not count, because nothing
// would be applied there.
func (h *history) appliedCommits(f *fleet.Fleet) map[api.Commit][]api.ClusterName {
	out := map[api.Commit][]api.ClusterName{}
	for name, last := range h.store.Carried() {
		if h.concerns(f, name) {
			out[last] = append(out[last], name)
		}
	}
	return out
}

// concerns reports whether a fleet would be applied in a cluster whose history this process guards.
func (h *history) concerns(f *fleet.Fleet, name api.ClusterName) bool {
	c, declared := f.Cluster(name)
	return h.loop.guards(name) && (!declared || !c.Spec.Suspend) && !h.store.Record.Suspends(name) &&
		!inventory.Paused(h.loop.Owner, h.store.Clusters.Last(name).Live)
}

// ask returns why a commit may not be applied after another; nil: it may. Each pair is compared once in a sync.
func (h *history) ask(ctx context.Context, commit, last api.Commit) error {
	if commit == "" || last == "" || commit == last {
		return nil
	}
	if err, known := h.store.Declared.Answer(commit, last); known {
		return err
	}
	h.asking.Lock()
	defer h.asking.Unlock()
	if err, known := h.store.Declared.Answer(commit, last); known {
		return err
	}
	err := h.loop.Declared.Follows(ctx, commit, last, h.store.Record.Allowed())
	h.store.Declared.SetAnswer(commit, last, err)
	return err
}

// retryUnread reads clusters that could not be read again before anybody writes, while no cluster is known to have the applied commit: their commits
// may deny it.
func (h *history) retryUnread() {
	good, _ := h.store.Declared.Applied()
	if good == nil || h.store.Declared.Confirmed(h.appliedCommits(good)) != "" {
		return
	}
	h.store.Clusters.ReadUnreadAgain()
}

// deniedUnread returns why a fleet must not be applied while the applied commit is not known: no cluster that could be read has a commit, and one of
// the record could not be read. If no cluster can be read, nothing would be applied, so the fleet is judged with the first that can.
func (h *history) deniedUnread(ctx context.Context, f *fleet.Fleet) error {
	carried := h.appliedCommits(f)
	if f.Commit == "" || len(carried) > 0 || h.store.Declared.Confirmed(carried) != "" {
		return nil
	}
	w, read := h.store.Snapshot(), false
	var unread []api.ClusterName
	for name, live := range w.Clusters {
		_, recorded := w.UIDs[name]
		switch {
		case !h.concerns(f, name):
		case live.Known():
			read = true
		case recorded:
			unread = append(unread, name)
		}
	}
	if !read || len(unread) == 0 {
		return nil
	}
	if err := h.loop.Declared.Follows(ctx, f.Commit, "", h.store.Record.Allowed()); err != nil {
		return fmt.Errorf("read the revision applied in %s: %w", nameSome(unread), err)
	}
	return nil
}

// guarded returns how many clusters of the record this process guards.
func (h *history) guarded() (n int) {
	for name := range h.store.Record.Last().Clusters {
		if h.loop.guards(name) {
			n++
		}
	}
	return n
}

// majority returns the commit that more than half of so many clusters have; empty: none.
func majority(carried map[api.Commit][]api.ClusterName, of int) api.Commit {
	for last, names := range carried {
		if 2*len(names) > of {
			return last
		}
	}
	return ""
}

// appliedEverywhere reports whether all clusters of the record have the applied commit, and that is the given commit or descends from it.
func (h *history) appliedEverywhere(ctx context.Context, commit api.Commit) bool {
	good, _ := h.store.Declared.Applied()
	if good == nil || good.Commit == "" {
		return false
	}
	applied := h.store.Carried()
	for name := range h.store.Record.Last().Clusters {
		if last := applied[name]; !h.store.Clusters.Last(name).Known() || last != "" && last != good.Commit {
			return false
		}
	}
	return good.Commit == commit || h.loop.Declared.Follows(ctx, good.Commit, commit, nil) == nil
}
