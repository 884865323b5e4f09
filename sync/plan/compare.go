package plan

import (
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/pair"
)

// compare fills the step, end by end; wanted ends and verdicts are sorted.
func (p *planner) compare() {
	in := p.pruneInput(p.name, p.wanted, p.recorded)
	p.rebuilds = in.Recorded
	verdicts := prune.Select(in, p.peer)
	for _, want := range p.wanted {
		i, recorded := slices.BinarySearchFunc(verdicts, want.End, func(v prune.Verdict, e object.End) int { return v.End.Compare(e) })
		if recorded {
			p.declaredEnd(want, verdicts[i])
			continue
		}
		next := inventory.Inventory{End: want.End}
		if want.End.IsSource() {
			next.Conditions = pair.Beginning(p.Now)
		}
		p.declaredEnd(want, prune.Verdict{End: want.End, Next: next.Settle(keys(want), never)})
	}
	for _, v := range verdicts {
		_, declared := slices.BinarySearchFunc(p.wanted, v.End, func(w object.Wanted, e object.End) int { return w.End.Compare(e) })
		if !declared {
			p.leavingEnd(v)
		}
	}
}

// declaredEnd plans what a declared end lacks, and what it no longer wants.
func (p *planner) declaredEnd(want object.Wanted, v prune.Verdict) {
	row := Row{End: want.End, Standing: InPlace, Going: v.Going}
	var changes []object.Change
	var shared bool
	if want.Held == nil {
		want.Held = p.lacks(want)
	}
	if want.Held == nil {
		changes, want.Held = p.differs(want, p.side)
		changes, shared = p.unshared(p.wholeLinks(changes))
		v.Next.Rotate = p.unmet(want.End, v.Next.Rotate)
	}
	if why := p.closed(want.End); why != nil {
		p.stay(row, why, len(changes)+len(v.Go))
		return
	}
	if want.Held == nil {
		want.Held = p.preflight(want, changes)
	}
	if want.Held == nil && (len(v.Go) > 0 || slices.ContainsFunc(changes, drains)) {
		want.Held = p.blind(want.End)
	}
	changes, contested := p.calm(changes)
	changes, paced := p.pace(want.End, changes)
	kept := v.Refused != nil && slices.ContainsFunc(changes, drains) // whole ends, as they are
	if want.Held == nil && !kept {
		row.Standing, row.Why = p.take(v.Next, append(changes, v.Go...))
	}
	switch {
	case want.Held != nil:
		row.Standing, row.Why = Held, p.held(want.End, want.Held)
	case v.Refused != nil:
		row.Standing, row.Why = Refused, v.Refused
	case row.Standing != InPlace:
	case shared:
		row.Standing = Changing
	case v.Waiting != nil:
		row.Standing, row.Why = Waiting, v.Waiting
	case contested != nil:
		row.Standing, row.Why = Waiting, contested
	case paced != nil:
		row.Standing, row.Why = Waiting, paced
	default:
		row = p.judged(row, want)
	}
	p.tell(p.withhold(row))
}

// unshared leaves out what another end of the cluster writes in this step, and says whether there is any: links to two names of a cluster
// share an account there.
func (p *planner) unshared(changes []object.Change) (own []object.Change, shared bool) {
	own = slices.DeleteFunc(changes, func(c object.Change) bool {
		return !c.End.IsSource() && slices.ContainsFunc(p.step.Changes, func(o object.Change) bool { return o.Key == c.Key })
	})
	return own, len(own) < len(changes)
}

// leavingEnd plans the next part of an unlink.
func (p *planner) leavingEnd(v prune.Verdict) {
	row := Row{End: v.End, Leaving: true, Going: v.Going}
	p.grant(v.Grace)
	if why := p.closed(p.here(v.End)); why != nil {
		p.stay(row, why, len(v.Going))
		return
	}
	blind := p.blind(v.End)
	switch {
	case v.Refused != nil:
		row.Standing, row.Why = Refused, v.Refused
	case blind != nil:
		row.Standing, row.Why = Held, blind
	case v.Drop:
		row.Standing = Removed
		if row.Why = p.unread(v.End); row.Why != nil {
			row.Standing = Waiting
			break
		}
		p.owe(v.End)
		p.drop(v.Next)
	default:
		row.Standing, row.Why = p.take(v.Next, v.Go)
		if row.Why == nil {
			row.Why, row.Until = v.Waiting, v.Until
		}
		if row.Standing == InPlace {
			row.Standing = Waiting
		}
	}
	p.tell(row)
}

