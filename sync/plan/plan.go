// Package plan computes the next step of one cluster from everything known now.
//
// It is a pure function: the same snapshot gives the same step, byte for byte. A first link, changed facts and an unlink are no special cases: they
// follow from comparing desired ends with live ones. The stages:
//
//	identify   may linkwright write to the cluster at all?
//	desired    what must each declared end hold, or why is it blocked?
//	compare    what is missing in each end, and what may be removed?
//	admit      policies, suspension, verified credentials, peers: is each end written, does it wait, or is it denied?
//	report     conditions, remarks, orphans
//	order      inventories ahead, phases, when to plan again
package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/state"
)

// Next returns the next step of one cluster.
func Next(w state.Snapshot, name api.ClusterName, r Renderer, policies ...Policy) Step {
	c := newCluster(w, name, r, policies)
	s := c.next()
	s.Rollout = rollouts{c}.of(s)
	return s
}

// next is Next without what stands beside the changes.
func (c *cluster) next() Step {
	w, name := c.Snapshot, c.name
	s := Step{Cluster: name, Commit: w.Commit(), Beside: Beside{Unconfined: c.unconfined()}}
	switch {
	case c.Renamed(name):
		s.Rows = formerName{c}.rows()
		return s
	case w.Adopt != nil || w.Release != nil:
		return ownership{c}.step(s)
	case c.abandoned(name):
		s.Rows = []Row{departure{c}.abandonedRow()}
		return s
	}
	c.desiredEnds = c.ends(name)
	if s.Denied = c.identify(); s.Denied != nil {
		s.Denied = departure{c}.explainUnread(s.Denied)
		s.Rows = c.allBlocked(s.Denied)
		return s
	}
	parts := c.admit(c.compare())
	s = c.collect(s, parts)
	s.Rows = departure{c}.warnAtBase(departure{c}.reportComplete(s.Rows))
	s = restarts{c}.add(s)
	s = healthChecks{c}.add(s)
	s = conditions{c}.add(s)
	s, recorded := proxyConfig{c}.add(s, base(parts))
	s = ordering{c}.order(s, recorded)
	s.Judged = c.judge(retiring(parts))
	s = remarks{c}.add(s)
	s = tokens{c}.add(s)
	s = c.cleanedUp(s)
	s.Orphans = c.orphans(s.Rows)
	return c.confirmEmpty(departure{c}.keepWhileOrphans(departure{c}.abandonIfForbidden(s)))
}
