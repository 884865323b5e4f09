package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/pair"
)

// Codes of clusters that people give up.
const (
	Abandoned    = reason.Abandoned    // it was given up
	NotAbandoned = reason.NotAbandoned // it was not, and why
)

// Owed is an end of a removed link in a cluster that could not be read when the rest of the link went: what is left there goes
// as soon as it can be read, however late that is.
type Owed struct {
	Link  api.Pair
	Since time.Time // when it became the last that is left of its link
	Left  string    // what that is, in words
}

// Owed tells what a cluster owes, sorted by link. What is declared again is no debt.
func (w World) Owed(name api.ClusterName) (out []Owed) {
	for _, d := range w.Debts[name] {
		if !w.linked(d.Link()) {
			out = append(out, Owed{Link: d.Link(), Since: d.Since, Left: w.remains(object.End{Cluster: name, Link: d.Link()})})
		}
	}
	return out
}

// linked says that a link is declared, and so are both its clusters to stay.
func (w World) linked(p api.Pair) bool {
	if w.Fleet == nil {
		return false
	}
	_, ok := w.Fleet.Link(p)
	return ok && !w.leaves(p.Source) && !w.leaves(p.Target)
}

// remains says what an end leaves in a cluster that nobody can read.
func (w World) remains(end object.End) string {
	if where := inventory.Key(w.Owner, end); end.IsSource() {
		return fmt.Sprintf("Linkerd Link %s, its controller, rights and credentials, the mirrors that it made, and %s", end.Link.Target, where)
	}
	account := object.Key{Kind: "ServiceAccount", Namespace: object.AccessNamespace, Name: w.Owner + "." + string(end.Link.Source)}
	return fmt.Sprintf("%s, its Secrets, ClusterRoleBinding %s.%s, and %s", account, object.AccessNamespace, account.Name, inventory.Key(w.Owner, end))
}

// owe notes that an end is the last to go of its link here, while nobody knows how the other stands.
func (p *planner) owe(end object.End) {
	if p.peer(end).Known {
		return
	}
	p.step.Owed = append(p.step.Owed, object.End{Cluster: p.other(end), Link: end.Link})
	slices.SortFunc(p.step.Owed, object.End.Compare)
}

// settleUp tells which debts of the cluster are paid: nothing of the end is left, or its link is declared again. Nobody would tell
// of one again that is struck off, so the cluster is read for it once more.
func (p *planner) settleUp() {
	s := p.step
	for _, d := range p.Debts[p.name] {
		row := s.row(object.End{Cluster: p.name, Link: d.Link()})
		if row.Standing == "" || !row.Leaving {
			s.Paid = append(s.Paid, d.Link())
		}
	}
	if len(s.Paid) > 0 && p.side.Pass != p.Pass {
		s.Paid, s.Look = nil, append(s.Look, p.name)
	}
}

// parted adds to why nobody knows a departed cluster what that means, and how to give it up.
func (p *planner) parted(why *object.Reason) *object.Reason {
	if said := p.unforgotten(); said != "" {
		return object.Because(why.Code, "%s; %s", why.Message, said)
	}
	if !p.departed(p.name) || p.stranger(p.name) == nil {
		return why
	}
	return object.Because(why.Code, "it is declared no more, and what linkwright wrote there goes once it can be read (to give that up: %s): %s",
		p.command("abandon "+string(p.name)), why.Message)
}

// forsaken says that people gave a cluster up that is declared no more and cannot be read. One that can be read is unlinked first: see
// yields.
func (p *planner) forsaken(name api.ClusterName) bool {
	side := p.Sides[name]
	tried := side.Known || side.Err != nil && !slices.Contains(passing(), side.Err.Code)
	return p.Forget[name] && p.departed(name) && tried && p.stranger(name) != nil
}

