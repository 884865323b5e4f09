package report

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Events show who approved a removal, or took that back, and when.
func TestApprovalEvents(t *testing.T) {
	o := everything()
	o.Approvals = []Decision{
		{Kind: "Approve", Object: "0123456789ab", Removes: []string{"link \x1bwest/east"}, By: "ann\x1b[31m", At: o.At.Add(-2 * time.Second)},
		{Kind: "WithdrawApproval", Object: "ba9876543210", Removes: []string{"cluster east and 2 more"}, By: "bob", At: o.At.Add(-time.Second)},
	}
	var got []string
	for line := range strings.SplitSeq(writtenAs(t, o.EventList().Answer(true), Text), "\n") {
		if strings.Contains(line, "approval/") {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
	}
	want := []string{
		"2s Normal RemovalApproved approval/0123456789ab Approved is True: by ann[31m: removes link west/east",
		"1s Normal ApprovalWithdrawn approval/ba9876543210 Approved is False: taken back by bob: it allowed to remove cluster east and 2 more",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
