package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// word is an event on one line: a sign for its level, message and attributes.
func word(e Event) string {
	out := map[Level]string{Debug: "debug", Info: "info", Warn: "warn", Error: "error"}[e.Level] + " " + e.Message
	for _, a := range e.Attrs {
		out += fmt.Sprintf(" %s=%v", a.Key, a.Value)
	}
	return out
}

// wordsOf are events but the summary of a sync.
func wordsOf(all []Event) (out []string) {
	for _, e := range all {
		if e.Message != SyncDone {
			out = append(out, word(e))
		}
	}
	return out
}

// A link west→east, as a report of both clusters shows it.
func reported(source, target plan.Row) Report {
	p := link("west", "east")
	source.End, target.End = at("west", p), at("east", p)
	target.Leaving = source.Leaving
	return Report{Commit: "a", Head: "a", Polled: time.Unix(1, 0), Clusters: []Cluster{
		{Name: "east", Step: plan.Step{Cluster: "east", Rows: []plan.Row{target}}},
		{Name: "west", Step: plan.Step{Cluster: "west", Rows: []plan.Row{source}}},
	}}
}

// unreadEast is a report of which east could not be read, or was not looked at.
func unreadEast(why *object.Reason) Report {
	r := reported(plan.Row{Phase: plan.Blocked, Why: object.Because(reason.TargetNotRead, "east gives no answer")}, plan.Row{})
	r.Clusters[0].Step = plan.Step{Denied: why}
	if why.Code != reason.Unknown {
		r.Clusters[0].Step.Cluster = "east"
	}
	return r
}

