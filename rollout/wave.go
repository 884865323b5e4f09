package rollout

import (
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Wave is how the rollout of one cluster looks to the others of its rollout.
type Wave struct {
	Number   int
	Known    bool // its workloads were compared with the configuration that counts now
	Progress Progress
	Halts    bool // a failure in it halts the others
}

// HaltedBy returns why a cluster of a wave must not restart anything because of other clusters of the rollout; nil: it may.
func HaltedBy(all map[api.ClusterName]Wave, name api.ClusterName) *object.Reason {
	for _, other := range slices.Sorted(maps.Keys(all)) {
		if w := all[other]; other != name && w.Halts && len(w.Progress.Failed) > 0 {
			return object.Because(reason.RolloutHalted, "cluster %s: %s", other, w.Progress.failed())
		}
	}
	var before []string
	for _, other := range slices.Sorted(maps.Keys(all)) {
		if w := all[other]; w.Number < all[name].Number && (!w.Known || !w.Progress.Complete()) {
			before = append(before, string(other))
		}
	}
	if len(before) == 0 {
		return nil
	}
	return object.Because(reason.WaitingForWave, "the rollout is not complete in cluster %s, which is in a wave before", object.FirstNames(before, 3))
}
