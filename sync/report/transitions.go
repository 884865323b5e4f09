package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// States of what events are about. Those of links:
//
//	Ready      all that is declared is written, and the link works
//	NotReady   a write failed, or a stage of the link did not pass
//	Blocked    it cannot be rendered or written until somebody acts
//	Denied     a guard, a policy or an approval says no
//	Suspended  it is left as it is, because that is declared
//	Leaving    it is being removed
//	Gone       nothing of it is left
//
// While a link is changed, or nobody knows how it is, its last state stands.
const (
	isReady       = "Ready"
	isNotReady    = "NotReady"
	isBlocked     = "Blocked"
	isDenied      = "Denied"
	isSuspended   = "Suspended"
	isLeaving     = "Leaving"
	isGone        = "Gone"
	isReachable   = "Reachable"
	isUnreachable = "Unreachable"
	isPending     = "Pending"
	isFound       = "Found"
	isUnconfined  = "NotConfined"
)

// subject is what an event is about: a link, or something of a cluster. Its message says which kind it is of.
type subject struct {
	message string
	cluster api.ClusterName
	link    api.Pair
}

func (s subject) compare(o subject) int {
	return cmp.Or(cmp.Compare(s.message, o.message), cmp.Compare(s.cluster, o.cluster), s.link.Compare(o.link))
}

// standing is how a subject is. A zero one is not known.
type standing struct {
	is     string
	reason reason.Code
	why    string
}

// same says that two states are no transition.
func (s standing) same(o standing) bool { return s.is == o.is && s.reason == o.reason }

// fine says that nobody need act.
func (s standing) fine() bool {
	return slices.Contains([]string{isReady, isReachable, isGone, isLeaving, isSuspended, isFound}, s.is) || s.reason == reason.Progressing
}

// states are how all that a report is about stands. An entry that is not known is there all the same: its subject is.
func (r Report) states() map[subject]standing {
	m, all := redacting(bodiesOf(r)), map[subject]standing{}
	of := func(is string, why *object.Reason) standing {
		if why == nil {
			return standing{is: is}
		}
		return standing{is, why.Code, m.line(why.Message)}
	}
	for _, c := range r.Clusters {
		all[subject{message: ClusterChanged, cluster: c.Name}] = clusterState(c, of)
		for _, row := range c.Step.Rows {
			if row.End.IsBase() && c.State() == Ready {
				all[subject{message: BaseChanged, cluster: c.Name}] = baseState(row, of)
			}
		}
		for _, d := range c.Debts {
			all[subject{CleanupChanged, c.Name, d.Link}] = standing{is: isPending, why: "it goes once the cluster can be read: " + d.Left}
		}
		if d := (confinedDoc{c.Step.Unconfined}); d.missesPolicies() {
			all[subject{message: ConfinementChanged, cluster: c.Name}] = standing{is: isUnconfined, why: m.line(d.Unconfined.Message)}
		}
		if n := len(c.Step.Strays); n > 0 {
			all[subject{message: OrphansChanged, cluster: c.Name}] = standing{is: isFound, why: fmt.Sprintf("%d objects, the first is %s", n+c.Step.MoreStrays, c.Step.Strays[0].Key)}
		}
	}
	for _, l := range Links(r) {
		all[subject{message: LinkChanged, link: l.Pair}] = linkState(l, of)
	}
	return all
}

func clusterState(c Cluster, of func(string, *object.Reason) standing) standing {
	switch {
	case !c.looked():
		return standing{}
	case c.State() == Ready:
		return standing{is: isReachable}
	case c.State() == Unread:
		return of(isUnreachable, c.Why())
	}
	return of(isDenied, c.Why())
}

