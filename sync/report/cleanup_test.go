package report

import (
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// owing is a fleet of which all is in place, but for what two clusters still hold of removed links.
func owing() Report {
	now := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	owed := func(source, target api.ClusterName, old time.Duration) state.Pending {
		return state.Pending{Link: link(source, target), Since: now.Add(-old), Left: "account of " + string(source)}
	}
	gone := object.Because(reason.Unreachable, "the cluster is no longer declared, and linkwright cannot clean up there yet: if it never comes back, run linkwright abandon east; no route to host")
	return Report{Commit: commit, At: now, Clusters: []Cluster{
		{Name: "east", Step: plan.Step{Cluster: "east", Denied: gone}, Cleanup: []state.Pending{
			owed("a", "east", 90*24*time.Hour), owed("b", "east", 47*time.Hour), owed("c", "east", 30*time.Minute), owed("d", "east", time.Second),
		}},
		{Name: "west", Step: step("west"), Cleanup: []state.Pending{owed("west", "north", 3*time.Hour)}},
	}}
}

// TestAbandonedStatus: a cluster that people gave up is not Ready, and nothing is cleaned up there any more.
func TestAbandonedStatus(t *testing.T) {
	r := owing()
	r.Clusters[0].Step = step("east", plan.Row{End: at("east", api.Pair{}), Phase: plan.Removed, Why: object.Because(reason.Abandoned, "the cluster was abandoned: objects stay")})
	var out strings.Builder
	if err := r.StatusAnswer().Write(&out, Text); err != nil {
		t.Fatal(err)
	}
	for row := range strings.SplitSeq(out.String(), "\n") {
		if strings.HasPrefix(row, "east") && !strings.Contains(strings.Join(strings.Fields(row), " "), "east Unknown Abandoned: the cluster was abandoned") {
			t.Errorf("an abandoned cluster is shown as %q", row)
		}
	}
}

// A cleanup that is younger than the clock says has no age, rather than a wrong one.
func TestAgeOfTheFuture(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Hour: "less than a minute", time.Minute: "1 min", 3 * time.Hour: "3 h", 72 * time.Hour: "3 days"} {
		if got := old(d); got != want {
			t.Errorf("%s is as old as %q, want %q", d, got, want)
		}
	}
}

// Without a repository, too, an abandoned cluster that cannot be read has no pending cleanup: one row says who gave it up, and the decision lists
// what stays. One that can be read is cleaned up first.
func TestAbandonedOverview(t *testing.T) {
	now := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)
	left := []state.Pending{{Link: link("a", "east"), Since: now.Add(-time.Hour), Left: "account of a"}}
	for name, tt := range map[string]struct {
		why     *object.Reason
		decided bool
		row     string
		pending bool
	}{
		"decided":          {object.Because(reason.Unreachable, "no route to host"), true, "east Unknown Abandoned: by alice at 2026-11-25T03:59:00Z: the next sync gives the cluster up, and what it holds of 1 removed link stays there; it cannot be read: Unreachable: no route to host", false},
		"nobody decided":   {object.Because(reason.Unreachable, "no route to host"), false, "east Unknown Unreachable: no route to host\neast CleanupPending of removed links: a→east", true},
		"it can be read":   {nil, true, "east CleanupPending of removed links: a→east", true},
		"nothing is wrong": {nil, false, "east CleanupPending of removed links: a→east", true},
	} {
		o := Overview{Opening: Opening{At: now}, Clusters: []RecordedCluster{{Name: "east", Why: tt.why, Cleanup: left}}}
		if tt.decided {
			o.Decisions = []Decision{{Kind: "AbandonCluster", Object: "east", By: "alice", At: now.Add(-time.Minute), Stays: left}}
		}
		var rows []string
		for row := range strings.SplitSeq(writtenAs(t, o.Answer(), Text), "\n") {
			if strings.HasPrefix(row, "east ") {
				rows = append(rows, strings.Join(strings.Fields(row), " "))
			}
		}
		if got := strings.Join(rows, "\n"); got != tt.row {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.row)
		}
		json := writtenAs(t, o.Answer(), JSON)
		if strings.Contains(json, "pendingCleanup") != tt.pending || strings.Contains(json, `"stays": [`) != tt.decided {
			t.Errorf("%s:\n%s", name, json)
		}
	}
}
