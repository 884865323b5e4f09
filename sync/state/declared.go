package state

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
)

// Commit returns that of the fleet; empty without one.
func (d Declarations) Commit() api.Commit {
	if d.Fleet == nil {
		return ""
	}
	return d.Fleet.Commit
}

// Declared returns a cluster with its links out and in; a departed cluster has none.
func (d Declarations) Declared(name api.ClusterName) (c *fleet.Cluster, out, in []fleet.Link) {
	if d.Fleet == nil {
		return nil, nil, nil
	}
	c, ok := d.Fleet.Cluster(name)
	if !ok {
		return nil, nil, nil
	}
	return c, d.Fleet.Out(name), d.Fleet.In(name)
}

// Leaves reports whether a cluster is declared to leave: all that it holds of linkwright goes.
func (d Declarations) Leaves(name api.ClusterName) bool {
	c, _, _ := d.Declared(name)
	return c != nil && c.Spec.State == api.Leaving
}

// Linked reports whether a link is declared, and so are both its clusters to stay.
func (d Declarations) Linked(p api.Pair) bool {
	if d.Fleet == nil {
		return false
	}
	_, ok := d.Fleet.Link(p)
	return ok && !d.Leaves(p.Source) && !d.Leaves(p.Target)
}

// Policy returns the declared SyncPolicy, or the defaults.
func (d Declarations) Policy() api.SyncPolicy {
	if d.Fleet == nil {
		return api.SyncPolicy{}.WithDefaults()
	}
	return d.Fleet.Policy
}

// IsDeclared reports whether a name is declared, be it as a second one.
func (d Declarations) IsDeclared(name api.ClusterName) bool {
	c, _, _ := d.Declared(name)
	return c != nil
}

// IsCluster reports whether a name is declared, and not as a second one.
func (d Declarations) IsCluster(name api.ClusterName) bool {
	c, _, _ := d.Declared(name)
	return c != nil && c.Name == name && c.Spec.SameAs == ""
}

// HasLeft reports whether a cluster of the record is no longer declared.
func (d Declarations) HasLeft(name api.ClusterName) bool {
	return slices.ContainsFunc(d.Departed, func(c fleet.Cluster) bool { return c.Name == name })
}

// Declares reports whether a link is declared.
func (d Declarations) Declares(link api.Pair) bool {
	if d.Fleet == nil {
		return false
	}
	_, ok := d.Fleet.Link(link)
	return ok
}

// CalledAs returns the name by which a source is linked to a cluster: its own, or else the first of its second names by which a link is declared.
func (d Declarations) CalledAs(source, name api.ClusterName) api.ClusterName {
	if d.Fleet == nil || d.Declares(api.Pair{Source: source, Target: name}) {
		return name
	}
	for _, second := range d.Fleet.Names(name) {
		if d.Declares(api.Pair{Source: source, Target: second}) {
			return second
		}
	}
	return name
}

// Discovering returns the targets whose control-plane secrets are looked for by name.
func (d Declarations) Discovering(name api.ClusterName) (targets []api.ClusterName) {
	_, out, _ := d.Declared(name)
	for _, l := range out {
		if l.Spec.UsesRemoteDiscovery() && l.Spec.Credentials.Mode != api.Existing {
			targets = append(targets, l.Target.Name)
		}
	}
	return targets
}

// Spec returns the cluster's declaration, or what is remembered of it: Linkerd is then where the base says.
func (s Snapshot) Spec(name api.ClusterName) api.Cluster {
	if c, _, _ := s.Declared(name); c != nil {
		return c.Spec
	}
	for _, c := range s.Departed {
		if c.Name == name {
			c.Spec.Linkerd = s.Installed(c, s.Clusters[name].Live)
			return c.Spec
		}
	}
	return api.Cluster{}.WithDefaults()
}

// Installed returns where Linkerd is in a cluster: as it is declared, or as the base says in one that is no longer declared.
func (s Snapshot) Installed(c fleet.Cluster, ledger object.Observation) api.Linkerd {
	if base, found := inventory.ReadBase(s.Owner, ledger); found && base.Linkerd != (api.Linkerd{}) && s.HasLeft(c.Name) {
		return base.Linkerd
	}
	return c.Spec.Linkerd
}
