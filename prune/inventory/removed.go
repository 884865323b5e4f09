package inventory

import (
	"cmp"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
)

// RemovedLink is a link of which nothing is left. The record shows for a week that it was removed, because no inventory of it is left either.
type RemovedLink struct {
	Source   api.ClusterName `json:"source"`
	Target   api.ClusterName `json:"target"`
	Revision api.Commit      `json:"revision,omitempty"` // that was applied when its last object went
	At       time.Time       `json:"at,omitzero"`        // UTC, whole seconds
}

// Link is the pair of the link.
func (r RemovedLink) Link() api.Pair { return api.Pair{Source: r.Source, Target: r.Target} }

// mostRemoved bounds how many removed links the record shows: it is one ConfigMap. The newest stay.
const mostRemoved = 100

// AddRemoved adds links that are removed now, and forgets those that were removed more than a week ago.
func (r *Record) AddRemoved(revision api.Commit, now time.Time, links ...api.Pair) {
	out := slices.DeleteFunc(r.RemovedLinks(now), func(l RemovedLink) bool { return slices.Contains(links, l.Link()) })
	for _, l := range links {
		out = append(out, RemovedLink{l.Source, l.Target, revision, wholeSecond(now)})
	}
	slices.SortStableFunc(out, func(a, b RemovedLink) int { return cmp.Or(a.At.Compare(b.At), a.Link().Compare(b.Link())) })
	r.Removed = out[max(0, len(out)-mostRemoved):]
}

// RemovedLinks are those of the last week.
func (r Record) RemovedLinks(now time.Time) []RemovedLink {
	return slices.DeleteFunc(slices.Clone(r.Removed), func(l RemovedLink) bool { return !now.Before(l.At.Add(maxAllowedAge)) })
}
