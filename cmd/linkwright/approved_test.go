package main

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
)

// approve says which process follows it and how it is taken back, and who approved the same before.
func TestApprovalAnswers(t *testing.T) {
	units := []inventory.Unit{inventory.LinkUnit(api.Pair{Source: "west", Target: "east"})}
	one := inventory.Approval{Hash: inventory.HashOf(units), Units: units, By: "alice", At: time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)}
	what, back := one.Hash+"  link west/east", "\nTo take it back: linkwright approve "+one.Hash+" --withdraw --owner blue\n"
	for _, tt := range []struct {
		how     report.DecisionChange
		mode    cli.DryRun
		follows string
		want    string
	}{
		{report.Recorded, cli.DryRunNone, "F", "approved " + what + "\nF" + back},
		{report.Recorded, cli.DryRunClient, "", "would be approved " + what + "\n"},
		{report.Withdrawn, cli.DryRunNone, "F", "taken back: " + what + "\nF\n"},
		{report.Withdrawn, cli.DryRunServer, "", "would be taken back: " + what + "\n"},
		{"", cli.DryRunNone, "F", "already approved " + what + ": by alice at 2026-11-25T04:00:00Z" + back},
	} {
		var out strings.Builder
		a := approved{one, tt.how}.answer(cli.Writing{Mode: tt.mode}, object.Installation{Owner: "blue"}, tt.follows)
		if err := cli.Write(&out, report.Text, a); err != nil || out.String() != tt.want {
			t.Errorf("%q, %s: %v\n%s\nwant\n%s", tt.how, tt.mode, err, out.String(), tt.want)
		}
	}
}
