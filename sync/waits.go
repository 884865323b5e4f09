package sync

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/plan"
)

// neighbours are the clusters whose steps wait for this one – its own end of a link may be gone already –, and with declared
// those at the other ends of its declared links.
func (b *board) neighbours(name api.ClusterName, declared bool) []api.ClusterName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []api.ClusterName
	if declared {
		for _, l := range b.fleet.Out(name) {
			out = append(out, l.Target.Canonical())
		}
		for _, l := range b.fleet.In(name) {
			out = append(out, l.Source.Name)
		}
	}
	for other, names := range b.waiting {
		if slices.Contains(names, name) {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n api.ClusterName) bool { return n == name })
}

// alike says that reports of two steps tell the same of a cluster.
func alike(a, b plan.Step) bool {
	same := func(a, b *object.Reason) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	return a.Cluster == b.Cluster && a.Commit == b.Commit && same(a.Refused, b.Refused) &&
		slices.EqualFunc(a.Rows, b.Rows, func(a, b plan.Row) bool {
			return a.End == b.End && a.Standing == b.Standing && same(a.Why, b.Why)
		})
}

// waits are the clusters that a step waits for: those to be read, and those at the other ends of links that leave, or that are
// kept until they are no longer used.
func waits(s plan.Step) []api.ClusterName {
	out := slices.Clone(s.Look)
	for _, r := range s.Rows {
		if r.Leaving || r.Why != nil && r.Why.Code == credential.InUse {
			out = append(out, r.Other)
		}
	}
	return out
}
