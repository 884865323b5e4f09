package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/decide"
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
		follows decide.Following
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

// What the record says is denied comes with the command that approves it, or with who approved it.
func TestDenialOfTheRecord(t *testing.T) {
	now := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)
	units := []inventory.Unit{inventory.LinkUnit(api.Pair{Source: "west", Target: "east"})}
	hash := inventory.HashOf(units)
	given := func(ago time.Duration) []inventory.Approval {
		return []inventory.Approval{{Hash: hash, Units: units, By: "alice", At: now.Add(-ago)}}
	}
	denied := &inventory.Denial{Hash: hash, Units: units, Exceeded: []string{"1 cluster"}}
	south := []inventory.Unit{inventory.LinkUnit(api.Pair{Source: "west", Target: "south"})}
	both := slices.Concat(units, south)
	of := func(by string, ago time.Duration, units ...inventory.Unit) inventory.Approval {
		return inventory.Approval{Hash: inventory.HashOf(units), Units: units, By: by, At: now.Add(-ago)}
	}
	parts := &inventory.Denial{Hash: inventory.HashOf(both), Units: both, Exceeded: []string{"2 links"}}
	for name, tt := range map[string]struct {
		known     inventory.Record
		says, how string
		given     bool
	}{
		"nothing":      {inventory.Record{Approvals: given(0)}, "", "", false},
		"denied":       {inventory.Record{Denied: denied}, "or run linkwright approve " + hash + " --owner blue;", "restore the declarations, or run linkwright approve " + hash + " --owner blue", false},
		"approved":     {inventory.Record{Denied: denied, Approvals: given(0)}, "approved by alice at 2026-11-25T04:00:00Z: the next sync removes link west/east; to take it back, run linkwright approve " + hash + " --owner blue --withdraw", "approved by alice at 2026-11-25T04:00:00Z: the next sync removes it", true},
		"approved ago": {inventory.Record{Denied: denied, Approvals: given(inventory.ApprovalLife)}, "or run linkwright approve", "restore the declarations, or run linkwright approve " + hash + " --owner blue", false},
		"approved in parts": {
			inventory.Record{Denied: parts, Approvals: []inventory.Approval{of("alice", 0, units...), of("bob", time.Hour, south...), of("carol", 0, both[0])}},
			"the next sync removes link west/east, link west/south; to take it back, run linkwright approve " + hash + " --owner blue --withdraw or linkwright approve " + inventory.HashOf(south) + " --owner blue --withdraw",
			"approved by alice at 2026-11-25T04:00:00Z (link west/east) and by bob at 2026-11-25T03:00:00Z (link west/south): the next sync removes it", true,
		},
		"one part": {inventory.Record{Denied: parts, Approvals: given(0)}, "or run linkwright approve " + parts.Hash, "restore the declarations, or run linkwright approve " + parts.Hash + " --owner blue", false},
		"a part ago": {
			inventory.Record{Denied: parts, Approvals: []inventory.Approval{of("alice", 0, units...), of("bob", inventory.ApprovalLife, south...)}},
			"or run linkwright approve " + parts.Hash, "restore the declarations, or run linkwright approve " + parts.Hash + " --owner blue", false,
		},
		"not known": {inventory.Record{Denied: &inventory.Denial{}}, "no longer has what was denied", "", false},
	} {
		why, approval := denial(tt.known, object.Installation{Owner: "blue"}, now)
		switch {
		case (why == nil) != (tt.says == ""), why != nil && !strings.Contains(why.Message, tt.says):
			t.Errorf("%s: %v, want %q", name, why, tt.says)
		case approval != report.Approval{How: tt.how, Given: tt.given}:
			t.Errorf("%s: %+v", name, approval)
		}
	}
}
