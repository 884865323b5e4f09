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

// rename gives a cluster its other name, with the links that have it, if that is its second one by then; else it declares that as a second
// one, or people allow the other name at once. Not while its former name is still handed over, nor while a process hangs, which knows the other one.
func (r *run) rename(e Event) {
	pl, was := r.planes[e.At], e.At
	is := api.ClusterName(renewed) + was
	if former, ok := strings.CutPrefix(string(was), renewed); ok {
		is = api.ClusterName(former)
	}
	_, declared := r.head.clusters[was]
	known := r.home[was] == pl.uid // of one that was built anew meanwhile nobody could tell
	if !declared || !known || r.planes[is] != nil || r.hangs || pl.given || r.Servers != nil {
		r.commit(r.head)
		return
	}
	if e.M > 0 && r.head.seconds[is] != was {
		c := r.head.clone()
		c.seconds[is] = was
		r.commit(c)
		return
	}
	delete(r.former, is)
	delete(r.forget, was) // who gave it up by that name would lose it now
	r.former[was] = is
	r.planes[is], pl.name = pl, is
	if r.head.seconds[is] == "" {
		r.accepted[is] = pl.uid
	}
	c := r.head.clone()
	delete(c.seconds, is)
	c.clusters[is] = c.clusters[was]
	delete(c.clusters, was)
	for p, l := range r.head.links {
		delete(c.links, p)
		c.links[r.today(p)] = l
	}
	r.commit(c)
}

// called is the name that a cluster has now.
func (r *run) called(name api.ClusterName) api.ClusterName {
	if is, ok := r.former[name]; ok {
		return is
	}
	return name
}

// today is a link by the names that its clusters have now.
func (r *run) today(p api.Pair) api.Pair {
	return api.Pair{Source: r.called(p.Source), Target: r.called(p.Target)}
}

// handing reports whether a former name of a cluster is still remembered.
func (r *run) handing(p *plane) bool {
	for was, is := range r.former {
		if is == p.name && r.planes[was] == p {
			return true
		}
	}
	return false
}

// struckOff forgets a cluster's former name, once the record of clusters does.
func (r *run) struckOff(name api.ClusterName) {
	if r.planes[name].name != name {
		delete(r.planes, name)
	}
}

// goesOn reports whether a row tells why an end of the same link, by whichever names its clusters had, is not as it should be.
func (r *run) goesOn(e object.End) bool {
	return slices.ContainsFunc(r.last[e.Cluster].Rows, func(row plan.Row) bool {
		same := object.End{Cluster: e.Cluster, Link: row.End.Link}
		return r.today(row.End.Link) == r.today(e.Link) && r.explained(same)
	})
}
