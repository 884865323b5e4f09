package plan

import (
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/takeover"
)

// ownership replaces the ordinary step: it adopts or releases objects.
type ownership struct{ *cluster }

func (t ownership) step(s Step) Step {
	switch hidden := t.hides(t.current.Live); {
	case hidden != nil:
		s.Denied = hidden
		return s
	case t.Adopt != nil:
		return t.adopt(s)
	}
	return t.release(s)
}

// hides returns why something that an adoption or release needs may not be read in a cluster; nil: everything may. An adoption leaves
// the control plane's secret of a link alone if it may not read it and the link, as declared, does not use it.
func (t ownership) hides(live object.Observation) *object.Reason {
	needed := func(h object.Hidden) bool {
		for p := range t.Adopt {
			if h.Key == linkerd.ControlPlaneSecret(t.Spec(p.Source).Linkerd, p.Target) && !slices.Contains(t.Discovering(p.Source), p.Target) {
				return false
			}
		}
		return true
	}
	if i := slices.IndexFunc(live.Hidden, needed); i >= 0 {
		return live.Hidden[i].Why()
	}
	return nil
}

// unchanged returns the row of a cluster that an adoption or release does not touch. Without a row the cluster would seem empty.
func (t ownership) unchanged(s Step) Step {
	s.Rows = []Row{{End: object.End{Cluster: t.name}, Phase: Ready}}
	return s
}

// adopt plans the adoption of the links of Takeover.Adopt instead of an ordinary step: the inventory first, then linkwright's label on each object,
// and nothing more. The next ordinary step makes the objects as declared, and removes older ones once their replacements are ready.
func (t ownership) adopt(s Step) Step {
	if t.desiredEnds = t.adoptedEnds(); len(t.desiredEnds) == 0 {
		return t.unchanged(s)
	}
	if s.Denied = t.identify(); s.Denied != nil {
		s.Rows = t.allBlocked(s.Denied)
		return s
	}
	var parts []part
	for _, l := range t.adopted() {
		parts = append(parts, t.adoptEnd(l))
	}
	if end := t.base(); slices.ContainsFunc(t.desiredEnds, func(w object.Desired) bool { return w.End == end }) {
		found, why := t.shared()
		parts = append(parts, t.adoptObjects(end, found, why))
	}
	return ordering(t).order(t.collect(s, parts), base(parts))
}

// shared returns what an adoption takes over of the cluster's shared controller, or why it takes over nothing.
func (t ownership) shared() ([]takeover.Object, *object.Reason) {
	return takeover.Shared(t.current.Live, t.Spec(t.name).Linkerd, t.Owner, t.Rules)
}

// adopted returns the links of Takeover.Adopt of which this cluster is an end.
func (t ownership) adopted() []fleet.Link {
	_, out, in := t.Declared(t.name)
	return slices.DeleteFunc(slices.Concat(out, in), func(l fleet.Link) bool { return !t.Adopt[l.Pair()] })
}

// adoptedEnds returns the ends that an adoption is about. The base is one if it is to run the controller of an adopted link, and something of that is
// not linkwright's.
func (t ownership) adoptedEnds() (out []object.Desired) {
	shares := false
	for _, l := range t.adopted() {
		shares = shares || l.Source.Name == t.name && l.Spec.Controller.Mode == api.Shared
		out = append(out, object.Desired{End: object.End{Cluster: t.name, Link: l.Pair()}})
	}
	if found, why := t.shared(); shares && (len(found) > 0 || why != nil) {
		out = append(out, object.Desired{End: t.base()})
	}
	return out
}

func (t ownership) adoptEnd(l fleet.Link) part {
	end := object.End{Cluster: t.name, Link: l.Pair()}
	found, why := t.adoptable(end, l)
	return t.adoptObjects(end, found, why)
}

