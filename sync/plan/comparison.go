package plan

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
)

// comparison compares desired ends with live ones, in any cluster.
type comparison struct {
	*pruning
	coverage object.Coverage
}

// differs compares one end with what is live: the changes that make it so, or why it must be held. An object that exists without linkwright's mark
// is never touched; it holds the whole end, so that no link is half written. A create is planned only if a complete read showed the name free.
func (c *comparison) differs(want object.Desired, current state.Cluster) ([]object.Change, *object.Reason) {
	var out []object.Change
	observed := current.Live
	for _, o := range want.Objects {
		live := observed.Record(o.Key)
		switch {
		case len(observed.Unserved) > 0 && slices.Contains(observed.Unserved, kindName(o)):
			return nil, object.Because(reason.KindNotServed, "the cluster does not serve %s %s, the kind of %s: install its CRD, or remove the object from the overlay",
				o.Key.Kind, o.APIVersion(), o.Key)
		case observed.Hides(o.Key) != nil:
			return nil, observed.Hides(o.Key)
		case live.IsZero() && !current.Covers(o.Key):
			return nil, object.Because(reason.Unknown, "linkwright has not read %s yet", o.Key)
		case live.IsZero():
			out = append(out, change(want.End, object.Create, o, live, reason.Missing, "it does not exist yet"))
		case live.Mark != object.Ours:
			return nil, c.conflict(want.End, o.Key, observed)
		case live.Terminating:
			return nil, object.Because(reason.Terminating, "%s is still being deleted", o.Key)
		case live.Digest == 0, live.Digest == o.Digest && !c.coverage.Covers(o, live): // who overwrites all of it leaves no digest
			out = append(out, change(want.End, updateOrDrain(o, observed), o, live, reason.Drift, "fields were changed by "+live.Writers()))
		case live.Digest != o.Digest && follows(o, observed):
			out = append(out, change(want.End, object.Update, o, live, reason.FactsChanged, "facts of cluster "+string(want.End.Link.Target)+" changed"))
		case live.Digest != o.Digest:
			out = append(out, change(want.End, updateOrDrain(o, observed), o, live, reason.Changed, "the declaration, or a fact that it depends on, changed"))
		}
	}
	return replaceRefused(c.Snapshot, out)
}

// conflict returns why an object that is not linkwright's blocks an end, and what to do. If Linkerd's own tools may have made the object, it can be
// adopted: its name shows that, and its labels if they were read.
func (c *comparison) conflict(end object.End, k object.Key, observed object.Observation) *object.Reason {
	at, target, do := c.Spec(end.Cluster).Linkerd, end.Link.Target, ""
	r := observed.Record(k)
	body, _ := observed.Body(k)
	_, named := linkerd.BelongsTo(at, k, target)
	if _, known := linkerd.Adoptable(at, k, body, target); r.Mark == object.Unmarked && end.IsSource() && named && (known || body.IsZero()) {
		do = fmt.Sprintf("if Linkerd's own tools created it, run %s; otherwise ", c.Command(fmt.Sprintf("adopt %s/%s", end.Link.Source, target)))
	}
	return object.Because(reason.ObjectExists, "%s exists and is %s (written by %s): %sdelete or rename it, or remove the link",
		k, r.Mark, r.Writers(), do)
}

// kindName returns an object's kind as Observation.Unserved names it.
func kindName(o object.Object) string {
	return object.Watch{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind}.KindName()
}

// change returns one write of a desired object. A drain is fenced like a delete: it changes only the object that was read.
func change(end object.End, a object.Action, o object.Object, live object.Record, code reason.Code, message string) object.Change {
	return object.Change{
		End: end, Action: a, Key: o.Key, Object: o, Was: live, Conditional: a == object.Drain, Why: object.Reason{Code: code, Message: message},
	}
}

// updateOrDrain distinguishes an update from a drain: a Linkerd Link with a selector emptied loses what that had selected.
func updateOrDrain(o object.Object, observed object.Observation) object.Action {
	if prune.Drains(o, observed) {
		return object.Drain
	}
	return object.Update
}

func isDrain(c object.Change) bool { return c.Action == object.Drain }
