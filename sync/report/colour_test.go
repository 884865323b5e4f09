package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// Statuses are painted where they are told as such, and nowhere else; without colours the text is the same.
func TestColoured(t *testing.T) {
	r := ends(&plan.Row{Phase: plan.Blocked, Why: object.Because("Why", "Ready is False")}, &plan.Row{Phase: plan.Ready})
	var plain, coloured bytes.Buffer
	for w, of := range map[*bytes.Buffer]bool{&plain: false, &coloured: true} {
		err := r.Write(w, Text)
		if of {
			w.Reset()
			err = r.Write(Coloured{w}, Text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text := coloured.String()
	for _, want := range []string{"west→east  \x1b[31mBlocked\x1b[0m  Why", "1 \x1b[31mBlocked\x1b[0m;", "Why: Ready is False"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%q", want, text)
		}
	}
	if got := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(text); got != plain.String() {
		t.Errorf("without colours\n%q, want\n%q", got, plain.String())
	}
}

// Programs get no colours.
func TestColouredJSON(t *testing.T) {
	for _, f := range []Format{JSON, Markdown} {
		var out bytes.Buffer
		if err := ends(&plan.Row{Phase: plan.Ready}, &plan.Row{Phase: plan.Ready}).Write(Coloured{&out}, f); err != nil || strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: %v, %q", f, err, out.String())
		}
	}
}

func TestColouredCheck(t *testing.T) {
	var out bytes.Buffer
	answer, _ := ends(&plan.Row{Phase: plan.Ready}, &plan.Row{Phase: plan.Ready}).CheckAnswer()
	if err := answer.Write(Coloured{&out}, Table); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\x1b[32m√\x1b[0m cluster is read") || !strings.HasSuffix(out.String(), "are \x1b[32m√\x1b[0m\n") {
		t.Errorf("%q", out.String())
	}
}