// adoptObjects adopts all objects of an end, or none if there is a reason.
func (t ownership) adoptObjects(end object.End, found []takeover.Object, why *object.Reason) part {
	row := Row{End: end, Phase: Ready}
	if closed := t.denied(row.End); closed != nil {
		return part{row: deniedRow(row, closed, len(found))}
	}
	if why != nil {
		row.Phase, row.Why = Denied, why
		return part{row: row}
	}
	next, _ := t.inventoryOf(row.End)
	keys := make([]object.Key, len(found))
	var changes []object.Change
	for i, o := range found {
		keys[i] = o.Key
		if o.Live.Mark != object.Ours {
			changes = append(changes, o.Adopt(t.Owner, row.End))
		}
	}
	out := (&admission{cluster: t.cluster}).admitChanges(next.Stay().Settle(keys, never), changes)
	row.Phase, row.Why = out.row.Phase, out.row.Why
	out.row = row
	return out
}

// adoptable returns what an adoption takes over of an end, or why it takes over nothing. A target's account is not adopted without the source's
// Linkerd Link: linkwright would remove the account with the declaration, and the Link would still use it.
func (t ownership) adoptable(end object.End, l fleet.Link) ([]takeover.Object, *object.Reason) {
	if end.IsSource() {
		return takeover.Source(t.current.Live, l, t.Rules)
	}
	found, why := takeover.Target(t.current.Live, t.Owner, l, t.Rules)
	if why == nil && len(found) > 0 {
		why = t.sourceNotAdoptable(l)
	}
	return found, why
}

// sourceNotAdoptable returns why the source's end of a link cannot be adopted, or nil.
func (t ownership) sourceNotAdoptable(l fleet.Link) *object.Reason {
	source := l.Source.Name
	why := t.Unidentified(source)
	if why == nil {
		why = t.hides(t.Clusters[source].Live)
	}
	if why == nil {
		why = t.denied(object.End{Cluster: source, Link: l.Pair()})
	}
	if why == nil {
		_, why = takeover.Source(t.Clusters[source].Live, l, t.Rules)
	}
	if why == nil {
		return nil
	}
	return object.Because(why.Code, "the account of cluster %s is not adopted without the link's end there: %s", source, why.Message)
}

// release plans to remove linkwright's labels from what the snapshot's Release names. An inventory is deleted once none of its objects has the
// label, and the base last, so that an interrupted release continues.
func (t ownership) release(s Step) Step {
	if !t.Release.Affects(t.Snapshot, t.name) {
		return t.unchanged(s)
	}
	if s.Denied = t.identify(); s.Denied != nil {
		return s
	}
	var base *inventory.Inventory
	var parts []part
	others := 0
	for _, inv := range t.Rebuilt(t.name, t.recorded, ignoreOrphans) {
		switch {
		case inv.End.IsBase():
			base = &inv
		case t.Release.Has(inv.End.Link):
			parts = append(parts, t.releaseEnd(inv))
			others++
		default:
			others++
		}
	}
	switch {
	case base == nil:
	case others == 0 && (t.Release.All || len(base.Entries) == 0):
		parts = append(parts, t.releaseEnd(*base))
	default:
		parts = append(parts, part{row: Row{End: base.End, Phase: Ready}})
	}
	return sorted(t.collect(s, parts))
}

// releaseEnd releases what an end recorded, or deletes its inventory if nothing is left.
func (t ownership) releaseEnd(inv inventory.Inventory) part {
	row := Row{End: inv.End, Phase: Changing}
	for _, k := range inv.Entries {
		r := t.current.Live.Record(k)
		switch {
		case !t.current.Covers(k):
			row.Phase, row.Why = Blocked, object.Because(reason.Unknown, "linkwright has not read %s yet", k)
			return part{row: row}
		case r.Mark == object.Ours:
			row.Deleting = append(row.Deleting, k)
		}
	}
	out := part{}
	for _, k := range row.Deleting {
		w := object.Change{End: inv.End, Key: k, Was: t.current.Live.Record(k), Why: object.Reason{Code: reason.Released, Message: "released: it stays as it is"}}
		out.changes = append(out.changes, prune.Release(w, linkerd.Helm{}))
	}
	if len(row.Deleting) == 0 {
		if row.Phase = Released; !inv.Was.IsZero() {
			last := t.deleteInventory(inv)
			last.Why = object.Reason{Code: reason.Released, Message: "the end is released"}
			out.after = []object.Change{last}
		}
	}
	out.row = row
	return out
}
