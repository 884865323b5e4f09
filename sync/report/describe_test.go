package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
)

// A link that does not work is shown with why, what to do, both ends and every stage.
func TestDescribeLink(t *testing.T) {
	var out strings.Builder
	a, ok := ailing().LinkAnswer(api.Pair{Source: "west", Target: "east"})
	if err := a.Write(&out, Text); err != nil || !ok {
		t.Fatalf("LinkAnswer: %t, %v", ok, err)
	}
	want := `Link:       west/east
Ready:      False
Status:     Stalled
Revision:   c
Reason:     GatewayNotAlive
Message:    no; address is ready
Meaning:    Requests to mirrors fail, because the controller's probe of the target's gateway fails. No mirror has a ready address.

END     CLUSTER  STATUS  MESSAGE
source  west     Ready
target  east     Ready

STAGE                  STATE      MESSAGE
renders                passed
trust anchors shared   passed     TrustAnchorsDiffer: half rotated
access works           unknown
gateway alive          failed     GatewayNotAlive: no; address is ready
mirrors have endpoints  not applicable

Next step: Check that the source's pods reach the gateway's address and probe port (see https://github.com/linkwright/linkwright/blob/main/docs/explanation/health.md#gateway-alive).
`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(out.String())); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, out.String())
	}
	if _, ok := ailing().LinkAnswer(api.Pair{Source: "east", Target: "west"}); ok {
		t.Error("a link that is not there")
	}
}

// A link is shown with its own writes only, and a cluster with all of its writes and links.
func TestDescribeWrites(t *testing.T) {
	var link, cluster strings.Builder
	a, ok := first().LinkAnswer(api.Pair{Source: "west", Target: "old"})
	if err := a.Write(&link, Text); err != nil || !ok {
		t.Fatalf("LinkAnswer: %t, %v", ok, err)
	}
	if text := link.String(); !strings.Contains(text, "controller-old") || strings.Contains(text, "probe-gateway-east") {
		t.Errorf("west/old:\n%s", text)
	}
	a, ok = first().ClusterAnswer("west")
	if err := a.Write(&cluster, Text); err != nil || !ok {
		t.Fatalf("ClusterAnswer: %t, %v", ok, err)
	}
	for _, want := range []string{"Cluster:    west\nReady:      True\nStatus:     Ready", "controller-old", "probe-gateway-east", "west    old     False  Leaving"} {
		if !strings.Contains(cluster.String(), want) {
			t.Errorf("west has no %q:\n%s", want, cluster.String())
		}
	}
	if _, ok := first().ClusterAnswer("nowhere"); ok {
		t.Error("a cluster that is not there")
	}
}

// A cluster that cannot be read is shown with what to do.
func TestDescribeUnknownCluster(t *testing.T) {
	var out strings.Builder
	a, ok := ailing().ClusterAnswer("north")
	if err := a.Write(&out, Text); err != nil || !ok || !strings.Contains(out.String(), "Status:     Unknown") ||
		!strings.Contains(out.String(), "Next step:  Check that the API server is up") || !strings.Contains(out.String(), "It has no links.") {
		t.Errorf("%t, %v:\n%s", ok, err, out.String())
	}
}

// The commands of a next step name the cluster, if it is one cluster's.
func TestNextStepNamesTheCluster(t *testing.T) {
	down := []object.Condition{{Type: object.Ready, Status: object.False, Reason: reason.TargetNotRead}}
	for code, want := range map[reason.Code]string{
		reason.Unauthorized:    "linkwright cluster add east PATH --context CONTEXT",
		reason.OrphanedObjects: "linkwright abandon east",
		reason.ClusterChanged:  "linkwright accept cluster east=UID",
	} {
		o := Overview{
			Links:    []RecordedLink{{Pair: link("west", "east"), Source: RecordedEnd, Target: UnknownEnd, Conditions: down}},
			Clusters: []RecordedCluster{{Name: "east", Why: object.Because(code, "no")}, {Name: "west"}},
		}
		of, _ := o.ClusterAnswer("east")
		through, _ := o.LinkAnswer(api.Pair{Source: "west", Target: "east"})
		for _, a := range []Answer{of, through} {
			if text := writtenAs(t, a, Text); !strings.Contains(text, want) {
				t.Errorf("%s: no %q\n%s", code, want, text)
			}
		}
	}
}

