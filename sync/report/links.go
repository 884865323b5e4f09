package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// LinkRow is how one link is: as its worse end is.
type LinkRow struct {
	Pair    api.Pair
	Phase   plan.Phase
	Why     *object.Reason // of the worse end; nil where there is nothing to say
	Leaving bool
	Source  plan.Row // an end that is gone is Removed or Released, one whose cluster was not read Unseen
	Target  plan.Row
}

// severity orders the phases of ends, the best first.
func severity(p plan.Phase) int {
	return slices.Index([]plan.Phase{
		plan.Ready, plan.Removed, plan.Released, plan.Changing, plan.Suspended, Unseen, plan.Waiting, plan.Blocked, plan.Denied,
	}, p)
}

// Links gives every link of the report, sorted by pair: those declared, those leaving, and those whose
// last end this sync removed.
func Links(r Report) []LinkRow {
	ends := endsOf(r)
	pairs := map[api.Pair]bool{}
	for at := range ends {
		pairs[at.link] = true
	}
	out := make([]LinkRow, 0, len(pairs))
	for _, p := range slices.SortedFunc(maps.Keys(pairs), api.Pair.Compare) {
		out = append(out, linkRow(r, p, ends))
	}
	return out
}

// endOf is one of the two ends of a link. The target may be a second name of the cluster in which its end is.
type endOf struct {
	link   api.Pair
	source bool
}

// endsOf gives the rows of all ends of links. An end that was written to and has no row any more, in a
// cluster that was read, is gone: released, if its last write says so. A source's end is Unseen if its
// cluster was not read: then nobody knows how the link is.
func endsOf(r Report) map[endOf]plan.Row {
	ends := map[endOf]plan.Row{}
	for _, c := range r.Clusters {
		for _, o := range c.Outcomes {
			if end := o.Change.End; !end.IsBase() && c.Status() == Ready {
				ends[endOf{end.Link, end.IsSource()}] = gone(end, o.Change.Why.Code == reason.Released)
			}
		}
		for _, row := range c.Step.Rows {
			if !row.End.IsBase() {
				if row.End.IsSource() && c.Status() == Unknown && row.Phase == plan.Blocked {
					row.Phase = Unseen
				}
				ends[endOf{row.End.Link, row.End.IsSource()}] = row
			}
		}
	}
	return ends
}

func linkRow(r Report, p api.Pair, ends map[endOf]plan.Row) LinkRow {
	source, knowsSource := ends[endOf{p, true}]
	target, knowsTarget := ends[endOf{p, false}]
	l := LinkRow{Pair: p, Leaving: source.Leaving || target.Leaving}
	if !knowsSource {
		source = r.absent(object.End{Cluster: cmp.Or(target.Other, p.Source), Link: p}, target)
	}
	if !knowsTarget {
		target = r.absent(object.End{Cluster: cmp.Or(source.Other, p.Target), Link: p}, source)
	}
	l.Source, l.Target = source, target
	l.Phase, l.Why = source.Phase, source.Why
	if l.Phase == plan.Blocked && source.Condition().Reason == reason.Progressing { // by something that comes by itself, such as a token
		l.Phase = plan.Waiting
	}
	worse := severity(target.Phase) - severity(l.Phase)
	waits := knowsSource && waitsForSource(target, source)
	switch {
	case waits, l.Leaving && source.Failed && severity(target.Phase) < severity(plan.Blocked):
	case worse > 0, worse == 0 && source.Why == nil, l.Leaving && target.Failed && !source.Failed && severity(source.Phase) < severity(plan.Blocked):
		l.Phase, l.Why = target.Phase, target.Why
	}
	return l
}

// waitsForSource reports whether a target's end only waits for the source's, whose reason says more, such as Draining.
func waitsForSource(target, source plan.Row) bool {
	return target.Why != nil && target.Why.Code == reason.WaitingForSource && source.Why != nil
}

// gone is the row of an end that has nothing of linkwright any more.
func gone(end object.End, released bool) plan.Row {
	if released {
		return plan.Row{End: end, Phase: plan.Released}
	}
	return plan.Row{End: end, Phase: plan.Removed, Leaving: true}
}

// absent is the row of an end that no cluster reports, from that of the other end: gone only if that leaves or is released, and its cluster was
// read, or left the record with all that was there, or was abandoned.
func (r Report) absent(end object.End, other plan.Row) plan.Row {
	released := other.Phase == plan.Released
	ends := other.Leaving || released
	why, known := object.Because(reason.Unknown, "cluster %s was not read", end.Cluster), false
	for _, c := range r.Clusters {
		known = known || c.Name == end.Cluster
		switch {
		case c.Name != end.Cluster:
		case c.Status() == Ready && ends:
			return gone(end, released)
		case c.Status() == Unknown && c.Step.Denied != nil:
			why = object.Because(reason.Unknown, "cluster %s cannot be read (%s), so linkwright does not know what is left there", c.Name, c.Step.Denied.Code)
		case c.Status() == Unknown:
			why = c.Why()
		}
	}
	if ends && !known && !r.Partial() {
		return gone(end, released)
	}
	return plan.Row{End: end, Phase: Unseen, Leaving: other.Leaving, Why: why}
}
