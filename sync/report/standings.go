package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Standing is how a cluster or a link is while a sync is under way. It holds no secret.
type Standing struct {
	Cluster api.ClusterName // of a link: its source
	Link    api.Pair        // zero: this is the cluster itself
	Status  Status          // empty: it is not known yet
	Reason  *object.Reason
	Until   time.Time // of a drain; zero: none is known
	// Written and Failed count writes to a cluster.
	Written, Failed int
	Activity
}

// IsLink says that it is about a link.
func (s Standing) IsLink() bool { return !s.Link.IsZero() }

// Standings lists each cluster, by name, and after it the links that it is the source of. A link of which an end is not known yet is left
// out.
func (r Report) Standings() []Standing {
	m, out, known := redacting(bodiesOf(r)), []Standing(nil), map[api.ClusterName]bool{}
	for _, c := range r.Clusters {
		known[c.Name] = c.known()
		out = append(out, standingOf(m, c))
	}
	for _, l := range Links(r) {
		if l.Phase == Unseen && (!known[l.Source.End.Cluster] || !known[l.Target.End.Cluster]) {
			continue
		}
		out = append(out, Standing{
			Cluster: l.Pair.Source, Link: l.Pair, Status: l.Status(), Reason: m.reason(l.Reason()), Until: latest(l.Source.Until, l.Target.Until),
		})
	}
	slices.SortStableFunc(out, func(a, b Standing) int { return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), a.Link.Compare(b.Link)) })
	return out
}

// standingOf is how a cluster is. If it can be written, its base says how it is.
func standingOf(m mask, c Cluster) Standing {
	s := Standing{Cluster: c.Name, Activity: c.Activity}
	for _, o := range c.Outcomes {
		if o.Err != nil {
			s.Failed++
		} else {
			s.Written++
		}
	}
	if !c.known() {
		return s
	}
	s.Status, s.Reason = c.Status(), m.reason(c.Why())
	for _, row := range c.Step.Rows {
		if row.End.IsBase() && !row.HasNothingToReport() && s.Status == Ready {
			s.Status, s.Reason = endStatus(row.Phase, row.Leaving), m.reason(row.Why)
		}
	}
	return s
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
