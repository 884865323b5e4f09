package plan

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// Repairs says that all a step plans is to write what others changed or deleted in ends that were as declared.
func (s Step) Repairs() bool {
	if s.Refused != nil || len(s.Changes) == 0 || len(s.Ahead)+len(s.After)+len(s.Needs)+len(s.Look) > 0 {
		return false
	}
	repairs := func(c object.Change) bool {
		return (c.Action == object.Update || c.Action == object.Create) && (c.Why.Code == reason.Drift || c.Why.Code == reason.Missing)
	}
	blocked := func(r Row) bool { return r.Standing == Changing && r.Why != nil }
	return !slices.ContainsFunc(s.Changes, func(c object.Change) bool { return !repairs(c) }) && !slices.ContainsFunc(s.Rows, blocked)
}

// Repaired is a step that only repairs, once it was done: its ends are in place.
func (s Step) Repaired() Step {
	s.Changes, s.Rows = nil, slices.Clone(s.Rows)
	for i := range s.Rows {
		if s.Rows[i].Standing == Changing {
			s.Rows[i].Standing = InPlace
		}
	}
	return s
}
