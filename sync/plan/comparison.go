package plan

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/state"
	"github.com/linkwright/linkwright/sync/takeover"
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
		case live.Digest == object.AdoptedDigest:
			out = append(out, change(want.End, updateOrDrain(o, observed), o, live, reason.Adopted, "the first sync after the adoption applies it as declared"))
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

// conflict returns why an object that is not linkwright's blocks an end, and what to do.
func (c *comparison) conflict(end object.End, k object.Key, observed object.Observation) *object.Reason {
	r, do := observed.Record(k), "delete or rename it, or remove the link"
	if why := c.notAdoptable(end, k, observed); why != nil {
		return why
	}
	if c.released(end, k, observed) {
		do = "if a release left it, run " + c.Command("adopt --all") + "; otherwise delete or rename it"
	}
	if adopt := c.Command("adopt " + end.Link.Name()); c.adoptable(end, k, observed) {
		if do = "run " + adopt; end.IsSource() {
			do = "if a working link uses it, run " + adopt + "; otherwise delete or rename it, or remove the link"
		}
	}
	return object.Because(reason.ObjectExists, "%s exists and is %s (%s): %s", k, r.Mark, r.Origin(), do)
}

// released reports whether an object may be a part of the shared controller that a release left: adopt takes it with the links that share it.
func (c *comparison) released(end object.End, k object.Key, observed object.Observation) bool {
	body, _ := observed.Body(k)
	named, labelled := linkerd.IsShared(c.Spec(end.Cluster).Linkerd, c.Owner, k, body)
	return end.IsBase() && observed.Record(k).Mark == object.Unmarked && named && (labelled || body.IsZero())
}

// notAdoptable returns why adopt would deny the source's end of a link, as far as the labels of its objects are read; nil: it would not, or the
// conflict is no matter of adoption.
func (c *comparison) notAdoptable(end object.End, k object.Key, observed object.Observation) *object.Reason {
	l, ok := c.Fleet.Link(end.Link)
	if !ok || !end.IsSource() || observed.Record(k).Mark != object.Unmarked {
		return nil
	}
	body, _ := observed.Body(k)
	if !c.adoptable(end, k, observed) && len(linkerd.MissingLabels(c.Spec(end.Cluster).Linkerd, k, body, end.Link.Target)) == 0 {
		return nil
	}
	return takeover.Unlabelled(observed, l)
}

// adoptable reports whether adopt takes an object. In a source, Linkerd's own tools may have made it: its name shows that, and its labels if they were
// read. In a target it has the name of linkwright's account, token or binding: a release left it, or a backup restored it.
func (c *comparison) adoptable(end object.End, k object.Key, observed object.Observation) bool {
	if observed.Record(k).Mark != object.Unmarked {
		return false
	}
	if !end.IsSource() {
		source, ok := render.SourceOf(c.Owner, k)
		return ok && source == end.Link.Source
	}
	at, target := c.Spec(end.Cluster).Linkerd, end.Link.Target
	body, _ := observed.Body(k)
	_, named := linkerd.BelongsTo(at, k, target)
	_, known := linkerd.Adoptable(at, k, body, target)
	return named && (known || body.IsZero())
}

// kindName returns an object's kind as Observation.Unserved names it.
func kindName(o object.Object) string {
	return object.Watch{Group: o.Key.Group, Version: o.Version, Kind: o.Key.Kind}.KindName()
}

// fewerMirrors ends the message of a drain.
const fewerMirrors = ": its selectors no longer choose some services, and Linkerd's controller deletes the mirrors of these"

// change returns one write of a desired object. A drain is fenced like a delete: it changes only the object that was read.
func change(end object.End, a object.Action, o object.Object, live object.Record, code reason.Code, message string) object.Change {
	if a == object.Drain {
		message += fewerMirrors
	}
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
