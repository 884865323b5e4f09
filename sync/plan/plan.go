// Package plan answers: given everything known now, what is one cluster's next step?
//
// It is a function from values to values: the same snapshot gives the same step, byte for byte. First
// link, change of facts and unlink are no scripts but what falls out of comparing desired ends with what is live. The stages:
//
//	identify   may anything be written there at all?
//	desired    what is each declared end to hold, or why is it blocked?
//	compare    what does each end lack, and what may go of it?
//	admit      policies, suspension, verified credentials, peers: each end goes, waits or is denied
//	report     conditions, remarks, orphans
//	order      inventories ahead, phases, when to ask again
package plan

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/state"
)

// Next gives the next step of one cluster.
func Next(w state.Snapshot, name api.ClusterName, r Renderer, policies ...Policy) Step {
	c := open(w, name, r, policies)
	s := Step{Cluster: name, Commit: w.Commit(), Unconfined: c.unconfined()}
	switch {
	case c.Renamed(name):
		s.Rows = formerName{c}.rows()
		return s
	case w.Adopt != nil || w.Release != nil:
		return taking{c}.step(s)
	case c.abandoned(name):
		s.Rows = []Row{parting{c}.abandon()}
		return s
	}
	c.wanted = c.wants(name)
	if s.Denied = c.identify(); s.Denied != nil {
		s.Denied = parting{c}.explain(s.Denied)
		s.Rows = c.allHeld(s.Denied)
		return s
	}
	parts := c.admit(c.compare())
	s = c.collect(s, parts)
	s.Rows = parting{c}.warn(parting{c}.left(s.Rows))
	s = restarts{c}.add(s)
	s = checkup{c}.add(s)
	s = conditions{c}.add(s)
	s = ordering{c}.order(s, base(parts))
	s.Judged = c.judge(retiring(parts))
	s = remarks{c}.add(s)
	s = tokens{c}.add(s)
	s = c.cleanedUp(s)
	s.Orphans = c.orphans(s.Rows)
	return c.lookBack(parting{c}.keep(parting{c}.yields(s)))
}
