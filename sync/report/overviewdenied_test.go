package report

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// overLimit is an installation whose applied revision may not remove its one link.
func overLimit() Overview {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	denied := []object.Condition{
		{Type: object.Ready, Status: object.False, Reason: reason.Denied, Message: "PruneLimitExceeded", Since: at},
		{Type: object.Stalled, Status: object.True, Reason: reason.Denied, Message: "PruneLimitExceeded", Since: at},
	}
	later := denied[0]
	later.Since = at.Add(time.Second)
	o := Overview{
		Links:    []RecordedLink{{Pair: api.Pair{Source: "west", Target: "east"}, Source: RecordedEnd, Target: RecordedEnd, Conditions: denied, Denied: &later}},
		Clusters: []RecordedCluster{{Name: "east", Applied: "0123456789abcdef"}, {Name: "west", Applied: "0123456789abcdef"}},
	}
	o.Revision = Revision{
		Applied: "0123456789abcdef", Observed: "0123456789abcdef", Since: at, AppliedSince: at,
		Denied:   object.Because(reason.PruneLimitExceeded, "this revision would remove 2 clusters; run linkwright approve 0123456789ab --owner blue").Running("linkwright approve 0123456789ab --owner blue"),
		Approval: Approval{How: "run linkwright approve 0123456789ab --owner blue"},
	}
	return o
}

// What is denied is said before the links, in every format, and is not as declared.
func TestDeniedIsShown(t *testing.T) {
	o := overLimit()
	for _, f := range []Format{Text, Markdown, JSON, YAML} {
		var out strings.Builder
		if err := o.Write(&out, f); err != nil || !strings.Contains(out.String(), "linkwright approve 0123456789ab") {
			t.Errorf("%s: %v\n%s", f, err, out.String())
		}
	}
	if o.AsDeclared() {
		t.Error("something is denied, and all is as declared")
	}
}

// Every list that shows the applied revision, and the page of a link, says what is denied and which command approves it.
func TestDeniedIsShownEverywhere(t *testing.T) {
	o := overLimit()
	link, _ := o.LinkAnswer(o.Links[0].Pair)
	const why = "PruneLimitExceeded: this revision would remove 2 clusters; run linkwright approve 0123456789ab --owner blue"
	for name, tt := range map[string]struct {
		answer Answer
		want   []string
	}{
		"get revisions": {o.RevisionList().Answer(true), []string{"0123456789ab  Applied", "east,west  " + why}},
		"events":        {o.EventList().Answer(true), []string{"Warning  PruneLimitExceeded  revision/0123456789ab  Applied is True: this revision would remove 2 clusters; run linkwright approve 0123456789ab"}},
		"describe link": {link, []string{"Status:     Denied", "Reason:     PruneLimitExceeded", "run linkwright approve 0123456789ab", "Next step:  Restore the declarations", "or approve it: linkwright approve 0123456789ab --owner blue (see https://github.com/linkwright/linkwright/blob/main/docs/explanation/prune.md#limits).\n"}},
		"get links":     {o.LinkList().Answer(true), []string{"PruneLimitExceeded: run linkwright approve 0123456789ab --owner blue"}},
	} {
		text := writtenAs(t, tt.answer, Text)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %q:\n%s", name, want, text)
			}
		}
		if n := strings.Count(text, "Ready is False: PruneLimitExceeded"); n > 1 {
			t.Errorf("%s shows one condition of both ends %d times:\n%s", name, n, text)
		}
	}
}

// A denied removal has the same code and leaves for programs too, as with --repo.
func TestDeniedRemovalLeaves(t *testing.T) {
	o := overLimit()
	o.Links[0].RemovalDenied = true
	got := o.document().Links[0]
	if !got.Leaving || got.Status != string(Denied) || got.Reason.Code != reason.PruneLimitExceeded || got.Reason.Message != o.Revision.Approval.How {
		t.Errorf("leaving %v, status %s, reason %v", got.Leaving, got.Status, got.Reason)
	}
}

