package sync

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// The log says in words who decided what, and when. A process that reads the record for the first time logs what is in effect, and not what is past.
func TestDecisionsAreLogged(t *testing.T) {
	var out bytes.Buffer
	l := &Loop{Log: slog.New(slog.NewTextHandler(&out, nil))}
	reading := &Loop{Log: l.Log}
	reading.ReadOnly = true
	now := time.Now().UTC().Truncate(time.Second)
	at := " at=" + now.Format(time.RFC3339)
	units := []inventory.Unit{inventory.LinkUnit(api.Pair{Source: "west", Target: "east"})}
	one := inventory.Approval{Hash: inventory.HashOf(units), Units: units, By: "ann", At: now}
	was := object.Record{UID: "1"}
	approved, withdrawn, resumed := inventory.Record{Was: was}, inventory.Record{Was: was}, inventory.Record{Was: was}
	approved.Approve(one)
	withdrawn.Approve(one)
	withdrawn.WithdrawApproval(one.Hash, "bob", now)
	for _, by := range []string{"carol", ""} {
		resumed.Decide(inventory.Decision{Kind: inventory.Resume, Cluster: api.ClusterName("east" + by), By: by, At: now})
	}
	suspended := inventory.Record{Was: was, Decisions: []inventory.Decision{{Kind: inventory.Suspend, Source: "west", Target: "east", By: "dave", At: now, Reason: "incident"}}}
	about := ` approval=` + one.Hash + ` removes="link west/east" by=`
	for name, tt := range map[string]struct {
		last, now inventory.Record
		want      []string
	}{
		"approved":         {inventory.Record{Was: was}, approved, []string{`"removal approved"` + about + "ann" + at}},
		"approved before":  {inventory.Record{}, approved, []string{`"removal approved"` + about + "ann" + at}},
		"withdrawn":        {approved, withdrawn, []string{`"approval withdrawn"` + about + "bob" + at}},
		"withdrawn before": {inventory.Record{}, withdrawn, nil},
		"used up":          {approved, inventory.Record{Was: was}, []string{`"approval ended"` + about + "ann" + at}},
		"suspended":        {inventory.Record{}, suspended, []string{`suspended link=` + suspended.Decisions[0].Link().String() + ` by=dave` + at + " why=incident"}},
		"resumed": {suspended, resumed, []string{
			`resumed cluster=east` + at + ` why="the time of the suspension is over"`, `resumed cluster=eastcarol by=carol` + at,
		}},
		"the same": {resumed, resumed, nil},
	} {
		out.Reset()
		l.logRecord(tt.last, tt.now)
		var got []string
		for line := range strings.Lines(out.String()) {
			_, message, _ := strings.Cut(strings.TrimSpace(line), " msg=")
			got = append(got, message)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		out.Reset()
		if reading.logRecord(tt.last, tt.now); out.Len() > 0 {
			t.Errorf("%s: a command that only reads logs\n%s", name, out.String())
		}
	}
	if reading.logRecord(inventory.Record{Was: was}, inventory.Record{Was: was, Unread: []string{"x"}}); !strings.Contains(out.String(), "approval not understood") {
		t.Errorf("a command that only reads does not warn of what it does not understand:\n%s", out.String())
	}
}

// Every kind of decision but an approval has words in the log.
func TestDecisionMessages(t *testing.T) {
	for _, kind := range []inventory.DecisionKind{
		inventory.AcceptCluster, inventory.AllowNonFastForward, inventory.AbandonCluster, inventory.Reconcile, inventory.Suspend, inventory.Resume,
		inventory.WithdrawApproval,
	} {
		if decisionMessage(kind) == "" {
			t.Errorf("%s has none", kind)
		}
	}
}
