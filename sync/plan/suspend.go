package plan

import (
	"fmt"

	"github.com/linkwright/linkwright/object"
)

const codeSuspended = "Suspended"

// Suspend is the declarations' suspend as a Policy: it closes both ends of a link, or all that is in a cluster.
func Suspend(w World, end object.End, _ []object.Change) *object.Reason {
	if w.Fleet == nil {
		return nil
	}
	if c, ok := w.Fleet.Cluster(end.Cluster); ok && c.Spec.Suspend {
		return object.Because(codeSuspended, "cluster %s is suspended: nothing is written there", c.Name)
	}
	if l, ok := w.Fleet.Link(end.Link); ok && l.Spec.Suspend {
		return object.Because(codeSuspended, "suspended by %s: neither end is written", l.From)
	}
	return nil
}

// closed says why nothing of an end is written, whatever is to do there.
func (p *planner) closed(end object.End) *object.Reason {
	if why := p.barred(end.Cluster); why != nil {
		return why
	}
	for _, policy := range p.policies {
		if why := policy(p.World, end, nil); why != nil {
			return why
		}
	}
	return nil
}

// stay tells of a closed end that it stays as it is, and how many changes wait.
func (p *planner) stay(row Row, why *object.Reason, changes int) {
	row.Standing, row.Why = Refused, why
	if changes > 0 {
		noun := "changes wait"
		if changes == 1 {
			noun = "change waits"
		}
		row.Why = object.Because(why.Code, "%s; %s", why.Message, fmt.Sprintf("%d %s", changes, noun))
	}
	p.tell(row)
}

// tell adds a row. Whatever became of an end, what is suspended or waits for a suspended end stands so, and nothing of it goes.
func (p *planner) tell(row Row) {
	if row.Why != nil && row.Why.Code == codeSuspended {
		row.Standing, row.Going = Suspended, nil
	}
	p.step.Rows = append(p.step.Rows, row)
}

// held is why an end is held: a suspended target issues no token, and that is no fault.
func (p *planner) held(end object.End, why *object.Reason) *object.Reason {
	if why.Code != "NoCredential" {
		return why
	}
	if far := p.closed(object.End{Cluster: end.Link.Target, Link: end.Link}); far != nil {
		return object.Because(far.Code, "there is no credential yet: %s", far.Message)
	}
	return why
}
