package inventory

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
)

// Debt is what a cluster that could not be read still holds of a removed link, when nothing but itself tells of it any more.
type Debt struct {
	Source api.ClusterName `json:"source"`
	Target api.ClusterName `json:"target"`
	Since  time.Time       `json:"since"` // UTC, whole seconds
}

// Link is the pair of the removed link.
func (d Debt) Link() api.Pair { return api.Pair{Source: d.Source, Target: d.Target} }

// Owing adds debts, sorted by link. One that is known keeps its age.
func (k Known) Owing(since time.Time, links ...api.Pair) Known {
	k.Debts = slices.Clone(k.Debts)
	for _, l := range links {
		if !slices.ContainsFunc(k.Debts, func(d Debt) bool { return d.Link() == l }) {
			k.Debts = append(k.Debts, Debt{l.Source, l.Target, since.UTC().Truncate(time.Second)})
		}
	}
	slices.SortFunc(k.Debts, func(a, b Debt) int { return a.Link().Compare(b.Link()) })
	return k
}

// Without takes debts away.
func (k Known) Without(links []api.Pair) Known {
	k.Debts = slices.DeleteFunc(slices.Clone(k.Debts), func(d Debt) bool { return slices.Contains(links, d.Link()) })
	if len(k.Debts) == 0 {
		k.Debts = nil
	}
	return k
}
