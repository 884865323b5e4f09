package report

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
)

// A text shows a long message once, such as what an API server says of a right that is missing, and elsewhere its code.
func TestLongMessageOnce(t *testing.T) {
	long := object.Because(reason.Forbidden, "read cluster west: secrets is forbidden: %s (grant this to the account that linkwright uses)", strings.Repeat("RBAC: not found ", 30))
	blocked := plan.Row{Phase: plan.Blocked, Why: long, Health: []health.Verdict{{Stage: health.Reachable, Result: health.Failed, Why: long}}}
	r := ends(&blocked, &plan.Row{Phase: plan.Blocked, Why: long})
	for i := range r.Clusters {
		r.Clusters[i].Step.Denied = long
	}
	page, _ := r.LinkAnswer(link("west", "east"))
	for name, a := range map[string]Answer{"sync": r.Answer(), "status": r.StatusAnswer(), "describe": page} {
		got := writtenAs(t, a, Text)
		if strings.Count(got, long.Message) != 1 || strings.Count(got, "RBAC: not found RBAC") != 15 || !strings.Contains(got, "Forbidden: see above") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}
