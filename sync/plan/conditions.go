package plan

import (
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/pair"
)

// condition tells in the inventories of sources' ends what the stages of their links have come to. It is told of ends that are at
// rest, or do not come to rest since a write fails, and only where it differs; what is to be told later has the step asked again then.
func (p *planner) condition() {
	for _, row := range p.step.Rows {
		next, old, at := p.tidings(row)
		if at.IsZero() || p.Now.Before(at) {
			p.step.retry(at)
			continue
		}
		if c, why := p.inventory(next, old); why == nil && !p.writes(c.Key) { // why not is told by whoever has more to write there
			ready := pair.Condition(next.Conditions, object.Ready)
			c.Why = object.Reason{Code: reason.Conditions, Message: "nothing is denied there any more"}
			if ready.Type != "" {
				c.Why.Message = "Ready is " + ready.Status + ": " + string(ready.Reason)
			}
			p.step.Ahead = append(p.step.Ahead, c)
		}
	}
}

// Denied is the reason of conditions at an end that a guard or a policy denies what is to be done there.
const Denied = pair.Denied

// tidings is the inventory that tells of an end how its link stands, what it told, and when it may be written; zero: it need not be.
func (p *planner) tidings(row Row) (next, old inventory.Inventory, at time.Time) {
	old, recorded := p.record(row.End)
	if recorded && !row.End.IsBase() && !old.Leaving && !p.Elsewhere[p.name] {
		switch {
		case row.Standing == Refused && p.closed(row.End) == nil:
			return p.denial(row, old)
		case !row.End.IsSource() && old.Conditions != nil && p.rests(row):
			next, at = old.Tell(nil, p.Now)
			return next, old, at
		}
	}
	_, declared := p.checked(row)
	if !declared || !recorded || old.Leaving || p.Elsewhere[p.name] || !p.rests(row) {
		return old, old, at
	}
	conditions, due := pair.Conditions(old.Conditions, row.Health, p.Now)
	if pair.Condition(conditions, object.Ready).Status == object.Unknown { // what was told stands until it is known
		return old, old, at
	}
	switch next, at = old.Tell(conditions, p.Now); {
	case at.IsZero():
		p.step.retry(due)
	case p.Once:
		at = p.Now
	}
	return next, old, at
}

// denial is tidings of an end to which a guard or a policy says no: of one in a target, too, and of one that is declared no more, since
// nothing else tells of those.
func (p *planner) denial(row Row, was inventory.Inventory) (next, old inventory.Inventory, at time.Time) {
	why := object.Reason{}
	if row.Why != nil {
		why = *row.Why
	}
	next, at = was.Tell(pair.Denial(was.Conditions, why, p.Now), p.Now)
	if p.Once && !at.IsZero() {
		at = p.Now
	}
	return next, was, at
}

// rests says that an end is as it will be for a while.
func (p *planner) rests(row Row) bool {
	return slices.Contains([]Standing{InPlace, Waiting, Held}, row.Standing) || row.Standing == Changing && p.Failing[p.name][row.End]
}

// writes says that the step writes an object ahead of all else.
func (p *planner) writes(k object.Key) bool {
	return slices.ContainsFunc(p.step.Ahead, func(c object.Change) bool { return c.Key == k })
}

// retry has the step asked again at a moment, if not earlier, and no pass wait for that; zero: not for this.
func (s *Step) retry(at time.Time) {
	if !at.IsZero() && (s.Retry.IsZero() || at.Before(s.Retry)) {
		s.Retry = at
	}
}
