package report

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// A link that leaves is not as declared. It says what keeps it, and the next step is about its removal.
func TestLinksThatLeave(t *testing.T) {
	pair := link("west", "east")
	forbidden := object.Because(reason.Forbidden, "delete Service default/web-east is not allowed: run linkwright cluster add --all PATH --sweep")
	recorded := &object.Condition{Type: object.Ready, Status: object.False, Reason: forbidden.Code, Message: forbidden.Message}
	by := object.Because(reason.Suspended, "suspended by alice").Running("linkwright resume west/east")
	waits := &plan.Row{Phase: plan.Waiting, Leaving: true, Why: object.Because(reason.WaitingForSource, "the access of cluster west stays until it has removed its end of the link")}
	for name, tt := range map[string]struct {
		source, target *plan.Row
		recorded       *object.Condition
		status, says   string
		step           string
	}{
		"a write failed, and will be tried again": {&plan.Row{Phase: plan.Changing, Leaving: true}, waits, recorded, "Stalled (leaving)", "it is being removed: " + forbidden.Message, "Run the command in the message."},
		"a write failed in this sync":             {&plan.Row{Phase: plan.Changing, Leaving: true, Failed: true, Why: forbidden}, waits, nil, "Stalled (leaving)", forbidden.Message, "Run the command in the message."},
		"a write failed, and the target is down":  {&plan.Row{Phase: plan.Changing, Leaving: true, Failed: true, Why: forbidden}, &plan.Row{Phase: Unseen, Leaving: true, Why: object.Because(reason.Unknown, "cluster east cannot be read")}, nil, "Stalled (leaving)", forbidden.Message, "Run the command in the message."},
		"a write failed in the target":            {&plan.Row{Phase: plan.Waiting, Leaving: true, Why: object.Because(reason.Draining, "mirrors are left")}, &plan.Row{Phase: plan.Changing, Leaving: true, Failed: true, Why: forbidden}, nil, "Stalled (leaving)", forbidden.Message, "Run the command in the message."},
		"nothing failed":                          {&plan.Row{Phase: plan.Changing, Leaving: true}, waits, nil, "Leaving", "its removal has not ended; next: further changes in west", ""},
		"people suspended it":                     {&plan.Row{Phase: plan.Suspended, Leaving: true, Why: by}, &plan.Row{Phase: plan.Suspended, Leaving: true, Why: by}, nil, "Suspended (leaving)", "suspended by alice", "Resume it, so that linkwright removes it: run linkwright resume west/east."},
	} {
		r := ends(tt.source, tt.target)
		r.Recorded = []LinkConditions{{Link: pair, Conditions: []object.Condition{{Type: object.Ready, Status: object.True, Reason: reason.Healthy}}, Failed: tt.recorded}}
		l := r.document().links[0]
		if l.words() != tt.status || l.Ready != object.False || l.Reason == nil || l.Reason.Message != tt.says || r.Works() {
			t.Errorf("%s: %s, ready %s, works %t: %+v; want %s: %s", name, l.words(), l.Ready, r.Works(), l.Reason, tt.status, tt.says)
		}
		if _, passes := r.CheckAnswer(); passes != !strings.HasPrefix(tt.status, "Stalled") {
			t.Errorf("%s: check passes: %t", name, passes)
		}
		var out strings.Builder
		a, _ := r.LinkAnswer(api.Pair{Source: "west", Target: "east"})
		if err := a.Write(&out, Text); err != nil || tt.step != "" && !strings.Contains(out.String(), "Next step:  "+tt.step) || strings.Contains(out.String(), "being set up") {
			t.Errorf("%s: want next step %q: %v\n%s", name, tt.step, err, out.String())
		}
	}
}
