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
		s.Verifications, s.ReadFirst, s.Pending = append(s.Verifications, p.verifications...), append(s.ReadFirst, p.read...), append(s.Pending, p.pending...)
		s.within(p.PlanAgain)
		s.retry(p.Retry)
	}
	slices.SortFunc(s.Pending, object.End.Compare)
	slices.SortFunc(s.Rows, func(a, b Row) int { return a.End.Compare(b.End) })
	return s
}

// ordering is the last stage: it orders writes, and decides when to plan again.
type ordering struct{ *cluster }

// order orders the writes of a step, puts the base and linkwright's namespace first, and sets when to plan again. Next is the base's inventory as it
// must be; nil: it is so already.
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

// sorted orders changes by phase, then key, and puts deletes last.
func sorted(s Step) Step {
	slices.SortStableFunc(s.Changes, func(a, b object.Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Object.Phase, b.Object.Phase), a.Key.Compare(b.Key))
	})
	slices.SortStableFunc(s.Ahead, func(a, b object.Change) int { return a.End.Compare(b.End) })
	return s
}

// rank puts deletes last. A drain of a Link keeps its phase.
func rank(c object.Change) int {
	if c.Action == object.Delete || c.Action == object.Release {
		return 1
	}
	return 0
}

// writeBase records the base's objects with the commit and the leadership, in one write.
func (o ordering) writeBase(s Step, entries *inventory.Inventory) Step {
	old, found := o.inventoryOf(o.base())
	if entries == nil && !o.mustRecordCommit(s, old, found) {
		return s
	}
	next := old
	if entries != nil {
		next = *entries
	}
	if o.Adopt == nil || !found { // an adoption applies no commit
		next.Commit = s.Commit
	}
	next.Term, next.Linkerd, next.Names = o.Leadership, o.Spec(o.name).Linkerd, o.secondNames()
	if w, why := o.writeInventory(next, old); why == nil {
		s.Ahead = append([]object.Change{w}, s.Ahead...)
	}
	return s
}

// mustRecordCommit reports whether the base must record the commit: once per commit, in a cluster that stays and has anything of linkwright, or a rollout, whose progress it keeps; never
// for a new leadership alone. An adoption writes the base only if that is linkwright's first object there, because it applies no commit.
func (o ordering) mustRecordCommit(s Step, old inventory.Inventory, found bool) bool {
	declared, _, _ := o.Declared(o.name)
	switch {
	case declared == nil || o.denied(old.End) != nil:
		return false
	case o.Adopt != nil:
		return !found && len(s.Ahead) > 0
	}
	return !o.Leaves(o.name) && (len(o.recorded)+len(s.Ahead) > 0 || declared.Rollout != nil) &&
		(!found || o.renamed || old.Commit != s.Commit || old.Linkerd != declared.Spec.Linkerd)
}

// namespace creates linkwright's namespace if it is missing. linkwright never deletes it.
func (o ordering) namespace() []object.Change {
	key := object.Key{Kind: "Namespace", Name: object.AccessNamespace}
	if !o.current.Live.Record(key).IsZero() {
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

// nextProgress returns when an end may progress without any write of this step; zero: never. Another cluster's step asks for this cluster itself,
// unless another process writes that cluster.
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

// progressesAlone reports whether an end may progress without any write of linkwright.
func (o ordering) progressesAlone(r Row) bool {
	switch r.Why.Code {
	case reason.CredentialNotIssued:
		l, declared := o.Fleet.Link(r.End.Link)
		return declared && len(o.Access(l).Tokens) > 0 || o.WrittenElsewhere[o.Other(r.End)]
	case reason.NotReady:
		return slices.ContainsFunc(r.Unready, func(u Unready) bool { return !u.Failed })
	case reason.WaitingForReplacement, reason.ControllerNotLeading: // objects become ready, or have a holder
		return true
	case reason.WaitingForSource, reason.CredentialInUse:
		return o.WrittenElsewhere[r.End.Link.Source]
	}
	return r.Why.Code == reason.Waiting || r.Why.Code == reason.Terminating
}

// nextDrainCheck returns when to read a drain again: later the longer it takes, and at its deadline.
func (o ordering) nextDrainCheck(until time.Time) time.Time {
	taken := o.Policy().Prune.Deadline() - until.Sub(o.Now)
	next := o.Now.Add(max(retryInterval, taken/4))
	if next.After(until) {
		return until
	}
	return next
}

// secondNames returns the second names that the base must list: the declared ones, and those with links that are still recorded.
func (o ordering) secondNames() (out []api.ClusterName) {
	if o.Fleet != nil {
		out = o.Fleet.Names(o.name)
	}
	for _, inv := range o.recorded {
		if target := inv.End.Link.Target; !inv.End.IsBase() && !inv.End.IsSource() && target != o.name && !o.IsRecorded(target) {
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