// unforgotten says why a cluster is not given up, though people said so; empty: it is, they did not, or nobody can tell now.
func (p *planner) unforgotten() string {
	c, _, _ := p.declared(p.name)
	switch {
	case !p.Forget[p.name]:
	case c != nil:
		return fmt.Sprintf("to abandon cluster %s does nothing while it is declared: take it out of the repository first", p.name)
	case p.stranger(p.name) == nil:
		return fmt.Sprintf("cluster %s can be read, so it is unlinked as any other, and abandoned only if a right that is missing there leaves nothing else to do", p.name)
	}
	return ""
}

// warn tells so at the base, unless that has more to tell; else of what may not be read and blocks no end now, or is read instead
// of watched.
func (p *planner) warn() {
	why := p.unwatched(p.side.Seen.Unwatched)
	blocks := func(r Row) bool { return r.Why != nil && r.Why.Code == object.Forbidden }
	if hidden := p.unsure(); hidden != nil && !slices.ContainsFunc(p.step.Rows, blocks) {
		why = hidden
	}
	if said := p.unforgotten(); said != "" {
		why = object.Because(NotAbandoned, "%s", said)
	}
	for i, row := range p.step.Rows {
		if why != nil && row.End.IsBase() && row.Quiet() && row.Standing != Removed {
			p.step.Rows[i].Why = why
		}
	}
}

// passing are the codes of sides that can be read in a moment: who asks for time, and whom we ceased to ask.
func passing() []reason.Code { return []reason.Code{reason.Throttled, reason.Canceled} }

// forsake says what stays behind in a cluster that people gave up, and how it is taken away by hand: debts, and these ends of links.
func (p *planner) forsake(ends ...object.End) Row {
	var left []string
	for _, o := range p.Owed(p.name) {
		left = append(left, fmt.Sprintf("of %s: %s", o.Link, o.Left))
	}
	for _, end := range ends {
		if end.IsBase() {
			continue
		}
		left = append(left, fmt.Sprintf("of %s: %s", end.Link, p.remains(end)))
	}
	known := "nothing is known to be left of a link; what its base held stays"
	if len(left) > 0 {
		known = strings.Join(left, "; ")
	}
	return Row{
		End: object.End{Cluster: p.name}, Standing: Removed, Leaving: true,
		Why: object.Because(Abandoned, "people abandoned it: whatever carries the label %s=%s stays in the cluster with kube-system uid %s, and %s",
			object.OwnerLabel, p.Owner, cmp.Or(p.UIDs[p.name], p.side.Facts.UID, "unknown"), known), // the record may have struck it off by now
	}
}

// dead says that a cluster was tried and gave no answer at all, and that nobody asked for the end to be left alone. Whoever
// answers is alive, whatever it says and however long people grant: a refusal, a fault of its own, a certificate that nobody
// trusts. Whom nobody could ask, for want of a credential, is not known to be dead.
func (p *planner) dead(end object.End) bool {
	return Silent(p.Sides[end.Cluster]) && p.closed(end) == nil
}

// Silent says that a cluster was tried and gave no answer: there was no connection, or one on which nothing came.
func Silent(side pair.Side) bool {
	return !side.Known && side.Err != nil && !side.Answered && (side.Err.Code == reason.Unreachable || side.Err.Code == reason.Timeout)
}

// unreadable says why a cluster that answers, or that nobody has tried yet, could not be read; nil: it was, or is silent, or
// nobody could ask it.
func unreadable(side pair.Side) *object.Reason {
	switch {
	case side.Known || Silent(side):
		return nil
	case side.Err == nil:
		return object.Because(reason.Unknown, "it has not been read yet")
	case side.Err.Code == noAccess:
		return nil
	}
	return side.Err
}

// noAccess is the code of a cluster that nobody could ask: there is no credential for it.
const noAccess = "Access"

// grant has the step asked again when the access of a dead source goes.
func (p *planner) grant(until time.Time) {
	if !until.IsZero() && (p.granted.IsZero() || until.Before(p.granted)) {
		p.granted = until
	}
}
