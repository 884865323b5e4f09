package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// linksIn returns a report of links from west, all in one phase for one reason.
func linksIn(n int, phase plan.Phase, why *object.Reason) Report {
	west := Cluster{Name: "west", Step: plan.Step{Cluster: "west"}}
	for i := range n {
		link := api.Pair{Source: "west", Target: api.ClusterName(fmt.Sprintf("t%02d", i))}
		west.Step.Rows = append(west.Step.Rows, plan.Row{End: object.End{Cluster: "west", Link: link}, Phase: phase, Why: why},
			plan.Row{End: object.End{Cluster: link.Target, Link: link}, Phase: plan.Ready})
	}
	return Report{Commit: "1", Head: "1", Clusters: []Cluster{west}}
}

// What a process finds at first is no transition, though it be bad: a restart repeats nothing. Later ones are, and many alike are one notice.
func TestNotices(t *testing.T) {
	invalid := object.Because(reason.SecretInvalid, "its type is Opaque")
	for name, tt := range map[string]struct {
		links   int
		reports []plan.Phase
		want    []string
	}{
		"blocked from the first":        {1, []plan.Phase{plan.Blocked, plan.Blocked}, nil},
		"blocked later":                 {1, []plan.Phase{plan.Ready, plan.Blocked}, []string{"link/west/t00 true SecretInvalid: link/west/t00 is Blocked, was Ready: its type is Opaque"}},
		"ready again":                   {1, []plan.Phase{plan.Blocked, plan.Ready}, []string{"link/west/t00 false Healthy: link/west/t00 is Ready, was Blocked"}},
		"no transition":                 {1, []plan.Phase{plan.Ready, plan.Ready}, nil},
		"eleven links are one notice":   {11, []plan.Phase{plan.Ready, plan.Blocked}, []string{" true SecretInvalid: 11 links, for example: link/west/t00 is Blocked, was Ready: its type is Opaque"}},
		"ten are ten":                   {10, []plan.Phase{plan.Blocked, plan.Ready}, ready(10)},
		"and again in the next process": {1, []plan.Phase{plan.Ready}, nil},
	} {
		n, got := Notices{}, []string(nil)
		for _, phase := range tt.reports {
			why := invalid
			if phase == plan.Ready {
				why = nil
			}
			var all []Notice
			n, all = n.Next(linksIn(tt.links, phase, why))
			for _, one := range all {
				got = append(got, fmt.Sprintf("%s %t %s: %s", one.Object, one.Warning, one.Reason, one.Message))
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// Every reason of a notice and of an event is in the table of reasons. What is Blocked, Denied or Stalled has a reason of its own.
func TestNoticesHaveReasonsOfTheTable(t *testing.T) {
	for message, states := range map[string][]string{
		LinkChanged:        {isReady, isProgressing, isSuspended, isLeaving, isGone, isReleased},
		BaseChanged:        {isReady, isProgressing, isSuspended, isLeaving, isGone},
		ClusterChanged:     {isReachable, isUnreachable, isGone},
		CleanupChanged:     {isPending, isGone},
		OrphansChanged:     {isFound, isGone},
		ConfinementChanged: {isUnconfined, isGone},
	} {
		for _, to := range states {
			n := transition{of: subject{message: message, cluster: "west"}, to: subjectState{is: to}}.notice()
			if _, ok := reason.Find(reason.Code(n.Reason)); !ok {
				t.Errorf("%s to %s: the table has no reason %s", message, to, n.Reason)
			}
		}
	}
	for _, a := range everything().EventList().Each() {
		e := a.Document.(output.Event)
		if _, ok := reason.Find(reason.Code(e.Reason)); !ok {
			t.Errorf("%s: the table has no reason %s", e.Object, e.Reason)
		}
	}
}

func ready(n int) (out []string) {
	for i := range n {
		out = append(out, strings.ReplaceAll("LINK false Healthy: LINK is Ready, was Blocked", "LINK", fmt.Sprintf("link/west/t%02d", i)))
	}
	return out
}