func baseState(row plan.Row, of func(string, *object.Reason) standing) standing {
	switch {
	case row.Standing == plan.Held:
		return of(isBlocked, row.Why)
	case row.Standing == plan.Refused:
		return of(isDenied, row.Why)
	case row.Standing == plan.Changing && row.Why == nil:
		return standing{}
	case row.Quiet() || row.Standing == plan.InPlace:
		return standing{is: isReady}
	case row.Leaving:
		return standing{is: isLeaving}
	case row.Standing == plan.Suspended:
		return standing{is: isSuspended}
	}
	return of(isNotReady, row.Why)
}

func linkState(l LinkRow, of func(string, *object.Reason) standing) standing {
	switch health, known := healthOf(l.Source); {
	case l.Standing == plan.Removed:
		return standing{is: isGone}
	case l.Standing == plan.Refused:
		return of(isDenied, l.Why)
	case l.Standing == plan.Held && health.reason != reason.Progressing:
		return of(isBlocked, l.Why)
	case l.Leaving:
		return standing{is: isLeaving}
	case l.Standing == plan.Suspended:
		return standing{is: isSuspended}
	case l.Standing == plan.Changing && l.Why != nil:
		return of(isNotReady, l.Why)
	case l.Standing == Unknown || l.Standing == plan.Changing:
		return standing{}
	case known:
		return health
	case l.Standing == plan.InPlace:
		return standing{is: isReady}
	}
	return of(isNotReady, l.Why)
}

// healthOf is how a link is by its stages; false: none are known of it.
func healthOf(source plan.Row) (standing, bool) {
	switch c := source.Condition(); c.Status {
	case "":
		return standing{}, false
	case object.True:
		return standing{is: isReady}, true
	case object.False:
		return standing{isNotReady, c.Reason, c.Message}, true
	}
	return standing{}, true
}

// looked says that a cluster was looked at, or could not be, since what is declared was last taken over.
func (c Cluster) looked() bool {
	why := c.Why()
	return why == nil || why.Code != reason.Unknown || c.Step.Cluster != ""
}

// left is how a subject is of which a report says nothing any more.
func (r Report) left(s subject, was standing) standing {
	if s.message == CleanupChanged {
		return standing{is: isGone}
	}
	for _, c := range r.Clusters {
		if (c.Name == s.cluster || c.Name == s.link.Source || c.Name == s.link.Target) && c.State() != Ready {
			return was
		}
	}
	if s.message == BaseChanged {
		return standing{is: isReady}
	}
	return standing{is: isGone}
}

// wrote are the subjects for which something was written.
func (r Report) wrote() map[subject]bool {
	out := map[subject]bool{}
	for _, c := range r.Clusters {
		for _, o := range c.Outcomes {
			if o.Err == nil && !o.Change.End.IsBase() {
				out[subject{message: LinkChanged, link: o.Change.End.Link}] = true
			}
		}
	}
	return out
}

// transitions are the events that lead from what was known to what a report says, and what is known then. What is seen for the
// first time, and is fine without a write, is no transition.
func transitions(was map[subject]standing, r Report) (map[subject]standing, []Event) {
	now, wrote := r.states(), r.wrote()
	for s, before := range was {
		if _, there := now[s]; !there {
			now[s] = r.left(s, before)
		}
	}
	var out []Event
	for _, s := range slices.SortedFunc(maps.Keys(now), subject.compare) {
		next, before := now[s], was[s]
		switch {
		case next.is == "":
			now[s] = before
		case next.same(before), before.is == "" && next.fine() && next.reason == "" && !wrote[s] && next.is != isFound:
		default:
			out = append(out, transition(s, before, next))
		}
		if now[s].is == isGone && !wrote[s] { // else the next report may tell of the same writes
			delete(now, s)
		}
	}
	return now, out
}

func transition(s subject, from, to standing) Event {
	e := Event{Level: Warn, Message: s.message}
	if to.fine() {
		e.Level = Info
	}
	e.add("cluster", string(s.cluster))
	if !s.link.IsZero() {
		e.add("link", s.link.String())
	}
	e.add("from", from.is)
	e.add("to", to.is)
	e.add("reason", string(to.reason))
	e.add("why", to.why)
	return e
}