func TestTransitions(t *testing.T) {
	in := plan.Row{Phase: plan.Ready}
	ready := reported(in, in)
	with := func(s plan.Phase, code reason.Code) Report {
		return reported(plan.Row{Phase: s, Why: object.Because(code, "of that")}, in)
	}
	stage := func(stage health.Stage, code reason.Code) Report {
		return reported(plan.Row{Phase: plan.Ready, Health: []health.Verdict{{Stage: stage, Result: health.Failed, Why: object.Because(code, "of that")}}}, in)
	}
	leaving := reported(plan.Row{Phase: plan.Waiting, Leaving: true, Why: object.Because("Mirrors", "3 are left")}, plan.Row{Phase: plan.Waiting})
	gone := reported(in, in)
	gone.Clusters[0].Step.Rows, gone.Clusters[1].Step.Rows = nil, nil
	pending := gone
	pending.Clusters = []Cluster{gone.Clusters[0], gone.Clusters[1]}
	pending.Clusters[0].Cleanup = []state.Pending{{Link: link("west", "east"), Left: "its account"}}
	gated := reported(in, in)
	gated.Clusters[0].Step = plan.Step{Cluster: "east", Denied: object.Because("Replaced", "another cluster")}
	base := reported(in, in)
	base.Clusters[0].Step.Rows = append(base.Clusters[0].Step.Rows, plan.Row{End: at("east", api.Pair{}), Phase: plan.Blocked, Why: object.Because(reason.OverlayInvalid, "of that")})
	written := reported(in, in)
	written.Clusters[1].Outcomes = []object.Outcome{{Change: object.Change{End: at("west", link("west", "east"))}}}
	tests := []struct {
		name string
		was  Report
		is   Report
		want []string
	}{
		{"the first time, and all is well", Report{}, ready, nil},
		{"a new link", gone, written, []string{"info link changed link=west→east to=Ready"}},
		{"the first time, and it is not", Report{}, with(plan.Blocked, "GatewayIncomplete"), []string{"warn link changed link=west→east to=Blocked reason=GatewayIncomplete why=of that"}},
		{"no news", with(plan.Blocked, "GatewayIncomplete"), with(plan.Blocked, "GatewayIncomplete"), nil},
		{"another reason", with(plan.Blocked, "GatewayIncomplete"), with(plan.Blocked, "LinkerdNotInstalled"), []string{"warn link changed link=west→east from=Blocked to=Blocked reason=LinkerdNotInstalled why=of that"}},
		{"it comes right", with(plan.Blocked, "GatewayIncomplete"), ready, []string{"info link changed link=west→east from=Blocked to=Ready"}},
		{"denied", ready, with(plan.Denied, "PruneLimitExceeded"), []string{"warn link changed link=west→east from=Ready to=Denied reason=PruneLimitExceeded why=of that"}},
		{"suspended", ready, with(plan.Suspended, "Suspended"), []string{"info link changed link=west→east from=Ready to=Suspended reason=Suspended why=of that"}},
		{"it is changed", ready, reported(plan.Row{Phase: plan.Changing}, in), nil},
		{"a write fails", ready, with(plan.Changing, "Invalid"), []string{"warn link changed link=west→east from=Ready to=Stalled reason=Invalid why=of that"}},
		{"something is not ready", ready, with(plan.Waiting, "NotReady"), []string{"warn link changed link=west→east from=Ready to=Progressing reason=NotReady why=of that"}},
		{"a stage fails", ready, stage(health.CredentialVerified, "Refused"), []string{"warn link changed link=west→east from=Ready to=Stalled reason=CredentialNotAccepted why=access does not work: Refused"}},
		{"nobody leads for a while", ready, stage(health.ControllerLeads, "ControllerNotLeading"), []string{"info link changed link=west→east from=Ready to=Progressing reason=Progressing why=controller does not lead: ControllerNotLeading"}},
		{"it leaves", ready, leaving, []string{"info link changed link=west→east from=Ready to=Leaving"}},
		{"it is gone", leaving, gone, []string{"info link changed link=west→east from=Leaving to=Removed"}},
		{"a cluster is down", ready, unreadEast(object.Because(reason.Unreachable, "down")), []string{
			"warn cluster changed cluster=east from=Reachable to=Unreachable reason=Unreachable why=down",
			"warn link changed link=west→east from=Ready to=Blocked reason=TargetNotRead why=east gives no answer",
		}},
		{"a cluster may not be written", ready, gated, []string{"warn cluster changed cluster=east from=Reachable to=Denied reason=Replaced why=another cluster"}},
		{"a base is blocked", ready, base, []string{"warn base changed cluster=east to=Blocked reason=OverlayInvalid why=of that"}},
		{"and no more", base, ready, []string{"info base changed cluster=east from=Blocked to=Ready"}},
		{"cleanup is pending", gone, pending, []string{"warn cleanup changed cluster=east link=west→east to=Pending why=linkwright removes it once the cluster can be read: its account"}},
		{"and done", pending, gone, []string{"info cleanup changed cluster=east link=west→east from=Pending to=Removed"}},
	}
	for _, tt := range tests {
		h, _ := History{}.Next(tt.was, "")
		h, got := h.Next(tt.is, "")
		if diff := cmp.Diff(tt.want, wordsOf(got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
		if _, again := h.Next(tt.is, ""); len(wordsOf(again)) > 0 {
			t.Errorf("%s: told again: %v", tt.name, wordsOf(again))
		}
	}
}

// While a cluster was not looked at yet, what was known of it and its links stands.
func TestNotLookedAtIsNoTransition(t *testing.T) {
	h, _ := History{}.Next(reported(plan.Row{Phase: plan.Ready}, plan.Row{Phase: plan.Ready}), "")
	why := object.Because(reason.Unknown, "linkwright has not read cluster east yet")
	r := reported(plan.Row{Phase: Unseen, Why: why}, plan.Row{Phase: Unseen, Why: why})
	for i := range r.Clusters {
		r.Clusters[i].Step.Cluster, r.Clusters[i].Step.Denied = "", why
	}
	r.When = Syncing
	h, got := h.Next(r, "")
	if len(got) > 0 {
		t.Errorf("told: %v", wordsOf(got))
	}
	_, got = h.Next(reported(plan.Row{Phase: plan.Blocked, Why: object.Because(reason.GatewayIncomplete, "of that")}, plan.Row{Phase: plan.Ready}), "")
	if want := []string{"warn link changed link=west→east from=Ready to=Blocked reason=GatewayIncomplete why=of that"}; !cmp.Equal(want, wordsOf(got)) {
		t.Errorf("then: %v", wordsOf(got))
	}
}

// A head that is not applied is named, beside the revision that is: once, until it is another, or over.
func TestHeads(t *testing.T) {
	in := plan.Row{Phase: plan.Ready}
	applied, refused, next := reported(in, in), reported(in, in), reported(in, in)
	refused.Head, refused.Problems = "b", []api.Problem{{Pos: api.Pos{File: "f.yaml", Line: 3, Col: 1}, Message: "a typo"}}
	next.Commit, next.Head = "c", "c"
	unread := applied
	unread.Head, unread.Polled, unread.Clusters = "", time.Time{}, nil
	var h History
	for i, step := range []struct {
		r       Report
		trouble string
		want    []string
	}{
		{applied, "", nil},
		{refused, "the declarations are invalid", []string{
			"warn declarations have a problem commit=b problem=f.yaml:3:1: a typo",
			"error revision not applied commit=b applied=a error=the declarations are invalid",
		}},
		{refused, "the declarations are invalid", nil},
		{next, "", []string{"info sync recovered commit=c was=b the declarations are invalid", "info revision applied commit=c was=a"}},
		{unread, "no route to host", []string{"error sync failed commit=a error=no route to host"}},
		{next, "", []string{"info sync recovered commit=c was=no route to host"}},
	} {
		var got []Event
		h, got = h.Next(step.r, step.trouble)
		if diff := cmp.Diff(step.want, wordsOf(got)); diff != "" {
			t.Errorf("step %d: -want +got\n%s", i, diff)
		}
	}
}

// The summary of a sync is quiet if nothing was written and nothing changed, and has seconds. It warns of clusters that were not read, once.
func TestSyncDone(t *testing.T) {
	in := plan.Row{Phase: plan.Ready}
	quiet := reported(in, in)
	quiet.Took = 1500 * time.Millisecond
	wrote := quiet
	wrote.Clusters = []Cluster{quiet.Clusters[0], quiet.Clusters[1]}
	wrote.Clusters[0].Outcomes = []object.Outcome{{}}
	between := quiet
	between.When = Between
	const rest = " links=1 blocked=0 denied=0 clustersUnread=0 clustersDenied=0"
	for _, tt := range []struct {
		r    Report
		want string
	}{
		{quiet, "debug sync done commit=a seconds=1.5 written=0 failed=0" + rest},
		{wrote, "info sync done commit=a seconds=1.5 written=1 failed=0" + rest},
		{between, ""},
	} {
		_, got := History{}.Next(tt.r, "")
		said := ""
		for _, e := range got {
			said += word(e)
		}
		if said != tt.want {
			t.Errorf("says %q, want %q", said, tt.want)
		}
	}
	first := Report{Commit: "a", Clusters: []Cluster{{Name: "east"}}}
	if got := first.done(true); got.Level != Info {
		t.Errorf("a sync that ended before it came to any cluster: %s", word(got))
	}
	h := History{}
	for _, level := range []string{"warn", "debug"} {
		var got []Event
		h, got = h.Next(unreadEast(object.Because(reason.Unreachable, "no route")), "")
		want := level + " sync done commit=a seconds=0 written=0 failed=0 links=1 blocked=1 denied=0 clustersUnread=1 clustersDenied=0 unread=east"
		if said := word(got[len(got)-1]); said != want {
			t.Errorf("says %q, want %q", said, want)
		}
	}
}

// Writes are told one by one, with whose change they take back, and without secrets.
func TestWritten(t *testing.T) {
	key := object.Key{Kind: "Secret", Namespace: "linkerd", Name: "cluster-credentials-east"}
	const secret = "a-value-that-nobody-may-see"
	body := object.NewBody([]byte(`{"kind":"Secret","stringData":{"k":"` + secret + `"}}`))
	c := object.Change{End: at("west", link("west", "east")), Action: object.Update, Key: key, Object: object.Object{Key: key, Body: body}, Why: object.Reason{Code: reason.Drift, Message: "changed"}}
	c.Was.ForeignManagers = unique.Make("argocd")
	failed := c
	failed.Why = object.Reason{Code: reason.Missing, Message: "it does not exist yet"}
	base := object.Change{End: at("west", api.Pair{}), Action: object.Create, Key: object.Key{Kind: "Namespace", Name: "n"}, Why: failed.Why}
	var got []string
	for _, e := range Written("west", "a", []object.Outcome{
		{Change: c}, {Change: failed, Err: errors.New("update " + key.String() + ": the server said " + secret)}, {Change: base},
	}) {
		got = append(got, word(e))
	}
	want := []string{
		"info object written cluster=west link=west→east object=" + key.String() + " verb=update reason=Drift why=changed commit=a manager=argocd",
		"warn object not written cluster=west link=west→east object=" + key.String() + " verb=update reason=Missing why=it does not exist yet commit=a error=the server said <redacted>",
		"info object written cluster=west object=Namespace n verb=create reason=Missing why=it does not exist yet commit=a",
	}
	if diff := cmp.Diff(want, got); diff != "" || strings.Contains(strings.Join(got, ""), secret) {
		t.Errorf("-want +got\n%s", diff)
	}
}
