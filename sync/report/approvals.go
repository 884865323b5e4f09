package report

import (
	"strings"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report/output"
)

// approvalEvents say who approved which removals, or took an approval back, as far as the record has it.
func approvalEvents(approvals []Decision) []output.Event {
	out := make([]output.Event, 0, len(approvals))
	for _, d := range decisionsOf(approvals) {
		e := output.Event{
			TypeMeta: output.Of(output.KindEvent), Type: output.Normal, Reason: string(reason.RemovalApproved), Object: "approval/" + d.Object,
			Condition: object.Approved, Status: object.True, Message: "by " + d.By + ": removes " + strings.Join(d.Removes, ", "), LastTransition: d.At,
		}
		if d.Kind == withdrawKind {
			e.Status, e.Reason = object.False, string(reason.ApprovalWithdrawn)
			e.Message = "taken back by " + d.By + ": it allowed to remove " + strings.Join(d.Removes, ", ")
		}
		out = append(out, e)
	}
	return out
}
