package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
)

// A suspended link that does not work is not ready, its message names the stage, and the next step is to resume it with the command. The exit code
// shows that it does not work, unless it was never written.
func TestSuspendedLinkThatDoesNotWork(t *testing.T) {
	pair := link("west", "east")
	why := "suspended by alice (to resume, ask bob): to resume, run linkwright resume west/east; 1 change waits for that"
	gone := []health.Verdict{{Stage: health.ControllerLeads, Result: health.Failed, Why: object.Because(reason.ControllerMissing, "Deployment.apps linkerd-multicluster/controller-east is missing")}}
	recorded := object.Condition{Type: object.Ready, Status: object.True, Reason: reason.Healthy}
	for name, tt := range map[string]struct {
		stages           []health.Verdict
		recorded         []object.Condition
		ready, more, do  string
		worksAsFarAsSeen bool
	}{
		"works":         {[]health.Verdict{{Stage: health.ControllerLeads, Result: health.Passed}}, []object.Condition{recorded}, object.True, "", "If linkwright is to write again, remove suspend, or run linkwright resume as the message says.", true},
		"does not work": {gone, []object.Condition{recorded}, object.False, "; it is not ready: ControllerMissing: Deployment.apps linkerd-multicluster/controller-east is missing", "Resume it, so that linkwright repairs it: run linkwright resume west/east.", false},
		"never written": {gone, nil, object.False, "; it is not ready: ControllerMissing: Deployment.apps linkerd-multicluster/controller-east is missing", "Resume it, so that linkwright repairs it: run linkwright resume west/east.", true},
	} {
		suspended := plan.Row{Phase: plan.Suspended, Why: object.Because(reason.Suspended, "%s", why).Running("linkwright resume west/east"), Health: tt.stages}
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

// Events show who suspended and resumed what, and when, as the record has it: once, although the inventory has a condition, too.
func TestSuspensionEvents(t *testing.T) {
	o := everything()
	at := func(d time.Duration) time.Time { return o.At.Add(d) }
	o.Links[0].Conditions = append(o.Links[0].Conditions, object.Condition{Type: object.Suspended, Status: object.True, Reason: reason.Suspended, Since: at(-time.Minute)})
	o.Links[2].Conditions = append(slices.Clone(o.Links[2].Conditions), object.Condition{Type: object.Suspended, Status: object.True, Reason: reason.Waiting, Since: at(-time.Minute)})
	o.Suspensions = []Decision{
		{Kind: "Resume", Object: "north", At: at(-time.Second)},
		{Kind: "Resume", Object: "west/south", By: "carol", At: at(-2 * time.Second)},
		{Kind: "Suspend", Object: "west/north", By: "alice", At: at(-time.Hour), Until: at(-3 * time.Second)},
		{Kind: "Suspend", Object: "west/east", By: "bob", At: at(-4 * time.Second), Until: at(time.Hour), Reason: "incident\x1b[31m 42"},
	}
	texts := func(text string) (out []string) {
		for l := range strings.SplitSeq(text, "\n") {
			if strings.Contains(l, "Suspended is") {
				out = append(out, strings.Join(strings.Fields(l), " "))
			}
		}
		return out
	}
	until := at(time.Hour).Format(time.RFC3339)
	want := []string{
		"60s Normal Suspended link/east/west Suspended is True",
		"4s Normal Suspended link/west/east Suspended is True: by bob until " + until + ": incident[31m 42",
		"3s Normal Resumed link/west/north Suspended is False: its time is over",
		"2s Normal Resumed link/west/south Suspended is False: by carol",
		"1s Normal Resumed cluster/north Suspended is False: its time is over",
	}
	if got := texts(writtenAs(t, o.EventList().Answer(true), Text)); !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	a, _ := o.LinkAnswer(link("west", "north"))
	if got := texts(writtenAs(t, a, Text)); !slices.Equal(got, []string{want[2], want[4]}) {
		t.Errorf("describe link: %q", got)
	}
	a, _ = o.ClusterAnswer("east")
	if got := texts(writtenAs(t, a, Text)); !slices.Equal(got, []string{want[0], want[1]}) {
		t.Errorf("describe cluster: %q", got)
	}
}

// A person's suspension ended, and the declaration's did not: events show both.
func TestSuspensionEventsOfDeclared(t *testing.T) {
	o := everything()
	l := &o.Links[0]
	l.Conditions = append(slices.Clone(l.Conditions), object.Condition{Type: object.Suspended, Status: object.True, Reason: reason.Suspended, Since: o.At.Add(-time.Minute)})
	o.Suspensions = []Decision{{Kind: "Resume", Object: l.Pair.Name(), By: "carol", At: o.At.Add(-time.Second)}}
	got := writtenAs(t, o.EventList().Answer(true), Text)
	if !strings.Contains(got, "Suspended is True") || !strings.Contains(got, "Suspended is False: by carol") {
		t.Errorf("events:\n%s", got)
	}
}

// The page of a suspended cluster says so, and why, whether the repository was read or not.
func TestSuspendedCluster(t *testing.T) {
	r := ailing()
	for i := range r.Clusters {
		if r.Clusters[i].Name == "west" {
			r.Clusters[i].Step.Rows = append(r.Clusters[i].Step.Rows, plan.Row{End: object.End{Cluster: "west"}, Phase: plan.Suspended, Why: plan.SuspendedCluster("west")})
		}
	}
	a, _ := r.ClusterAnswer("west")
	got := writtenAs(t, a, Text)
	for _, want := range []string{"Status:     Suspended\n", "Reason:     Suspended\n", "Base:       Suspended\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q\n%s", want, got)
		}
	}
}