// The word base is explained where it is shown: of a cluster, and in a status.
func TestBaseIsExplained(t *testing.T) {
	a, _ := bases().ClusterAnswer("east")
	const says = "keeps once in a cluster, not once per link"
	if text := writtenAs(t, a, Text); !strings.Contains(text, "Base:       Blocked: KindNotServed") || !strings.Contains(text, says) {
		t.Errorf("describe:\n%s", text)
	}
	if text := writtenAs(t, bases().StatusAnswer(), Text); !strings.Contains(text, says) {
		t.Errorf("status:\n%s", text)
	}
	a, _ = first().ClusterAnswer("west")
	if text := writtenAs(t, a, Text) + writtenAs(t, first().StatusAnswer(), Text); strings.Contains(text, says) {
		t.Errorf("no base is shown:\n%s", text)
	}
}

// The page of a link with a cluster that was not read says why, and what to do about that cluster. If no process syncs the link, nobody waits for one.
func TestDescribeNextStep(t *testing.T) {
	down := []object.Condition{{Type: object.Ready, Status: object.False, Reason: reason.TargetNotRead, Message: "target not reachable: Timeout"}}
	soon := []object.Condition{{Type: object.Ready, Status: object.False, Reason: reason.Progressing}, {Type: object.Reconciling, Status: object.True}}
	const unread = "Next step:  Cluster east was not read (Timeout). Check the API server's load, or raise --cluster-timeout.\n"
	for name, tt := range map[string]struct {
		link   RecordedLink
		unread Opening
		want   []string
	}{
		"target": {RecordedLink{Pair: link("west", "east"), Source: RecordedEnd, Target: UnknownEnd, Conditions: down}, Opening{}, []string{"Unknown   Timeout: no answer", unread}},
		"source": {RecordedLink{Pair: link("east", "west"), Source: UnknownEnd, Target: RecordedEnd}, Opening{}, []string{"Unknown   Timeout: no answer", unread}},
		"no process syncs": {
			RecordedLink{Pair: link("west", "south"), Source: RecordedEnd, Target: RecordedEnd, Conditions: soon},
			Opening{},
			[]string{"Next step:  Run linkwright sync --repo URL: no process syncs the link now.\n"},
		},
		"it is being removed, and no process syncs": {
			RecordedLink{Pair: link("west", "south"), Source: LeavingEnd, Target: RecordedEnd, Conditions: soon},
			Opening{},
			[]string{"Reason:     Leaving", "Next step:  Run linkwright sync --repo URL: no process syncs the link now.\n"},
		},
		"nobody knows which does": {
			RecordedLink{Pair: link("west", "south"), Source: RecordedEnd, Target: RecordedEnd, Conditions: soon},
			Opening{Unread: true},
			[]string{"Next step:  Nothing: a daemon or the next sync goes on."},
		},
	} {
		o := Overview{Opening: tt.unread, Links: []RecordedLink{tt.link}, Clusters: []RecordedCluster{{Name: "east", Why: object.Because(reason.Timeout, "no answer")}, {Name: "south"}, {Name: "west"}}}
		a, _ := o.LinkAnswer(tt.link.Pair)
		for _, want := range tt.want {
			if got := writtenAs(t, a, Text); !strings.Contains(got, want) {
				t.Errorf("%s: no %q\n%s", name, want, got)
			}
		}
	}
	r := ailing()
	r.Clusters[0].Step = plan.Step{Cluster: "east", Denied: object.Because(reason.Timeout, "no answer")}
	r.Clusters[2].Step.Rows[0].Phase, r.Clusters[2].Step.Rows[0].Why = plan.Blocked, object.Because(reason.TargetNotRead, "linkwright cannot read cluster east")
	a, _ := r.LinkAnswer(link("west", "east"))
	if got := writtenAs(t, a, Text); !strings.Contains(got, unread) {
		t.Errorf("compared: no %q\n%s", unread, got)
	}
}

