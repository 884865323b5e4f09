package report

import (
	"strings"
	"testing"
	"time"
)

// Status shows a decision in one line, in every format; what nobody understands is shown as such.
func TestDecisionsAreShown(t *testing.T) {
	at := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)
	o := Overview{Opening: Opening{Decisions: []Decision{
		{Kind: "Suspend", Object: "west/east", By: "alice", At: at, Until: at.Add(time.Hour), Reason: "incident 42"},
		{Kind: "AcceptCluster", Object: "east", UID: "1", By: "bob\x1b[31m"},
		{Object: `{"kind":1}`, Unread: true},
	}}}
	r := Report{Installation: Installation{Opening: &o.Opening}}
	for format, words := range map[Format][]string{
		Text:     {"DECISION", "Suspend        west/east", "2026-11-25T05:00:00Z  incident 42", "east=1", `{"kind":1}`, "not understood"},
		Markdown: {"| Suspend | west/east |", "incident 42"},
		JSON:     {`"object": "west/east"`, `"understood": false`},
	} {
		var out strings.Builder
		if err := o.Write(&out, format); err != nil {
			t.Fatal(err)
		}
		var compared strings.Builder // with a repository
		if err := r.StatusAnswer().Write(&compared, format); err != nil {
			t.Fatal(err)
		}
		for _, word := range append(words, "bob") {
			if !strings.Contains(out.String(), word) || !strings.Contains(compared.String(), word) {
				t.Errorf("%s does not say %q:\n%s%s", format, word, out.String(), compared.String())
			}
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s acts on a terminal:\n%q", format, out.String())
		}
	}
	var none strings.Builder
	if err := (Overview{}).Write(&none, Text); err != nil || strings.Contains(none.String(), "DECISION") {
		t.Errorf("without any: %v\n%s", err, none.String())
	}
}
