package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object/reason"
)

// A cluster without policies is reported, with the command that installs them; only --require-confinement has nothing written there.
func TestUnconfined(t *testing.T) {
	for _, tt := range []struct {
		gap              string
		anyone, required bool
		code             string
	}{
		{"", false, true, ""},
		{"policies are missing", false, false, string(reason.NotConfined)},
		{"policies are missing", false, true, string(reason.NotConfined)},
		{"no ServiceAccount", true, true, string(reason.NotServiceAccount)},
	} {
		s := linked(t, all)
		s.snapshot.RequireConfinement = tt.required
		s.live["west"].Gap, s.live["west"].NotServiceAccount = tt.gap, tt.anyone
		step := Next(s.now(), "west", s.renderer())
		if reported := step.Unconfined; (reported == nil) != (tt.code == "") || reported != nil &&
			(string(reported.Code) != tt.code || !strings.Contains(reported.Message, tt.gap) || !strings.Contains(reported.Message, "linkwright cluster add west PATH")) {
			t.Errorf("%+v: reported %v", tt, reported)
		}
		if denied := tt.required && tt.code != ""; (step.Denied != nil) != denied {
			t.Errorf("%+v: refused %v", tt, step.Denied)
		}
	}
}
