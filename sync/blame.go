package sync

import (
	"slices"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/plan"
)

// blame gives the rows of ends that were to be changed, and of which a write failed, the reason: of all of them that of the
// base, where that is what failed.
func (r *reconcile) blame() {
	failed := map[object.End]object.Outcome{}
	for _, o := range r.outcomes {
		if _, known := failed[o.Change.End]; !known && o.Err != nil && !apply.Untried(o) {
			failed[o.Change.End] = o
		}
	}
	if len(failed) == 0 {
		return
	}
	r.step.Rows = slices.Clone(r.step.Rows)
	for i, row := range r.step.Rows {
		o, ok := failed[row.End]
		if !ok {
			o, ok = failed[object.End{Cluster: r.cluster.Name}]
		}
		if ok && row.Why == nil && (row.Standing == plan.Changing || row.Standing == plan.Removed) {
			r.step.Rows[i].Standing, r.step.Rows[i].Why = plan.Changing, r.loop.why(o.Err)
		}
	}
}

// advised says of writes for which a right is missing what to do, as reasons do: the row of an end that leaves, or that
// waits for a token, tells something else.
func (l *Loop) advised(outcomes []object.Outcome) []object.Outcome {
	out := slices.Clone(outcomes)
	for i, o := range out {
		if o.Err == nil {
			continue
		}
		if why := l.why(o.Err); why.Code == object.Forbidden {
			out[i].Err = advice{o.Err, why.Message}
		}
	}
	return out
}

// advice is an error with what to do.
type advice struct {
	cause   error
	message string
}

func (a advice) Error() string { return a.message }

func (a advice) Unwrap() error { return a.cause }
