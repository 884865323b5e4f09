package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/pair"
)

// write plans an inventory ahead of everything else; it is fenced: it happens only on what was read.
func (p *planner) write(next, old inventory.Inventory) *object.Reason {
	c, why := p.inventory(next, old)
	switch {
	case why != nil:
	case next.End.IsBase():
		p.base = &next // with commit and term, in writeBase
	default:
		p.step.Ahead = append(p.step.Ahead, c)
	}
	return why
}

func (p *planner) inventory(next, old inventory.Inventory) (object.Change, *object.Reason) {
	o, err := next.Object(p.Owner)
	if err != nil {
		return object.Change{}, object.Because(reason.Inventory, "%v", err)
	}
	if !p.side.Saw(o.Key) {
		return object.Change{}, object.Because(reason.Unknown, "inventories were not looked for")
	}
	switch live := p.side.Seen.Record(o.Key); {
	case live.IsZero():
	case live.Mark == object.Ours && old.Was.IsZero():
		return object.Change{}, object.Because(reason.Occupied, "%s is a copy of another inventory: delete it", o.Key)
	case live.Mark != object.Ours:
		return object.Change{}, object.Because(reason.Occupied, "%s exists and is %s (written by %s), and an inventory needs its name: delete or rename it", o.Key, live.Mark, rivals(live))
	}
	c := change(next.End, object.Create, o, old.Was, reason.Recorded, "what this end may hold")
	if !old.Was.IsZero() {
		c.Action = object.Update
	}
	c.Fenced = true
	return c, nil
}

// drop plans the end of an inventory: nothing it records is left.
func (p *planner) drop(inv inventory.Inventory) {
	p.step.After = append(p.step.After, object.Change{
		End: inv.End, Action: object.Delete, Key: inventory.Key(p.Owner, inv.End), Was: inv.Was,
		Why: object.Reason{Code: reason.Undeclared, Message: "nothing of this end is left"},
	})
}

// finish orders the step, puts the base and our namespace before everything else, and says when to ask again.
func (p *planner) finish() {
	p.sort()
	p.writeBase()
	if len(p.step.Ahead) > 0 {
		p.namespace()
	}
	p.schedule()
}

// sort orders changes by phase, then key, what takes something away last.
func (p *planner) sort() {
	s := p.step
	slices.SortStableFunc(s.Changes, func(a, b object.Change) int {
		return cmp.Or(cmp.Compare(taking(a), taking(b)), cmp.Compare(a.Object.Phase, b.Object.Phase), a.Key.Compare(b.Key))
	})
	slices.SortFunc(s.Rows, func(a, b Row) int { return a.End.Compare(b.End) })
	slices.SortStableFunc(s.Ahead, func(a, b object.Change) int { return a.End.Compare(b.End) })
}

// schedule says when to ask again.
func (p *planner) schedule() {
	s := p.step
	for _, r := range s.Rows {
		switch {
		case r.Standing != Waiting && r.Standing != Held || r.Why == nil:
		case !r.Until.IsZero():
			s.within(p.lookAgain(r.Until))
		case p.comes(r):
			s.within(p.Now.Add(soon))
		}
	}
	p.resumes()
	for _, at := range []time.Time{p.granted, p.calmed} {
		if !at.IsZero() {
			s.within(at)
		}
	}
}

// within has the step asked again at a moment, if not earlier.
func (s *Step) within(at time.Time) {
	if s.Next.IsZero() || at.Before(s.Next) {
		s.Next = at
	}
}

// lookAgain is when a drain is looked at again: the longer it has taken, the later, and at its deadline.
func (p *planner) lookAgain(until time.Time) time.Time {
	taken := p.policy().Prune.Deadline() - until.Sub(p.Now)
	next := p.Now.Add(max(soon, taken/4))
	if next.After(until) {
		return until
	}
	return next
}

// comes says that what an end waits for may happen without any write of ours. What another cluster's
// step must do first is told by that cluster, unless another process writes it.
func (p *planner) comes(r Row) bool {
	switch r.Why.Code {
	case "NoCredential":
		l, declared := p.Fleet.Link(r.End.Link)
		return declared && len(p.access(l).Tokens) > 0 || p.Elsewhere[p.other(r.End)]
	case NotReady:
		return slices.ContainsFunc(r.Unready, func(u Unready) bool { return !u.Failed })
	case prune.WaitingForSuccessor: // objects become ready
		return true
	case prune.WaitingForSource, pair.InUse:
		return p.Elsewhere[r.End.Link.Source]
	}
	return r.Why.Code == prune.Waiting || r.Why.Code == reason.Going
}

// taking sorts what takes something away last, except a Link's drain, which keeps its phase.
func taking(c object.Change) int {
	if c.Action == object.Delete || c.Action == object.Release {
		return 1
	}
	return 0
}
