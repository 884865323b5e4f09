package report

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
)

// A suspended link that does not work is not ready, its message names the stage, and the next step is to resume it with the command. The exit code
// shows that it does not work, unless it was never written.
func TestSuspendedLinkThatDoesNotWork(t *testing.T) {
	pair := link("west", "east")
	why := "suspended by alice (to resume, ask bob): linkwright writes neither end: to resume, run linkwright resume west/east; 1 change waits for that"
	gone := []health.Verdict{{Stage: health.ControllerLeads, Result: health.Failed, Why: object.Because(reason.ControllerMissing, "Deployment.apps linkerd-multicluster/controller-east is missing")}}
	recorded := object.Condition{Type: object.Ready, Status: object.True, Reason: reason.Healthy}
	for name, tt := range map[string]struct {
		stages           []health.Verdict
		recorded         []object.Condition
		ready, more, do  string
		worksAsFarAsSeen bool
	}{
		"works":         {[]health.Verdict{{Stage: health.ControllerLeads, Result: health.Passed}}, []object.Condition{recorded}, object.True, "", "Nothing. To go on, remove suspend, or run linkwright resume as the message says.", true},
		"does not work": {gone, []object.Condition{recorded}, object.False, "; it is not ready: ControllerMissing: Deployment.apps linkerd-multicluster/controller-east is missing", "Resume it, so that linkwright repairs it: run linkwright resume west/east.", false},
		"never written": {gone, nil, object.False, "; it is not ready: ControllerMissing: Deployment.apps linkerd-multicluster/controller-east is missing", "Resume it, so that linkwright repairs it: run linkwright resume west/east.", true},
	} {
		suspended := plan.Row{Phase: plan.Suspended, Why: object.Because(reason.Suspended, "%s", why), Health: tt.stages}
		r := ends(&suspended, &plan.Row{Phase: plan.Ready})
		r.Recorded = []LinkConditions{{Link: pair, Conditions: tt.recorded}}
		l := r.document().links[0]
		if l.Ready != tt.ready || l.Status != string(Suspended) || l.Reason.Message != why+tt.more || r.Works() != tt.worksAsFarAsSeen {
			t.Errorf("%s: %s %s, works %t: %s", name, l.Ready, l.Status, r.Works(), l.Reason.Message)
		}
		var out strings.Builder
		a, _ := r.LinkAnswer(pair)
		if err := a.Write(&out, Text); err != nil || !strings.Contains(out.String(), "Next step:  "+tt.do+"\n") {
			t.Errorf("%s: want next step %q: %v\n%s", name, tt.do, err, out.String())
		}
	}
}
