package plan

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune"
)

// Drift compares ends of a cluster alone, after a step that left nothing to do there: what it plans for them is what
// Cluster would, and only what was changed or deleted under them. It never prunes, writes no inventory, and plans nothing for an
// end that was not in place in last, so it can delete nothing. Its rows are those of the ends; see Step.With.
//
// Where more is to be done than that – an end is held, or holds other keys than it has recorded, something would be
// taken away, the fleet is another one –, Whole tells to plan the whole cluster, which no row of such an end is to be relied on before.
func Drift(w World, last Step, ends []object.End, r Renderer, policies ...Policy) Step {
	s := Step{Cluster: last.Cluster, Commit: w.commit()}
	p := &planner{World: w, name: last.Cluster, side: w.Sides[last.Cluster], renderer: r, policies: policies, step: &s}
	if last.Refused != nil || last.Commit != s.Commit || w.handed(p.name) || p.refusal(ends...) != nil {
		s.Whole = true
		return s
	}
	wanted := p.wants(p.name, ends...)
	for _, end := range slices.Compact(slices.SortedFunc(slices.Values(ends), object.End.Compare)) {
		i := slices.IndexFunc(wanted, func(want object.Wanted) bool { return want.End == end })
		if i < 0 || !last.row(end).inPlace() {
			s.Whole = true
			continue
		}
		p.driftEnd(wanted[i])
	}
	p.sort()
	p.checkup()
	p.remark()
	s.Whole = s.Whole || p.tellable() || p.overdue()
	p.schedule()
	return s
}

// row is zero for an end that the step tells nothing of.
func (s Step) row(end object.End) Row {
	at, ok := slices.BinarySearchFunc(s.Rows, end, func(r Row, e object.End) int { return r.End.Compare(e) })
	if !ok {
		return Row{}
	}
	return s.Rows[at]
}

// driftEnd plans what an end in place lacks, or asks for the whole.
func (p *planner) driftEnd(want object.Wanted) {
	s, planned, told, ahead := p.step, len(p.step.Changes), len(p.step.Rows), len(p.step.Ahead)
	inv, _ := p.record(want.End)
	held := want.Held != nil
	if !held && (inv.Leaving || inv.Rotate != nil || !slices.Equal(inv.Entries, sortedKeys(want))) {
		s.Whole = true
		return
	}
	p.declaredEnd(want, prune.Verdict{End: want.End, Next: inv})
	if slices.ContainsFunc(s.Changes[planned:], func(c object.Change) bool { return c.Action.Takes() }) {
		s.Changes, s.Rows, s.Ahead, s.Whole = s.Changes[:planned], s.Rows[:told], s.Ahead[:ahead], true
		return
	}
	row := s.Rows[told]
	s.Whole = s.Whole || row.Standing != Changing && !row.inPlace()
}

func sortedKeys(want object.Wanted) []object.Key {
	out := keys(want)
	slices.SortFunc(out, object.Key.Compare)
	return slices.Compact(out)
}

// Restores says that all a step plans is to write what others changed or deleted in ends that hold what they have recorded, and
// that those ends alone are to be looked at once it is written.
func Restores(w World, s Step) bool {
	if s.Refused != nil || len(s.Changes) == 0 || len(s.Ahead)+len(s.After)+len(s.Needs)+len(s.Look) > 0 {
		return false
	}
	keys := make([]object.Key, 0, len(s.Changes))
	for _, c := range s.Changes {
		if c.Action != object.Update && c.Action != object.Create || c.Why.Code != "Drift" && c.Why.Code != "Missing" {
			return false
		}
		keys = append(keys, c.Key)
	}
	for _, r := range s.Rows {
		if r.Standing == Changing && r.Why != nil {
			return false
		}
	}
	ends, whole := Asks(w, s.Restored(), keys)
	return !whole && !slices.ContainsFunc(s.Changes, func(c object.Change) bool { return !slices.Contains(ends, c.End) })
}

// Restored is a step once it was done, where Restores says that it may be taken so: its ends are in place.
func (s Step) Restored() Step {
	s.Changes, s.Rows = nil, slices.Clone(s.Rows)
	for i := range s.Rows {
		if s.Rows[i].Standing == Changing {
			s.Rows[i].Standing = InPlace
		}
	}
	return s
}

// With is a step that left nothing to do, with what Drift told of some of its ends since: of those, too, that it plans
// nothing for any more. What it plans to change is taken for done, unless its row has a reason by now.
func (s Step) With(drift Step) Step {
	s.Ahead, s.Changes, s.After, s.Needs = nil, nil, nil, nil
	s.Rows = slices.Clone(s.Rows)
	for i, row := range s.Rows {
		at, ok := slices.BinarySearchFunc(drift.Rows, row.End, func(r Row, e object.End) int { return r.End.Compare(e) })
		if ok && (drift.Rows[at].Standing != Changing || drift.Rows[at].Why != nil) {
			s.Rows[i] = drift.Rows[at]
		}
	}
	if s.Next.IsZero() || !drift.Next.IsZero() && drift.Next.Before(s.Next) {
		s.Next = drift.Next
	}
	s.retry(drift.Retry)
	return s
}
