package state

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
)

// TargetEnd returns the target's end of a declared link: it is in the cluster of which the target may be a second name.
func TargetEnd(l fleet.Link) object.End {
	return object.End{Cluster: l.Target.Canonical(), Link: l.Pair()}
}

// Other returns the cluster in which the other end of a link is, by the name that it has now.
func (s Snapshot) Other(end object.End) api.ClusterName {
	if end.IsSource() {
		return s.TargetCluster(end.Link)
	}
	return s.CurrentName(end.Link.Source)
}

// OtherOf is Other; for a base it returns the empty name.
func (s Snapshot) OtherOf(end object.End) api.ClusterName {
	if end.IsBase() {
		return ""
	}
	return s.Other(end)
}

// TargetCluster returns the cluster in which the target's end of a link is: its target, by today's name, or the cluster of which that is a second name, as
// it is declared or as the cluster itself tells.
func (s Snapshot) TargetCluster(link api.Pair) api.ClusterName {
	if s.IsRecorded(link.Target) {
		return s.CurrentName(link.Target)
	}
	var found []api.ClusterName
	for name, cluster := range s.Clusters {
		if name != link.Source && !s.Renamed(name) && s.mentions(link, name, cluster) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return link.Target
	}
	return slices.Min(found)
}

// mentions reports whether a cluster records the target's end of a link, or the target as a second name of its own.
func (s Snapshot) mentions(link api.Pair, name api.ClusterName, cluster Cluster) bool {
	if _, recorded := inventory.Of(s.Owner, object.End{Cluster: name, Link: link}, cluster.Live); recorded {
		return true
	}
	base, found := inventory.ReadBase(s.Owner, cluster.Live)
	return found && slices.Contains(base.Names, link.Target)
}

// renamed returns the new name of a cluster that is no longer declared by this name, and that people accepted under the new one. The new name takes
// over what the cluster holds under the former name.
func (s Snapshot) renamed(name api.ClusterName) (api.ClusterName, bool) {
	cluster := s.Clusters[name]
	if !cluster.Known() || cluster.Facts.UID == "" || !s.HasLeft(name) {
		return "", false
	}
	for _, other := range s.named(cluster.Facts.UID) {
		if !s.HasLeft(other) && s.accepts(other) {
			return other, true
		}
	}
	return "", false
}

// CurrentName returns the name that a cluster has now, other than a second one.
func (s Snapshot) CurrentName(name api.ClusterName) api.ClusterName {
	if c, _, _ := s.Declared(name); c != nil {
		return c.Canonical()
	}
	if now, renamed := s.renamed(name); renamed {
		return now
	}
	return name
}

// Renamed reports whether a name was given up for another.
func (s Snapshot) Renamed(name api.ClusterName) bool {
	_, renamed := s.renamed(name)
	return renamed
}

// named returns all names under which a cluster was read, in order.
func (s Snapshot) named(uid string) (out []api.ClusterName) {
	for name, cluster := range s.Clusters {
		if cluster.Known() && cluster.Facts.UID == uid {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// accepts reports whether people accepted a cluster under this name, or its base has the name, also as a second one.
func (s Snapshot) accepts(name api.ClusterName) bool {
	cluster := s.Clusters[name]
	if s.Accepted[name] == cluster.Facts.UID {
		return true
	}
	base, ok := inventory.ReadBase(s.Owner, cluster.Live)
	return ok && (base.End.Cluster == name || slices.Contains(base.Names, name))
}

// IsRecorded reports whether a name is declared or in the record. No other cluster was ever written to.
func (s Snapshot) IsRecorded(name api.ClusterName) bool {
	c, _, _ := s.Declared(name)
	_, recorded := s.UIDs[name]
	return c != nil || recorded || s.HasLeft(name)
}
