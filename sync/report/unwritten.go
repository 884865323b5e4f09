package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// unwritten counts the changes of each end that a report has and that were not written.
func (r Report) unwritten() map[object.End]int {
	out := map[object.End]int{}
	for _, c := range r.Clusters {
		for _, ch := range c.planned() {
			out[ch.End]++
		}
		for _, o := range c.Outcomes {
			if o.Err != nil {
				out[o.Change.End]++
			}
		}
	}
	return out
}

// Undone are the clusters in which a sync left something to do, or of which it does not know: it did not come to them.
func (r Report) Undone() (names []api.ClusterName) {
	for _, c := range r.Clusters {
		if c.Status() == Unknown || slices.ContainsFunc(c.Step.Rows, func(row plan.Row) bool { return row.Phase == plan.Changing || row.Phase == plan.Waiting }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// toWrite says what is still to be written of ends that change; nil: none of them changes, or has a reason of its own. While a sync is under way it
// says nothing.
func (r Report) toWrite(changes map[object.End]int, rows ...plan.Row) *object.Reason {
	if r.When == Syncing {
		return nil
	}
	var parts []string
	leaving := false
	for _, row := range rows {
		leaving = leaving || row.Leaving && !row.End.IsBase()
		switch n := changes[row.End]; {
		case row.Phase != plan.Changing:
		case row.Why != nil:
			return nil
		case n > 0:
			parts = append(parts, fmt.Sprintf("%s in %s", object.Count(n, "change"), row.End.Cluster))
		default:
			parts = append(parts, fmt.Sprintf("further changes in %s", row.End.Cluster))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	if leaving {
		return object.Because(reason.Leaving, "its removal has not ended; next: %s", strings.Join(parts, ", "))
	}
	return object.Because(reason.Progressing, "the next sync writes %s", strings.Join(parts, ", "))
}
