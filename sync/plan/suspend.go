package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

const codeSuspended = reason.Suspended

// Suspend is suspension as a Policy, by the declarations or by a person's decision: it closes both ends of a link, or all that is in
// a cluster.
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
	if d, ok := w.suspension(end); ok {
		return object.Because(codeSuspended, "%s", w.suspendedBy(d))
	}
	return nil
}

// suspension is the decision of a person that keeps an end suspended now; of several, the one that lasts longest.
func (w World) suspension(end object.End) (longest inventory.Decision, found bool) {
	for _, d := range w.Suspended {
		closes := d.Cluster == end.Cluster || !end.IsBase() && d.Link() == end.Link
		if closes && d.Active(w.Now) && (!found || !longest.Until.IsZero() && (d.Until.IsZero() || d.Until.After(longest.Until))) {
			longest, found = d, true
		}
	}
	return longest, found
}

// Suspends says that a person's decision keeps all that is in a cluster suspended.
func (w World) Suspends(name api.ClusterName) bool {
	_, suspended := w.suspension(object.End{Cluster: name})
	return suspended
}

// suspendedBy tells of a decision until when it holds, whose it is, why, and what ends it.
func (w World) suspendedBy(d inventory.Decision) string {
	text := "suspended"
	if !d.Until.IsZero() {
		text += " until " + d.Until.Format(time.RFC3339)
	}
	if d.By != "" {
		text += " by " + d.By
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	if d.Cluster != "" {
		return fmt.Sprintf("cluster %s is %s: nothing is written there; to end that: %s", d.Cluster, text, w.command("resume "+d.Object()))
	}
	return fmt.Sprintf("%s: neither end is written; to end that: %s", text, w.command("resume "+d.Object()))
}

// resumes has the step asked again when the first suspension ends that has an end of it suspended.
func (p *planner) resumes() {
	for _, row := range p.step.Rows {
		if row.Standing != Suspended {
			continue
		}
		for _, d := range p.Suspended {
			link := row.End.Link
			touches := d.Link() == link || slices.Contains([]api.ClusterName{row.End.Cluster, row.Other}, d.Cluster)
			if touches && d.Active(p.Now) && !d.Until.IsZero() {
				p.step.within(d.Until)
			}
		}
	}
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
	row.Other = p.otherOf(row.End)
	p.step.Rows = append(p.step.Rows, row)
}

// held is why an end is held: a suspended target issues no token, and that is no fault.
func (p *planner) held(end object.End, why *object.Reason) *object.Reason {
	if why.Code != reason.NoCredential {
		return why
	}
	if far := p.closed(object.End{Cluster: p.other(end), Link: end.Link}); far != nil {
		return object.Because(far.Code, "there is no credential yet: %s", far.Message)
	}
	return why
}
