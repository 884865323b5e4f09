package decide

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/report"
)

// Reports know the kinds of decisions that the record has, by name.
func TestReportsKnowKinds(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	var r inventory.Record
	r.Decide(
		inventory.Decision{Kind: inventory.Resume, Cluster: "west", By: "ann", At: now},
		inventory.Decision{Kind: inventory.WithdrawApproval, Hash: "0123456789ab", Removes: "cluster east", By: "ann", At: now},
		inventory.Decision{Kind: inventory.AbandonCluster, Cluster: "east", By: "ann", At: now},
	)
	o := report.Overview{Suspensions: Suspensions(r), Approvals: Approvals(r, now)}
	o.At, o.Decisions = now, Decisions(r, "", now)
	o.Clusters = []report.RecordedCluster{{Name: "east", Why: &object.Reason{Code: reason.Unreachable}}}
	for want, shown := range map[reason.Code]report.Listing{
		reason.Resumed: o.EventList(), reason.ApprovalWithdrawn: o.EventList(), reason.Abandoned: o.ClusterList(),
	} {
		var out bytes.Buffer
		if err := shown.Answer(true).Write(&out, report.JSON); err != nil || !strings.Contains(out.String(), `"`+string(want)+`"`) {
			t.Errorf("%s is not shown: %v\n%s", want, err, out.String())
		}
	}
}