// take plans an end's changes and the inventory ahead of them, unless a policy is against it. An
// inventory is written when a key is new, or gone, or an unlink begins; never for nothing.
func (p *planner) take(next inventory.Inventory, changes []object.Change) (Standing, *object.Reason) {
	old, _ := p.record(next.End)
	ahead := !next.Same(old)
	if len(changes) == 0 && !ahead {
		return InPlace, nil
	}
	for _, policy := range p.policies {
		if why := policy(p.World, next.End, changes); why != nil {
			return Refused, why
		}
	}
	if takes(next, old, changes) {
		if why := p.unread(next.End); why != nil {
			return Waiting, why
		}
	}
	if ahead {
		if why := p.write(next, old); why != nil {
			return Held, why
		}
	}
	p.retires(next, old)
	p.step.Changes = append(p.step.Changes, changes...)
	return Changing, nil
}

func (p *planner) record(end object.End) (inventory.Inventory, bool) {
	i, ok := slices.BinarySearchFunc(p.recorded, end, func(i inventory.Inventory, e object.End) int { return i.End.Compare(e) })
	if !ok {
		return inventory.Inventory{End: end}, false
	}
	return p.recorded[i], true
}

// peer is how the other end of an undeclared link stands. A name that was never written to has no end. A
// stranger tells nothing. What a side of an earlier pass says is looked at anew before anything goes by it: see unread.
func (p *planner) peer(end object.End) prune.Peer {
	at := p.other(end)
	if !p.remembered(at) || p.forsaken(at) {
		return prune.Peer{Known: true, Gone: true}
	}
	here := object.End{Cluster: at, Link: end.Link}
	side, closed := p.Sides[at], p.closed(here)
	if why := p.stranger(at); why != nil {
		peer := prune.Peer{Dead: p.dead(here), Unread: unreadable(side), Closed: closed}
		if why.Code == reason.SameCluster && p.departed(at) { // its cluster is declared by another name: people may not know that this one ends
			peer.Unread = why
		}
		return peer
	}
	far := here
	if !end.IsSource() { // a source's end keeps the name that the source had
		far.Cluster = end.Link.Source
	}
	if own, _ := p.record(end); own.Leaving { // it is not judged again, and with it all that its peer's cluster holds
		if _, there := inventory.Of(p.Owner, far, side.Seen); there {
			return prune.Peer{Known: true, Alive: true, Closed: closed}
		}
	}
	recorded, err := p.inventories(at)
	if err != nil {
		return prune.Peer{Alive: true, Closed: closed, Unread: object.Because(reason.Inventory, "%v", err)}
	}
	in := p.pruneInput(at, p.wants(at), recorded)
	i := slices.IndexFunc(in.Recorded, func(i inventory.Inventory) bool { return i.End == far })
	if i < 0 {
		return prune.Peer{Known: true, Gone: true, Alive: true, Closed: closed}
	}
	refused := prune.Judge(in)[far]
	if refused == nil {
		refused = p.grantable(at, unseen(side, in.Recorded[i]))
	}
	if refused == nil && in.Recorded[i].Was.IsZero() { // it is written again first: by it all of that end is found, and judged
		return prune.Peer{Alive: true, Closed: closed, Unread: object.Because(prune.Waiting, "its inventory of the link was lost, and is written again first")}
	}
	return prune.Peer{Known: true, Alive: true, Refused: refused, Closed: closed}
}

