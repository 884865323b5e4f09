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

// rename gives a cluster its other name, with the links that have it; mostly people allow that at once. Not while its former
// name is still handed over, nor while a process hangs, which knows the other one.
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
	delete(r.former, is)
	delete(r.forget, was) // who gave it up by that name would lose it now
	r.former[was] = is
	r.planes[is], pl.name = pl, is
	if e.M > 0 {
		r.accepted[is] = pl.uid
	}
	c := r.head.clone()
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

// meant says that a process can know which cluster a name means: it was read by it, or people said so.
func (r *run) meant(p *process, name api.ClusterName) bool {
	return p.sides[name].Known || r.home[name] != "" || r.accepted[name] != ""
}

// handing says that a former name of a cluster is still remembered.
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

// goesOn says that a row tells why an end of the same link, by whichever names its clusters had, is not as it should be.
func (r *run) goesOn(e object.End) bool {
	return slices.ContainsFunc(r.last[e.Cluster].Rows, func(row plan.Row) bool {
		same := object.End{Cluster: e.Cluster, Link: row.End.Link}
		return r.today(row.End.Link) == r.today(e.Link) && r.explained(same)
	})
}

// inherits: what peers of a renamed cluster hold by its former name stays until the link by the new one stands, or stood when
// the process looked; nor does a federated Service go of which the link by the new name makes a member.
func (r *run) inherits(p *process, c object.Change, was *thing) string {
	link := r.today(c.End.Link)
	l, declared := p.commit.of(link)
	if link == c.End.Link || !declared || r.called(c.End.Cluster) != c.End.Cluster || !r.meant(p, link.Source) || !r.meant(p, link.Target) {
		return ""
	}
	at := r.planes[link.Source]
	for _, k := range sourceKeys(p.commit.clusters[link.Source].mc(), link.Target, l) {
		if t := at.things[k]; (t == nil || t.by != ours) && p.sides[link.Source].Seen.Record(k).Mark != object.Ours {
			return "(b) it goes before " + k.String() + " of " + link.String() + " stands, which takes its place"
		}
	}
	alone := slices.Equal(members(at.things[federatedKey()]), []string{asMember + "@" + string(c.End.Link.Target)})
	if alone && link.Target != c.End.Link.Target && l.federated && c.Action == object.Drain && chooses(was.link().FederatedServiceSelector) {
		return "(b) it ends a federated Service that " + link.String() + " makes members of"
	}
	return ""
}
