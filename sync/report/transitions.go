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

// What becomes of what events are about. Links and bases have a Status, by whose name the reason table has those that Events show as their reason.
//
// While a link is changed, or its status is not known, its last status counts. A write that failed makes it Stalled.
const (
	isReady       = string(reason.Ready)
	isProgressing = string(Progressing)
	isStalled     = string(Stalled)
	isBlocked     = string(Blocked)
	isDenied      = string(Denied)
	isSuspended   = string(Suspended)
	isLeaving     = string(Leaving)
	isGone        = string(reason.Removed)
	isReleased    = string(Released)
	isReachable   = string(reason.Reachable)
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

// subjectState is how a subject is. A zero one is not known.
type subjectState struct {
	is     string
	reason reason.Code
	why    string
}

// same says that two states are no transition.
func (s subjectState) same(o subjectState) bool { return s.is == o.is && s.reason == o.reason }

// fine says that no person has to act.
func (s subjectState) fine() bool {
	return slices.Contains([]string{isReady, isReachable, isGone, isReleased, isLeaving, isSuspended, isFound}, s.is) || s.reason == reason.Progressing
}

// quiet says that nobody needs to know of a state that was so from the first.
func (s subjectState) quiet() bool {
	return s.is == isSuspended || s.fine() && s.reason == "" && s.is != isFound
}

// states are how all that a report is about is. An entry that is not known is there all the same: its subject is.
func (r Report) states() map[subject]subjectState {
	m, all := redacting(bodiesOf(r)), map[subject]subjectState{}
	masked := map[string]string{} // many links have one message
	of := func(is string, why *object.Reason) subjectState {
		if why == nil {
			return subjectState{is: is}
		}
		line, known := masked[why.Message]
		if !known {
			line = m.line(why.Message)
			masked[why.Message] = line
		}
		return subjectState{is, why.Code, line}
	}
	for _, c := range r.Clusters {
		all[subject{message: ClusterChanged, cluster: c.Name}] = clusterState(c, of)
		for _, row := range c.Step.Rows {
			if row.End.IsBase() && c.Status() == Ready {
				all[subject{message: BaseChanged, cluster: c.Name}] = baseState(row, of)
			}
		}
		for _, d := range c.Cleanup {
			all[subject{CleanupChanged, c.Name, d.Link}] = subjectState{is: isPending, why: "linkwright removes it once the cluster can be read: " + d.Left}
		}
		if d := c.Step.Unconfined; missesPolicies(d) {
			all[subject{message: ConfinementChanged, cluster: c.Name}] = subjectState{is: isUnconfined, why: m.line(d.Message)}
		}
		if n := len(c.Step.Listed); n > 0 {
			all[subject{message: OrphansChanged, cluster: c.Name}] = subjectState{is: isFound, why: fmt.Sprintf("%d objects, the first is %s", n+c.Step.More, c.Step.Listed[0].Key)}
		}
	}
	for _, l := range Links(r) {
		all[subject{message: LinkChanged, link: l.Pair}] = linkState(l, of)
	}
	return all
}

func clusterState(c Cluster, of func(string, *object.Reason) subjectState) subjectState {
	switch {
	case !c.known():
		return subjectState{}
	case c.Status() == Ready:
		return subjectState{is: isReachable}
	case c.Status() == Unknown:
		return of(isUnreachable, c.Why())
	}
	return of(isDenied, c.Why())
}

func baseState(row plan.Row, of func(string, *object.Reason) subjectState) subjectState {
	switch {
	case row.Phase == plan.Blocked:
		return of(isBlocked, row.Why)
	case row.Phase == plan.Denied:
		return of(isDenied, row.Why)
	case row.Phase == plan.Changing && row.Why == nil:
		return subjectState{}
	case row.HasNothingToReport() || row.Phase == plan.Ready:
		return subjectState{is: isReady}
	case row.Leaving:
		return subjectState{is: isLeaving}
	case row.Phase == plan.Suspended:
		return of(isSuspended, row.Why)
	}
	if row.Phase == plan.Changing { // a write failed
		return of(isStalled, row.Why)
	}
	return of(isProgressing, row.Why)
}

func linkState(l LinkRow, of func(string, *object.Reason) subjectState) subjectState {
	switch health, known := healthOf(l.Source); {
	case l.Phase == plan.Removed:
		return subjectState{is: isGone}
	case l.Phase == plan.Released:
		return subjectState{is: isReleased}
	case l.Phase == plan.Denied:
		return of(isDenied, l.Why)
	case l.Phase == plan.Blocked:
		return of(isBlocked, l.Why)
	case l.failed():
		return of(isStalled, l.Why)
	case l.Leaving:
		return subjectState{is: isLeaving}
	case l.Phase == plan.Suspended:
		return of(isSuspended, l.Why)
	case l.Phase == Unseen || l.Phase == plan.Changing:
		return subjectState{}
	case known:
		return health
	case l.Phase == plan.Ready:
		return subjectState{is: isReady}
	}
	return of(isProgressing, l.Why)
}

// healthOf is how a link is by its stages; false: none are known of it.
func healthOf(source plan.Row) (subjectState, bool) {
	switch c := source.Condition(); c.Status {
	case "":
		return subjectState{}, false
	case object.True:
		return subjectState{is: isReady}, true
	case object.False:
		return subjectState{string(works(c)), c.Reason, c.Message}, true
	}
	return subjectState{}, true
}

// known says that a cluster was read, or could not be, since a revision was last applied.
func (c Cluster) known() bool {
	why := c.Why()
	return why == nil || why.Code != reason.Unknown || c.Step.Cluster != ""
}

// left is how a subject is of which a report of these clusters says nothing any more.
func left(s subject, was subjectState, clusters []Cluster) subjectState {
	if s.message == CleanupChanged {
		return subjectState{is: isGone}
	}
	for _, c := range clusters {
		if (c.Name == s.cluster || c.Name == s.link.Source || c.Name == s.link.Target) && c.Status() != Ready {
			return was
		}
	}
	if s.message == BaseChanged {
		return subjectState{is: isReady}
	}
	return subjectState{is: isGone}
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

// transition is a change of how a subject is.
type transition struct {
	of       subject
	from, to subjectState
}

// transitions are those that lead from what was known to what a report says, and what is known then. What is seen for the
// first time, and is fine without a write, is no transition.
func transitions(was map[subject]subjectState, r Report) (map[subject]subjectState, []transition) {
	now, wrote := r.states(), r.wrote()
	for s, before := range was {
		if _, there := now[s]; !there {
			now[s] = left(s, before, r.Clusters)
		}
	}
	var out []transition
	for _, s := range slices.SortedFunc(maps.Keys(now), subject.compare) {
		next, before := now[s], was[s]
		switch {
		case next.is == "":
			now[s] = before
		case next.same(before), before.is == "" && next.quiet() && !wrote[s]:
		default:
			out = append(out, transition{s, before, next})
		}
		if now[s].is == isGone && !wrote[s] { // else the next report may list the same writes
			delete(now, s)
		}
	}
	return now, out
}

// event is a transition as the log has it.
func (t transition) event() Event {
	e := Event{Level: Warn, Message: t.of.message}
	if t.to.fine() {
		e.Level = Info
	}
	e.add("cluster", string(t.of.cluster))
	if !t.of.link.IsZero() {
		e.add("link", t.of.link.String())
	}
	e.add("from", t.from.is)
	e.add("to", t.to.is)
	e.add("reason", string(t.to.reason))
	e.add("why", t.to.why)
	return e
}
