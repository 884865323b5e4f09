package history

import (
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// renewed is the prefix of a cluster's other name.
const renewed = "new"

// rename renames a cluster with its links if the new name is its second name already; else it declares the second name, or people
// accept the new name at once. It does nothing while a former name is still in use, or while a process hangs.
func (r *history) rename(e Event) {
	pl, was := r.clusters[e.At], e.At
	is := api.ClusterName(renewed) + was
	if former, ok := strings.CutPrefix(string(was), renewed); ok {
		is = api.ClusterName(former)
	}
	_, declared := r.head.clusters[was]
	known := r.recordUIDs[was] == pl.uid // of one that was built anew meanwhile nobody could tell
	if !declared || !known || r.clusters[is] != nil || r.hanging || pl.abandoned || r.Servers != nil {
		r.commit(r.head)
		return
	}
	if e.M > 0 && r.head.secondNames[is] != was {
		c := r.head.clone()
		c.secondNames[is] = was
		r.commit(c)
		return
	}
	delete(r.former, is)
	delete(r.abandoned, was) // who gave it up by that name would lose it now
	r.former[was] = is
	r.clusters[is], pl.name = pl, is
	if r.head.secondNames[is] == "" {
		r.accepted[is] = pl.uid
	}
	c := r.head.clone()
	delete(c.secondNames, is)
	c.clusters[is] = c.clusters[was]
	delete(c.clusters, was)
	for p, l := range r.head.links {
		delete(c.links, p)
		c.links[r.currentPair(p)] = l
	}
	r.commit(c)
}

// currentName is the current name of a cluster.
func (r *history) currentName(name api.ClusterName) api.ClusterName {
	if is, ok := r.former[name]; ok {
		return is
	}
	return name
}

// currentPair is a link by the current names of its clusters.
func (r *history) currentPair(p api.Pair) api.Pair {
	return api.Pair{Source: r.currentName(p.Source), Target: r.currentName(p.Target)}
}

// hasFormerName reports whether the record still has a former name of a cluster.
func (r *history) hasFormerName(p *simCluster) bool {
	for was, is := range r.former {
		if is == p.name && r.clusters[was] == p {
			return true
		}
	}
	return false
}

// dropFormerName removes a cluster's former name, once the record does.
func (r *history) dropFormerName(name api.ClusterName) {
	if r.clusters[name].name != name {
		delete(r.clusters, name)
	}
}

// hasReasonByOtherName is hasReason for the same link under other names of its clusters.
func (r *history) hasReasonByOtherName(e object.End) bool {
	return slices.ContainsFunc(r.last[e.Cluster].Rows, func(row plan.Row) bool {
		same := object.End{Cluster: e.Cluster, Link: row.End.Link}
		return r.currentPair(row.End.Link) == r.currentPair(e.Link) && r.hasReason(same)
	})
}
