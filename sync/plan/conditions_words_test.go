package plan

import (
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// The write of a condition, and so the log, gives its reason in the words of status.
func TestExplained(t *testing.T) {
	for _, tt := range []struct {
		code          reason.Code
		message, want string
	}{
		{reason.Healthy, "", "Healthy"},
		{reason.NotRendered, "GatewayIncomplete", "NotRendered: GatewayIncomplete"},
		{reason.ControllerMissing, "controller does not lead: ControllerMissing", "controller does not lead: ControllerMissing"},
	} {
		if got := explained(object.Condition{Reason: tt.code, Message: tt.message}); got != tt.want {
			t.Errorf("explained(%s, %q): %q, want %q", tt.code, tt.message, got, tt.want)
		}
	}
}
