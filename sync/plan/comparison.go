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

// comparison compares what ends are to hold with what is live, in any cluster.
type comparison struct {
	*pruning
	coverage object.Coverage
}

// differs compares one end with what is live: the changes that make it so, or why it must be held. An
// object that exists without our mark is never touched; it holds the whole end, so that
// no link is half written. A create is planned only if a complete read showed the name free.
func (c *comparison) differs(want object.Wanted, side state.Cluster) ([]object.Change, *object.Reason) {
	var out []object.Change
	seen := side.Seen
	for _, o := range want.Objects {
		live := seen.Record(o.Key)
		switch {
		case len(seen.Unserved) > 0 && slices.Contains(seen.Unserved, called(o)):
			return nil, object.Because(reason.KindNotServed, "the cluster does not serve %s %s, the kind of %s: install its CRD, or remove the object from the overlay",
				o.Key.Kind, o.APIVersion(), o.Key)
		case seen.Hides(o.Key) != nil:
			return nil, seen.Hides(o.Key)
		case live.IsZero() && !side.Saw(o.Key):
			return nil, object.Because(reason.Unknown, "linkwright has not read %s yet", o.Key)
		case live.IsZero():
			out = append(out, change(want.End, object.Create, o, live, reason.Missing, "it does not exist yet"))
		case live.Mark != object.Ours:
			return nil, c.occupied(want.End, o.Key, seen)
		case live.Going:
			return nil, object.Because(reason.Terminating, "%s is still being deleted", o.Key)
		case live.Digest == 0, live.Digest == o.Digest && !c.coverage.Covers(o, live): // who overwrites all of it leaves no digest
			out = append(out, change(want.End, update(o, seen), o, live, reason.Drift, "fields were changed by "+live.Writers()))
		case live.Digest != o.Digest && follows(o, seen):
			out = append(out, change(want.End, object.Update, o, live, reason.FactsChanged, "facts of cluster "+string(want.End.Link.Target)+" changed"))
		case live.Digest != o.Digest:
			out = append(out, change(want.End, update(o, seen), o, live, reason.Changed, "the declaration, or a fact that it depends on, changed"))
		}
	}
	return replaced(c.Snapshot, out)
}

// occupied says whose an object is that has the name of one of ours. What Linkerd's own tools may have made is told by its name,
// and by its labels if they were read: an adoption reads them.
func (c *comparison) occupied(end object.End, k object.Key, seen object.Observation) *object.Reason {
	at, target, do := c.Spec(end.Cluster).Linkerd, end.Link.Target, ""
	r := seen.Record(k)
	body, _ := seen.Body(k)
	_, named := linkerd.Called(at, k, target)
	if _, known := linkerd.Adoptable(at, k, body, target); r.Mark == object.Unmarked && end.IsSource() && named && (known || body.IsZero()) {
		do = fmt.Sprintf("if Linkerd's own tools created it, run %s; otherwise ", c.Command(fmt.Sprintf("adopt %s/%s", end.Link.Source, target)))
	}
	return object.Because(reason.ObjectExists, "%s exists and is %s (written by %s): %sdelete or rename it, or remove the link",
		k, r.Mark, r.Writers(), do)
}

// called is an object's kind as Observation.Unserved names it.
func called(o object.Object) string {
	return object.Watch{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind}.Called()
}

// change is one write of a desired object. A drain counts as a delete: it happens only to exactly what was seen.
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