// Before the first sync and after an uninstall nothing waits for anything: a command applies the links.
func TestNeverApplied(t *testing.T) {
	r := ailing()
	issued := object.Because(reason.CredentialNotIssued, "cluster east has not issued a token for west yet")
	row := &r.Clusters[2].Step.Rows[0]
	row.Phase, row.Why, row.Health = plan.Blocked, issued, []health.Verdict{{Stage: health.EndRenders, Result: health.Failed, Why: issued}}
	r.NeverApplied, r.Opening = true, &Opening{}
	page, _ := r.LinkAnswer(link("west", "east"))
	checked, ok := r.CheckAnswer()
	unread := r
	unread.Clusters = r.Clusters[1:2]
	const says = "NotAppliedYet: nothing is applied yet: run linkwright sync --repo URL, or start linkwright run"
	for name, tt := range map[string]struct{ got, want string }{
		"status":           {writtenAs(t, r.StatusAnswer(), Text), says},
		"describe":         {writtenAs(t, page, Text), "Next step:  Run linkwright sync --repo URL: no process syncs the link now.\n"},
		"check":            {writtenAs(t, checked, Table), "× the newest revision is applied\n    nothing is applied yet: run linkwright sync --repo URL"},
		"status, unread":   {writtenAs(t, unread.StatusAnswer(), Text), "This installation has no record, so no sync is known. No cluster was read. "},
		"check of a stage": {writtenAs(t, checked, Table), "× renders\n    " + says},
	} {
		if !strings.Contains(tt.got, tt.want) || strings.Contains(tt.got, "CredentialNotIssued") || ok {
			t.Errorf("%s: no %q\n%s", name, tt.want, tt.got)
		}
	}
}

// A link of which no inventory has anything is not applied yet, unless a process is about to write it, or nobody knows what inventories have.
func TestLinkNotApplied(t *testing.T) {
	const says = "NotAppliedYet: the link is not applied yet: run linkwright sync --repo URL, or start linkwright run"
	both, now := []api.ClusterName{"east", "west"}, time.Unix(1e9, 0)
	for name, tt := range map[string]struct {
		in       []api.ClusterName
		recorded []LinkConditions
		leader   *Leader
		want     bool
	}{
		"nothing is recorded":     {in: both, want: true},
		"its inventories are":     {in: both, recorded: []LinkConditions{{Link: link("west", "east")}}},
		"the target was not read": {in: both[1:]},
		"a process syncs it":      {in: both, leader: &Leader{Holder: "a", Renewed: now, Lasts: time.Minute}},
	} {
		r := ailing()
		row := &r.Clusters[2].Step.Rows[0]
		row.Phase, row.Why = plan.Blocked, object.Because(reason.CredentialNotIssued, "cluster east has not issued a token for west yet")
		r.Opening, r.Recorded, r.RecordedIn = &Opening{Leader: tt.leader, At: now}, tt.recorded, tt.in
		checked, _ := r.CheckAnswer()
		for _, got := range []string{writtenAs(t, r.StatusAnswer(), Text), writtenAs(t, checked, Table)} {
			if strings.Contains(got, says) != tt.want || strings.Contains(got, "CredentialNotIssued") == tt.want {
				t.Errorf("%s:\n%s", name, got)
			}
		}
	}
}

// The page of a link that is compared with the repository has the same events of suspensions as that of its inventories.
func TestDescribeComparedEvents(t *testing.T) {
	r := ailing()
	r.Suspensions = []Decision{{Kind: "Suspend", Object: "west/east", By: "alice"}, {Kind: "Resume", Object: "east", By: "bob"}, {Kind: "Suspend", Object: "north", By: "carol"}}
	a, _ := r.LinkAnswer(link("west", "east"))
	got := writtenAs(t, a, Text)
	if !strings.Contains(got, "Suspended is True: by alice") || !strings.Contains(got, "Suspended is False: by bob") || strings.Contains(got, "carol") {
		t.Errorf("events:\n%s", got)
	}
}

// A cluster that has left carries no revision, and lacks none.
func TestClusterHasLeft(t *testing.T) {
	r := asDeclared()
	r.Opening = &Opening{}
	r.Clusters[0].Applied, r.Clusters[2].Applied = commit, commit
	want := "Revision " + commit.Short() + " is applied in 2 of 3 clusters (east, west); nothing is left in north. "
	if got := writtenAs(t, r.StatusAnswer(), Text); !strings.HasPrefix(got, want) {
		t.Errorf("status does not begin with %q:\n%s", want, got)
	}
	r.Clusters = r.Clusters[1:2]
	if got := writtenAs(t, r.StatusAnswer(), Text); !strings.HasPrefix(got, "Nothing is left in north. ") {
		t.Errorf("status of the only cluster:\n%s", got)
	}
	a, _ := r.ClusterAnswer("north")
	if got := writtenAs(t, a, Text); strings.Contains(got, "Revision:") || !strings.Contains(got, "CleanupComplete") {
		t.Errorf("describe cluster:\n%s", got)
	}
}
