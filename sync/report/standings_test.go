package report

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// What is shown while a sync is under way holds no token, also if a server repeats one.
func TestStandingsAreMasked(t *testing.T) {
	const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJsaW5rd3JpZ2h0In0.c2lnbmF0dXJl"
	r := ends(&plan.Row{Phase: plan.Waiting, Why: object.Because(reason.CredentialNotIssued, "got %s", token)}, &plan.Row{Phase: plan.Ready})
	r.Clusters[0].Step.Denied = object.Because(reason.Unauthorized, "Bearer %s", token)
	all := r.Standings()
	if len(all) != 3 {
		t.Fatalf("%d rows, want two clusters and a link", len(all))
	}
	for _, s := range all {
		if s.Reason != nil && strings.Contains(s.Reason.Message, token[:20]) {
			t.Errorf("%s %s: %s", s.Cluster, s.Link, s.Reason.Message)
		}
	}
	if all[0].Reason == nil || all[2].Reason == nil {
		t.Errorf("no reasons: %+v", all)
	}
}

// While a cluster is not planned yet, neither it nor its links have a status.
func TestStandingsOfWhatIsNotKnown(t *testing.T) {
	r := ends(&plan.Row{Phase: plan.Ready}, &plan.Row{Phase: plan.Ready})
	r.When = Syncing
	r.Clusters[0].Step = plan.Step{Denied: object.Because(reason.Unknown, "linkwright has not read cluster east yet"), Rows: []plan.Row{{End: at("east", link("west", "east")), Phase: Unseen}}}
	all := r.Standings()
	if len(all) != 2 || all[0].Status != "" || all[1].Status != Ready {
		t.Errorf("%+v", all)
	}
}
