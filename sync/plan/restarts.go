package plan

import (
	"cmp"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/sync/state"
)

// Restarts are the restarts of workloads in one cluster that may follow steps.
type Restarts struct {
	Cluster  api.ClusterName
	Declared *fleet.Rollout
	// Workloads is how many may restart at most: those that opt in, as counted last; negative: they were not counted.
	Workloads int
}

// FollowingRestarts returns the clusters in which workloads may restart after some steps, in the order in which they do: the values of their proxies
// change, or a rollout there begins or is not complete.
func FollowingRestarts(w state.Snapshot, steps map[api.ClusterName][]Step) (out []Restarts) {
	for _, c := range w.Fleet.Clusters {
		if c.Rollout == nil {
			continue
		}
		base, _ := inventory.ReadBase(w.Owner, w.Clusters[c.Name].Live)
		last, counted := rollout.Decode([]byte(base.Rollout))
		if counted && last.Complete() && !changesValues(c, steps[c.Name]) {
			continue
		}
		r := Restarts{Cluster: c.Name, Declared: c.Rollout, Workloads: -1}
		if counted && last.Total > 0 {
			r.Workloads = last.Total
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Restarts) int {
		return cmp.Or(cmp.Compare(a.Declared.From, b.Declared.From), cmp.Compare(a.Declared.Wave, b.Declared.Wave), cmp.Compare(a.Cluster, b.Cluster))
	})
	return out
}

// changesValues reports whether one of the steps changes what Linkerd's injector reads in the cluster.
func changesValues(c fleet.Cluster, steps []Step) bool {
	key := linkerd.ConfigKey(c.Spec.Linkerd)
	for _, s := range steps {
		for _, ch := range s.Changes {
			if ch.Key == key {
				return true
			}
		}
	}
	return false
}
