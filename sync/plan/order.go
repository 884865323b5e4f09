package plan

import (
	"cmp"
	"slices"
	"time"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
)

// collect adds the parts of all ends to a step.
func (c *cluster) collect(s Step, parts []part) Step {
	for _, p := range parts {
		s.Rows = append(s.Rows, c.finishRow(p.row))
		s.Ahead, s.Changes, s.After = append(s.Ahead, p.ahead...), append(s.Changes, p.changes...), append(s.After, p.after...)
		s.Tries, s.Look, s.Pending = append(s.Tries, p.verifications...), append(s.Look, p.read...), append(s.Pending, p.pending...)
		s.within(p.Again)
		s.retry(p.Retry)
	}
	slices.SortFunc(s.Pending, object.End.Compare)
	slices.SortFunc(s.Rows, func(a, b Row) int { return a.End.Compare(b.End) })
	return s
}

// ordering is the last stage: what is written first, and when to ask again.
type ordering struct{ *cluster }

// order orders the writes of a step, puts the base and linkwright's namespace before everything else, and says when to ask again. Next is what is to
// be recorded of the base; nil: its entries are as they should be.
func (o ordering) order(s Step, next *inventory.Inventory) Step {
	s = sorted(s)
	s = o.writeBase(s, next)
	if len(s.Ahead) > 0 {
		s.Ahead = append(o.namespace(), s.Ahead...)
	}
	for _, r := range s.Rows {
		s.within(o.nextProgress(r))
	}
	s.within(resumes(o.Snapshot, s.Rows))
	return s
}

// sorted orders changes by phase, then key, what takes something away last.
func sorted(s Step) Step {
	slices.SortStableFunc(s.Changes, func(a, b object.Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Object.Phase, b.Object.Phase), a.Key.Compare(b.Key))
	})
	slices.SortStableFunc(s.Ahead, func(a, b object.Change) int { return a.End.Compare(b.End) })
	return s
}

// rank sorts what takes something away last, except a Link's drain, which keeps its phase.
func rank(c object.Change) int {
	if c.Action == object.Delete || c.Action == object.Release {
		return 1
	}
	return 0
}

// writeBase records what the base may hold, and with it commit and term: one write, whatever of it changed.
func (o ordering) writeBase(s Step, entries *inventory.Inventory) Step {
	old, found := o.inventoryOf(o.base())
	if entries == nil && !o.mustRecordCommit(s, old, found) {
		return s
	}
	next := old
	if entries != nil {
		next = *entries
	}
	next.Commit, next.Term, next.Linkerd, next.Names = s.Commit, o.Term, o.Spec(o.name).Linkerd, o.secondNames()
	if w, why := o.writeInventory(next, old); why == nil {
		s.Ahead = append([]object.Change{w}, s.Ahead...)
	}
	return s
}

// mustRecordCommit: once per commit, in a cluster that is to stay and holds or gets anything of linkwright; never for a term alone. An adoption
// writes the base only if that is the first of all that is linkwright's there: it applies no commit.
func (o ordering) mustRecordCommit(s Step, old inventory.Inventory, found bool) bool {
	declared, _, _ := o.Declared(o.name)
	switch {
	case declared == nil || o.denied(old.End) != nil:
		return false
	case o.Adopt != nil:
		return !found && len(s.Ahead) > 0
	}
	return !o.Leaves(o.name) && len(o.recorded)+len(s.Ahead) > 0 &&
		(!found || o.renamed || old.Commit != s.Commit || old.Linkerd != declared.Spec.Linkerd)
}

// namespace creates ours if it is missing; it is never deleted.
func (o ordering) namespace() []object.Change {
	key := object.Key{Kind: "Namespace", Name: object.AccessNamespace}
	if !o.current.Seen.Record(key).IsZero() {
		return nil
	}
	ns := coreac.Namespace(key.Name)
	namespace, err := object.New(object.Spec{
		Key: key, Version: "v1", Phase: object.PhaseAccess, Owner: o.Owner,
		Meta: ns.ObjectMetaApplyConfiguration, Config: ns,
	})
	if err != nil {
		return nil // a constant: it encodes
	}
	return []object.Change{change(o.base(), object.Create, namespace, object.Record{}, reason.Missing, "namespace of accounts and inventories")}
}

// nextProgress returns when what an end waits for may have happened without any write of linkwright; zero: never. What another cluster's step must
// do first is told by that cluster, unless another process writes it.
func (o ordering) nextProgress(r Row) time.Time {
	switch {
	case r.Phase != Waiting && r.Phase != Blocked || r.Why == nil:
		return time.Time{}
	case !r.Until.IsZero():
		return o.nextDrainCheck(r.Until)
	case o.progressesAlone(r):
		return o.Now.Add(retryInterval)
	}
	return time.Time{}
}

// progressesAlone reports whether what an end waits for may happen without any write of linkwright.
func (o ordering) progressesAlone(r Row) bool {
	switch r.Why.Code {
	case reason.CredentialNotIssued:
		l, declared := o.Fleet.Link(r.End.Link)
		return declared && len(o.Access(l).Tokens) > 0 || o.Elsewhere[o.Other(r.End)]
	case reason.NotReady:
		return slices.ContainsFunc(r.Unready, func(u Unready) bool { return !u.Failed })
	case reason.WaitingForReplacement: // objects become ready
		return true
	case reason.WaitingForSource, reason.CredentialInUse:
		return o.Elsewhere[r.End.Link.Source]
	}
	return r.Why.Code == reason.Waiting || r.Why.Code == reason.Terminating
}

// nextDrainCheck returns when a drain is read again: the longer it has taken, the later, and at its deadline.
func (o ordering) nextDrainCheck(until time.Time) time.Time {
	taken := o.Policy().Prune.Deadline() - until.Sub(o.Now)
	next := o.Now.Add(max(retryInterval, taken/4))
	if next.After(until) {
		return until
	}
	return next
}

// secondNames returns those that the base is to list: the declared ones, and those by which links to the cluster are still recorded.
func (o ordering) secondNames() (out []api.ClusterName) {
	if o.Fleet != nil {
		out = o.Fleet.Names(o.name)
	}
	for _, inv := range o.recorded {
		if target := inv.End.Link.Target; !inv.End.IsBase() && !inv.End.IsSource() && target != o.name && !o.Remembered(target) {
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