// What is denied and was approved since says who approved it, and no more how to approve it.
func TestApprovedIsShown(t *testing.T) {
	o := overLimit()
	o.Revision.Denied = object.Because(reason.PruneLimitExceeded, "approved by alice: the next sync removes link west/east")
	o.Revision.Approval = Approval{How: "approved by alice: the next sync removes it", Given: true}
	link, _ := o.LinkAnswer(o.Links[0].Pair)
	for name, tt := range map[string]struct {
		answer Answer
		want   string
	}{
		"status":        {o.Answer(), "\nApproved by alice: the next sync removes link west/east.\n"},
		"get links":     {o.LinkList().Answer(true), "PruneLimitExceeded: approved by alice: the next sync removes it\n"},
		"get revisions": {o.RevisionList().Answer(true), "approved by alice"},
		"describe link": {link, "Next step:  Wait until a running daemon follows the approval, or run linkwright sync --repo URL."},
	} {
		text := writtenAs(t, tt.answer, Text)
		if !strings.Contains(text, tt.want) || strings.Contains(text, "linkwright approve") {
			t.Errorf("%s: want %q, and no command that approves it:\n%s", name, tt.want, text)
		}
	}
	if o.AsDeclared() {
		t.Error("something is approved and still there, and all is as declared")
	}
}

// After an approval, status --repo says who gave it and that the next sync follows it, unless another revision was observed.
func TestApprovedIsShownWithRepository(t *testing.T) {
	const line = "Approved by alice: the next sync removes link west/east.\n"
	opening := overLimit().Opening
	opening.Revision.Denied = object.Because(reason.PruneLimitExceeded, "approved by alice: the next sync removes link west/east")
	opening.Revision.Approval = Approval{Given: true}
	r := Report{Installation: Installation{Opening: &opening}}
	for _, f := range []Format{Text, Markdown} {
		if text := writtenAs(t, r.StatusAnswer(), f); !strings.Contains(text, line) {
			t.Errorf("%s: want %q:\n%s", f, line, text)
		}
	}
	if text := writtenAs(t, r.StatusAnswer(), JSON); !strings.Contains(text, `"denied": "approved by alice`) {
		t.Errorf("json:\n%s", text)
	}
	opening.Revision.Why = object.Because(reason.NotAppliedYet, "no sync has applied it yet")
	if text := writtenAs(t, r.StatusAnswer(), Text); strings.Contains(text, "Approved by") {
		t.Errorf("another revision was observed:\n%s", text)
	}
}

// A recorded denial names the protected objects, and a link that cannot be rendered names the cause. The next step is that of the cause.
func TestRecordedCause(t *testing.T) {
	for _, tt := range []struct {
		code                        reason.Code
		message, status, says, todo string
	}{
		{
			reason.Denied, "PruneDisabled: Secret a/b and 2 more: remove the annotation", "Denied", "PruneDisabled: Secret a/b and 2 more",
			"If linkwright is to delete it, remove the annotation: kubectl -n NAMESPACE annotate KIND NAME linkwright.dev/prune-.",
		},
		{reason.NotRendered, "GatewayIncomplete", "Blocked", "NotRendered: GatewayIncomplete", "Repair the gateway"},
		{reason.NotRendered, "renders", "Blocked", "NotRendered: renders", "See the reason of the source's end"},
	} {
		ready := object.Condition{Type: object.Ready, Status: object.False, Reason: tt.code, Message: tt.message}
		pair := api.Pair{Source: "west", Target: "east"}
		o := Overview{Links: []RecordedLink{{Pair: pair, Source: RecordedEnd, Target: RecordedEnd, Conditions: []object.Condition{ready}}}}
		link, _ := o.LinkAnswer(pair)
		var status, page strings.Builder
		if err := o.Write(&status, Text); err != nil || !strings.Contains(status.String(), tt.status+"       "+tt.says) {
			t.Errorf("%s: %v, want %q in\n%s", tt.message, err, tt.says, status.String())
		}
		if err := link.Write(&page, Text); err != nil || !strings.Contains(page.String(), "Next step:  "+tt.todo) {
			t.Errorf("%s: %v, want %q in\n%s", tt.message, err, tt.todo, page.String())
		}
	}
}
