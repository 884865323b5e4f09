package inventory

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
)

// Pending is the cleanup of a removed link in a cluster that could not be read, and that nothing else records.
type Pending struct {
	Source api.ClusterName `json:"source"`
	Target api.ClusterName `json:"target"`
	Since  time.Time       `json:"since"` // UTC, whole seconds
}

// Link is the pair of the removed link.
func (d Pending) Link() api.Pair { return api.Pair{Source: d.Source, Target: d.Target} }

// AddPending adds pending cleanups, sorted by link. One that exists keeps its time.
func (k KnownCluster) AddPending(since time.Time, links ...api.Pair) KnownCluster {
	k.Pending = slices.Clone(k.Pending)
	for _, l := range links {
		if !slices.ContainsFunc(k.Pending, func(d Pending) bool { return d.Link() == l }) {
			k.Pending = append(k.Pending, Pending{l.Source, l.Target, since.UTC().Truncate(time.Second)})
		}
	}
	slices.SortFunc(k.Pending, func(a, b Pending) int { return a.Link().Compare(b.Link()) })
	return k
}

// Without removes pending cleanups.
func (k KnownCluster) Without(links []api.Pair) KnownCluster {
	k.Pending = slices.DeleteFunc(slices.Clone(k.Pending), func(d Pending) bool { return slices.Contains(links, d.Link()) })
	if len(k.Pending) == 0 {
		k.Pending = nil
	}
	return k
}
