package plan

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// part is what one end adds to a step.
type part struct {
	Times
	row                   Row
	base                  *inventory.Inventory // to be recorded of the base: it is written with commit and term
	ahead, changes, after []object.Change
	read, retire          []api.ClusterName
	pending               []object.End
	verifications         []Verification
}

// base returns what is to be recorded of the base; nil: its entries are as they should be.
func base(parts []part) (out *inventory.Inventory) {
	for _, p := range parts {
		if p.base != nil {
			out = p.base
		}
	}
	return out
}

// retiring returns the clusters whose removal begins, sorted.
func retiring(parts []part) (out []api.ClusterName) {
	for _, p := range parts {
		out = append(out, p.retire...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// admission decides for each proposal whether it is written, waits or is denied.
type admission struct {
	*cluster
	written map[object.Key]bool // in the parts so far, in this cluster as a target
}

// admit returns what each end adds to the step.
func (c *cluster) admit(all []proposal) []part {
	a := &admission{cluster: c, written: map[object.Key]bool{}}
	parts := make([]part, len(all))
	for i, p := range all {
		parts[i] = a.decide(p)
	}
	return parts
}

func (a *admission) decide(p proposal) part {
	out := a.removal
	if p.declared() {
		out = a.declaredEnd
	}
	done := out(p)
	for _, c := range done.changes {
		a.written[c.Key] = true
	}
	return done
}

// declaredEnd admits what a declared end lacks, and what it no longer needs.
func (a *admission) declaredEnd(p proposal) part {
	v, blocked := p.prune, p.desired.Blocked
	changes, shared := a.unshared(p.changes)
	row := Row{End: p.desired.End, Phase: Ready, Deleting: v.ToDelete}
	if why := a.denied(row.End); why != nil {
		row.NotRendered = blocked
		return part{row: deniedRow(row, why, len(changes)+len(v.Changes))}
	}
	var verified verifyResult
	if blocked == nil {
		verified, blocked = verifier{a.cluster}.verify(p.desired, changes)
	}
	if blocked == nil && (len(v.Changes) > 0 || slices.ContainsFunc(changes, isDrain)) {
		blocked = a.mirrorsHidden(row.End)
	}
	changes, contested, calm := limitContested(a.Snapshot, changes)
	changes, paced, follow := limitFollowing(a.Snapshot, row.End, changes)
	out := part{}
	if kept := v.Denied != nil && slices.ContainsFunc(changes, isDrain); blocked == nil && !kept { // whole ends, as they are
		out = a.admitChanges(v.Next, append(changes, v.Changes...))
		row.Phase, row.Why = out.row.Phase, out.row.Why
	}
	switch {
	case blocked != nil:
		row.Phase, row.Why = Blocked, a.blockedReason(row.End, blocked)
	case v.Denied != nil:
		row.Phase, row.Why = Denied, v.Denied
	case row.Phase != Ready:
	case shared:
		row.Phase = Changing
	case v.Waiting != nil:
		row.Phase, row.Why = Waiting, v.Waiting
	case contested != nil:
		row.Phase, row.Why = Waiting, contested
	case paced != nil:
		row.Phase, row.Why = Waiting, paced
	default:
		row = withReadiness(row, p.desired, a.current.Live)
	}
	out.row, out.verifications, out.Retry = a.blockUndiscovered(row), verified.requests, verified.retry
	out.within(earliest(calm, follow))
	return out
}

// unshared leaves out what another end of the cluster writes in this step, and says whether there is any: links to two names of a cluster
// share an account there.
func (a *admission) unshared(changes []object.Change) (own []object.Change, shared bool) {
	own = slices.DeleteFunc(changes, func(c object.Change) bool { return !c.End.IsSource() && a.written[c.Key] })
	return own, len(own) < len(changes)
}

// removal admits the next part of an unlink.
func (a *admission) removal(p proposal) part {
	v := p.prune
	row := Row{End: v.End, Leaving: true, Deleting: v.ToDelete}
	here := v.End
	here.Cluster = a.name // what closes it is declared by the name that its cluster has now
	if why := a.denied(here); why != nil {
		return part{row: deniedRow(row, why, len(v.ToDelete)), Times: Times{PlanAgain: v.AccessUntil}}
	}
	out := part{}
	switch blind := a.mirrorsHidden(v.End); {
	case v.Denied != nil:
		row.Phase, row.Why = Denied, v.Denied
	case blind != nil:
		row.Phase, row.Why = Blocked, blind
	case v.Drop:
		row.Phase = Removed
		if row.Why, out.read = a.needsFreshRead(v.End); row.Why != nil {
			row.Phase = Waiting
			break
		}
		out.pending, out.after = a.pending(v.End), []object.Change{a.deleteInventory(v.Next)}
	default:
		out = a.admitChanges(v.Next, v.Changes)
		row.Phase, row.Why = out.row.Phase, out.row.Why
		if row.Why == nil {
			row.Why, row.Until = v.Waiting, v.Until
		}
		if row.Phase == Ready {
			row.Phase = Waiting
		}
	}
	out.row = row
	out.within(v.AccessUntil)
	return out
}

// admitChanges admits an end's changes and the inventory ahead of them, unless a policy denies it. An inventory is written if a key is new or gone,
// or an unlink begins.
func (a *admission) admitChanges(next inventory.Inventory, changes []object.Change) part {
	is := func(s Phase, why *object.Reason) part { return part{row: Row{Phase: s, Why: why}} }
	old, _ := a.inventoryOf(next.End)
	ahead := !next.Same(old)
	if len(changes) == 0 && !ahead {
		return is(Ready, nil)
	}
	for _, policy := range a.policies {
		if why := policy(a.Snapshot, next.End, changes); why != nil {
			return is(Denied, why)
		}
	}
	if removesAnything(next, old, changes) {
		if why, read := a.needsFreshRead(next.End); why != nil {
			out := is(Waiting, why)
			out.read = read
			return out
		}
	}
	out := is(Changing, nil)
	if ahead {
		write, why := a.writeInventory(next, old)
		switch {
		case why != nil:
			return is(Blocked, why)
		case next.End.IsBase():
			out.base = &next
		default:
			out.ahead = []object.Change{write}
		}
	}
	out.changes, out.retire = changes, a.retiredBy(next, old)
	return out
}

// removesAnything reports whether a write removes something, or begins to: an object, a selector, an entry of an inventory. All other writes can be
// reverted.
func removesAnything(next, old inventory.Inventory, changes []object.Change) bool {
	return next.Leaving && !old.Leaving ||
		slices.ContainsFunc(changes, func(c object.Change) bool { return c.Action.Removes() }) ||
		slices.ContainsFunc(old.Entries, func(k object.Key) bool { return !next.Has(k) })
}

// needsFreshRead returns the clusters of an end that must be read by requests first, and the reason; nil: all were. It does not name clusters that
// could not be read, but for a source that is to lose its access because of that.
func (a *admission) needsFreshRead(end object.End) (why *object.Reason, read []api.ClusterName) {
	source := a.CurrentName(end.Link.Source)
	for _, name := range []api.ClusterName{a.name, source, a.TargetCluster(end.Link)} {
		current := a.Clusters[name]
		if current.Round == a.Round || !current.Known() && (name != source || end.IsSource() || !a.IsRecorded(name) || a.abandoned(name)) {
			continue
		}
		read = append(read, name)
	}
	if len(read) == 0 {
		return nil, nil
	}
	return object.Because(reason.WaitingForRead, "linkwright reads cluster %s once more before it deletes anything", read[0]), read
}

// pending returns the other end of a link whose last end here is removed, while the state of that end is unknown.
func (a *admission) pending(end object.End) []object.End {
	own, _ := a.inventoryOf(end)
	if a.peer(own).State.Known() {
		return nil
	}
	return []object.End{{Cluster: a.Other(end), Link: end.Link}}
}

// blockedReason returns why an end is blocked. A suspended target issues no token, which is no fault.
func (a *admission) blockedReason(end object.End, why *object.Reason) *object.Reason {
	if why.Code != reason.CredentialNotIssued {
		return why
	}
	if far := a.denied(object.End{Cluster: a.Other(end), Link: end.Link}); far != nil {
		return object.Because(far.Code, "there is no credential yet: %s", far.Message)
	}
	return why
}

// blockUndiscovered blocks an end that is complete but for what credential.Undiscovered leaves out.
func (a *admission) blockUndiscovered(row Row) Row {
	if row.End.IsBase() || !row.End.IsSource() || row.Phase != Ready && row.Phase != Waiting || a.Fleet == nil {
		return row
	}
	if l, ok := a.Fleet.Link(row.End.Link); ok {
		if why := a.Undiscovered(l); why != nil {
			row.Phase, row.Why = Blocked, why
		}
	}
	return row
}

// deniedRow returns the row of a denied end: the end stays as it is, and the row counts the changes that wait.
func deniedRow(row Row, why *object.Reason, changes int) Row {
	row.Phase, row.Why, row.Held = Denied, why, changes
	if changes > 0 {
		row.Why = why.With("%s", row.heldText())
	}
	return row
}

// heldText returns how many changes wait, in words.
func (r Row) heldText() string {
	text := "changes wait"
	if r.Held == 1 {
		text = "change waits"
	}
	switch {
	case r.suspended() && r.Leaving:
		return "its removal waits for that, with " + object.Count(r.Held, "change")
	case r.suspended():
		text += " for that"
	}
	return fmt.Sprintf("%d %s", r.Held, text)
}

// PrunePolicy returns the SyncPolicy's prune.policy as a Policy. An adoption is asked for, and changes nothing of what is declared.
func PrunePolicy(w state.Snapshot, _ object.End, changes []object.Change) *object.Reason {
	policy := w.Policy().Prune.Policy
	for _, c := range changes {
		if policy == api.UpsertOnly && c.Removes() || policy == api.CreateOnly && c.Action != object.Create && c.Action != object.Adopt {
			return object.Because(reason.PrunePolicy, "prune.policy %s of the SyncPolicy does not allow linkwright to %s %s", policy, c.Action, c.Key)
		}
	}
	return nil
}
