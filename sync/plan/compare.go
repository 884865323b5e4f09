package plan

import (
	"fmt"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/state"
)

// proposal is what one end lacks and what of it may go, if nothing is against it.
type proposal struct {
	want    object.Wanted   // of a declared end; its Held says why it is not written
	changes []object.Change // what a declared end lacks
	prune   prune.Verdict   // what may go, and what is to be recorded
}

// declared says that the end is declared; any other leaves.
func (p proposal) declared() bool { return p.want.End == p.prune.End }

// compare gives what each end lacks, declared ones first; desired ends and verdicts are sorted.
func (c *cluster) compare() []proposal {
	c.rebuilt = c.Rebuilt(c.name, c.recorded, func(k object.Key, r object.Record) { c.marked = append(c.marked, marked{k, r}) })
	verdicts := prune.Select(c.input(c.name, c.wanted, c.rebuilt), func(end object.End) prune.Peer {
		own, _ := c.record(end)
		return c.peer(own)
	})
	out := make([]proposal, 0, len(c.wanted)+len(verdicts))
	for _, want := range c.wanted {
		i, recorded := slices.BinarySearchFunc(verdicts, want.End, func(v prune.Verdict, e object.End) int { return v.End.Compare(e) })
		if recorded {
			out = append(out, c.propose(want, verdicts[i]))
			continue
		}
		out = append(out, c.propose(want, prune.Verdict{End: want.End, Next: c.first(want)}))
	}
	for _, v := range verdicts {
		_, declared := slices.BinarySearchFunc(c.wanted, v.End, func(w object.Wanted, e object.End) int { return w.End.Compare(e) })
		if !declared {
			out = append(out, proposal{prune: v})
		}
	}
	return out
}

// first is the inventory of an end that has none.
func (c *cluster) first(want object.Wanted) inventory.Inventory {
	next := inventory.Inventory{End: want.End}
	if want.End.IsSource() {
		next.Conditions = health.Beginning(c.Now)
	}
	return next.Settle(keys(want), never)
}

// propose compares a declared end with what is live.
func (c *cluster) propose(want object.Wanted, v prune.Verdict) proposal {
	p := proposal{want: want, prune: v}
	if p.want.Held == nil {
		p.want.Held = c.lacks(want)
	}
	if p.want.Held == nil {
		p.changes, p.want.Held = c.differs(want, c.side)
		p.changes = c.wholeLinks(p.changes)
		p.prune.Next.Rotate = c.Unmet(want.End, v.Next.Rotate)
	}
	return p
}

// lacks says why the base's objects cannot be applied, though they can be rendered.
func (c *cluster) lacks(want object.Wanted) *object.Reason {
	if !want.End.IsBase() || len(want.Objects) == 0 {
		return nil
	}
	if why := c.side.Facts.Lack(linkerd.AsSource); why != nil && why.Code == reason.NotInstalled {
		return why
	}
	return nil
}

// wholeLinks leaves a new Linkerd Link to the step after the one that makes the control plane's secret, if an update that adds
// the selectors which wait for that would be denied (see credential.Discovers): a Link is created once, and with all that is declared.
func (c *cluster) wholeLinks(changes []object.Change) []object.Change {
	if c.Policy().Prune.Policy != api.CreateOnly {
		return changes
	}
	makes := func(k object.Key) bool {
		return slices.ContainsFunc(changes, func(c object.Change) bool { return c.Action == object.Create && c.Key == k })
	}
	at := c.Spec(c.name).Linkerd
	return slices.DeleteFunc(slices.Clone(changes), func(c object.Change) bool {
		target := c.End.Link.Target
		return c.Action == object.Create && c.Key == linkerd.LinkKey(at, target) && makes(linkerd.ControlPlaneSecret(at, target))
	})
}

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
			return nil, object.Because(reason.NotServed, "the cluster does not serve %s %s, as which %s is declared: install what brings it, or declare the object no more",
				o.Key.Kind, o.APIVersion(), o.Key)
		case seen.Hides(o.Key) != nil:
			return nil, seen.Hides(o.Key)
		case live.IsZero() && !side.Saw(o.Key):
			return nil, object.Because(reason.Unknown, "%s was not looked for", o.Key)
		case live.IsZero():
			out = append(out, change(want.End, object.Create, o, live, reason.Missing, "not there yet"))
		case live.Mark != object.Ours:
			return nil, c.occupied(want.End, o.Key, seen)
		case live.Going:
			return nil, object.Because(reason.Going, "%s is still being deleted", o.Key)
		case live.Digest == 0, live.Digest == o.Digest && !c.coverage.Covers(o, live): // who overwrites all of it leaves no digest
			out = append(out, change(want.End, update(o, seen), o, live, reason.Drift, "fields were changed by "+live.Writers()))
		case live.Digest != o.Digest && follows(o, seen):
			out = append(out, change(want.End, object.Update, o, live, reason.Facts, "what "+string(want.End.Link.Target)+" tells of itself changed"))
		case live.Digest != o.Digest:
			out = append(out, change(want.End, update(o, seen), o, live, reason.Changed, "what is declared, or a fact it is made of, changed"))
		}
	}
	return c.replaced(out)
}

// occupied says whose an object is that has the name of one of ours. What Linkerd's own tools may have made is told by its name,
// and by its labels if they were read: an adoption reads them.
func (c *comparison) occupied(end object.End, k object.Key, seen object.Observation) *object.Reason {
	at, target, do := c.Spec(end.Cluster).Linkerd, end.Link.Target, ""
	r := seen.Record(k)
	body, _ := seen.Body(k)
	_, named := linkerd.Called(at, k, target)
	if _, known := linkerd.Adoptable(at, k, body, target); r.Mark == object.Unmarked && end.IsSource() && named && (known || body.IsZero()) {
		do = fmt.Sprintf("if Linkerd's own tools made it, take the link over with %s; else ", c.Command(fmt.Sprintf("adopt %s/%s", end.Link.Source, target)))
	}
	return object.Because(reason.Occupied, "%s exists and is %s (written by %s): %sdelete or rename it, or remove the link",
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

func keys(want object.Wanted) []object.Key {
	out := make([]object.Key, len(want.Objects))
	for i, o := range want.Objects {
		out[i] = o.Key
	}
	return out
}

func never(object.Key) bool { return false }