// differs compares one end with what is live: the changes that make it so, or why it must be held. An
// object that exists without our mark is occupied and never touched; it holds the whole end, so that
// no link is half written. A create is planned only where a complete read showed the name free.
func (p *planner) differs(want object.Wanted, side pair.Side) ([]object.Change, *object.Reason) {
	var out []object.Change
	seen := side.Seen
	for _, o := range want.Objects {
		live := seen.Record(o.Key)
		switch {
		case len(seen.Unserved) > 0 && slices.Contains(seen.Unserved, called(o)):
			return nil, object.Because(reason.NotServed, "the cluster does not serve %s %s, as which %s is declared: install what brings it, or declare the object no more",
				o.Key.Kind, o.APIVersion(), o.Key)
		case seen.Hides(o.Key) != nil:
			return nil, seen.Hides(o.Key)
		case live.IsZero() && !side.Saw(o.Key):
			return nil, object.Because(reason.Unknown, "%s was not looked for", o.Key)
		case live.IsZero():
			out = append(out, change(want.End, object.Create, o, live, reason.Missing, "not there yet"))
		case live.Mark != object.Ours:
			return nil, p.occupied(want.End, o.Key, seen)
		case live.Going:
			return nil, object.Because(reason.Going, "%s is still being deleted", o.Key)
		case live.Digest == 0, live.Digest == o.Digest && !p.coverage.Covers(o, live): // who overwrites all of it leaves no digest
			out = append(out, change(want.End, update(o, seen), o, live, reason.Drift, "fields were changed by "+rivals(live)))
		case live.Digest != o.Digest && follows(o, seen):
			out = append(out, change(want.End, object.Update, o, live, followed, "what "+string(want.End.Link.Target)+" tells of itself changed"))
		case live.Digest != o.Digest:
			out = append(out, change(want.End, update(o, seen), o, live, reason.Changed, "what is declared, or a fact it is made of, changed"))
		}
	}
	return p.replaced(out)
}

// called is an object's kind as Observation.Unserved names it.
func called(o object.Object) string {
	return object.Watch{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind}.Called()
}

// change is one write of a wanted object. A drain counts as a delete: it happens only to exactly what was seen.
func change(end object.End, a object.Action, o object.Object, live object.Record, code reason.Code, message string) object.Change {
	return object.Change{
		End: end, Action: a, Key: o.Key, Object: o, Was: live, Fenced: a == object.Drain, Why: object.Reason{Code: code, Message: message},
	}
}

// update tells an update from a drain: a Linkerd Link with a selector emptied loses what that had selected.
func update(o object.Object, seen object.Observation) object.Action {
	if prune.Drains(o, seen) {
		return object.Drain
	}
	return object.Update
}

func drains(c object.Change) bool { return c.Action == object.Drain }

func rivals(r object.Record) string {
	if r.Rivals == (unique.Handle[string]{}) || r.Rivals.Value() == "" {
		return "somebody"
	}
	return strings.ReplaceAll(r.Rivals.Value(), ",", ", ")
}

// occupied says whose an object is that has the name of one of ours. What Linkerd's own tools may have made is told by its name,
// and by its labels where they were read: an adoption reads them.
func (p *planner) occupied(end object.End, k object.Key, seen object.Observation) *object.Reason {
	at, target, do := p.spec(end.Cluster).Linkerd, end.Link.Target, ""
	r := seen.Record(k)
	body, _ := seen.Body(k)
	_, named := linkerd.Called(at, k, target)
	if _, known := linkerd.Adoptable(at, k, body, target); r.Mark == object.Unmarked && end.IsSource() && named && (known || body.IsZero()) {
		do = fmt.Sprintf("if Linkerd's own tools made it, take the link over with %s; else ", p.command(fmt.Sprintf("adopt %s/%s", end.Link.Source, target)))
	}
	return object.Because(reason.Occupied, "%s exists and is %s (written by %s): %sdelete or rename it, or remove the link",
		k, r.Mark, rivals(r), do)
}

func keys(want object.Wanted) []object.Key {
	out := make([]object.Key, len(want.Objects))
	for i, o := range want.Objects {
		out[i] = o.Key
	}
	return out
}

func sortEnds(ends []object.Wanted) []object.Wanted {
	slices.SortFunc(ends, func(a, b object.Wanted) int { return a.End.Compare(b.End) })
	return ends
}

// PrunePolicy is the SyncPolicy's prune.policy as a Policy. An adoption is asked for, and changes nothing of what is declared.
func PrunePolicy(w World, _ object.End, changes []object.Change) *object.Reason {
	policy := w.policy().Prune.Policy
	for _, c := range changes {
		if policy == api.UpsertOnly && c.Takes() || policy == api.CreateOnly && c.Action != object.Create && c.Action != object.Adopt {
			return object.Because(reason.PrunePolicy, "the SyncPolicy's prune.policy is %s: no %s of %s", policy, c.Action, c.Key)
		}
	}
	return nil
}
