package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

func toldNow() Told {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	ready := []object.Condition{{Type: object.Ready, Status: object.True, Reason: "StagesHold", Since: at}}
	dead := []object.Condition{
		{Type: object.Ready, Status: object.False, Reason: "GatewayDead", Message: "gateway alive: GatewayDead", Since: at},
		{Type: object.Stalled, Status: object.True, Reason: "GatewayDead", Message: "gateway alive: GatewayDead", Since: at},
	}
	return Told{
		Links: []ToldLink{
			{Pair: api.Pair{Source: "east", Target: "west"}, Source: Recorded, Target: Recorded},
			{Pair: api.Pair{Source: "north", Target: "east"}, Source: NotRead, Target: Recorded},
			{Pair: api.Pair{Source: "west", Target: "east"}, Source: Recorded, Target: Recorded, Conditions: ready},
			{Pair: api.Pair{Source: "west", Target: "north"}, Source: Recorded, Target: NotRead, Conditions: dead},
			{Pair: api.Pair{Source: "west", Target: "south"}, Source: LeavingEnd, Target: Absent},
		},
		Clusters: []ToldCluster{
			{Name: "east", Applied: "0123456789abcdef0123456789abcdef01234567"},
			{Name: "north", Why: object.Because("Unreachable", "no route\x1b[31m\nto host")},
			{Name: "west", Applied: "0123456789abcdef0123456789abcdef01234567"},
		},
		Leader: &Leader{Holder: "pod-1", Renewed: at, Lasts: 15 * time.Second}, At: at.Add(4 * time.Second), Ages: true,
	}
}

// Status opens with which revision is applied where, and with who syncs. A leader that no longer renews its lease is not green, however
// ready the links are; nor is a link that is being removed.
func TestToldOpens(t *testing.T) {
	at := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	commit := api.Commit("0123456789abcdef0123456789abcdef01234567")
	ready := ToldLink{Source: Recorded, Target: Recorded, Conditions: []object.Condition{{Type: object.Ready, Status: object.True}}}
	both := []ToldCluster{{Name: "east", Applied: commit}, {Name: "west", Applied: commit}}
	for _, tt := range []struct {
		name  string
		told  Told
		want  string
		clean bool
	}{
		{
			"alive",
			Told{Clusters: both, Leader: &Leader{"pod-1", at, 15 * time.Second}, At: at.Add(15 * time.Second)},
			"Revision 0123456789ab is applied in all 2 clusters. pod-1 leads.", true,
		},
		{
			"dead",
			Told{Clusters: both, Leader: &Leader{"pod-1", at, 15 * time.Second}, At: at.Add(16 * time.Second), Ages: true},
			"Revision 0123456789ab is applied in all 2 clusters. Nobody syncs: pod-1 held the lease and has not renewed it since 2026-11-22 15:04:05Z, 16s ago.", false,
		},
		{
			"a sync that ended",
			Told{Clusters: both, Leader: &Leader{"", at, 15 * time.Second}, At: at.Add(time.Hour)},
			"Revision 0123456789ab is applied in all 2 clusters. The last sync ended at 2026-11-22 15:04:05Z.", true,
		},
		{
			"two revisions",
			Told{Clusters: []ToldCluster{{Name: "east", Applied: commit}, {Name: "west", Applied: "fedcba9876543210fedcba9876543210fedcba98"}}},
			"Revision 0123456789ab is applied in 1 of 2 clusters (east); revision fedcba987654 is applied in 1 of 2 clusters (west). No lease of linkwright run or sync is found.", true,
		},
		{
			"a link that is being removed",
			Told{Links: []ToldLink{ready, {Source: LeavingEnd, Target: Recorded}}, Clusters: both[:1]},
			"Revision 0123456789ab is applied in the only cluster. No lease of linkwright run or sync is found.", false,
		},
		{"no revision", Told{Clusters: []ToldCluster{{Name: "east"}}}, "No revision is applied in the only cluster. No lease of linkwright run or sync is found.", true},
		{"nothing was read", Told{Clusters: []ToldCluster{{Name: "east", Why: object.Because("Unreachable", "no")}}}, "No lease of linkwright run or sync is found.", false},
	} {
		var out strings.Builder
		if err := tt.told.Write(&out, Text); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := strings.Cut(out.String(), "\n"); got != tt.want || tt.told.Clean() != tt.clean {
			t.Errorf("%s: clean %t, want %t\n%s\nwant\n%s", tt.name, tt.told.Clean(), tt.clean, got, tt.want)
		}
	}
}

// What inventories tell is one table of links, and what could not be read is told beside it.
func TestTold(t *testing.T) {
	for format, want := range map[Format]string{
		Text: `
Revision 0123456789ab is applied in 2 of 3 clusters (east, west). pod-1 leads.

SOURCE  TARGET  READY    REASON       SINCE
east    west    Unknown  NotTold
north   east    Unknown  NotRead
west    east    True     StagesHold   2026-11-22 15:04:05Z
west    north   False    GatewayDead  2026-11-22 15:04:05Z
west    south   Unknown  Leaving

CLUSTER  STATE   REASON
north    unread  Unreachable: no route[31m; to host
`,
		Wide: `
Revision 0123456789ab is applied in 2 of 3 clusters (east, west). pod-1 leads.

SOURCE  TARGET  READY    REASON       SINCE                 SOURCE END  TARGET END  ALSO TRUE  MESSAGE
east    west    Unknown  NotTold                            recorded    recorded
north   east    Unknown  NotRead                            not read    recorded
west    east    True     StagesHold   2026-11-22 15:04:05Z  recorded    recorded
west    north   False    GatewayDead  2026-11-22 15:04:05Z  recorded    not read    Stalled    gateway alive: GatewayDead
west    south   Unknown  Leaving                            leaving     absent

CLUSTER  STATE   REASON
north    unread  Unreachable: no route[31m; to host
`,
	} {
		var out strings.Builder
		if err := toldNow().Write(&out, format); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
			t.Errorf("%s: -want +got\n%s", format, diff)
		}
	}
}

// Programs read the same in both formats, and lists are never null.
func TestToldToPrograms(t *testing.T) {
	for _, f := range []Format{JSON, AsYAML} {
		var full, empty strings.Builder
		if err := toldNow().Write(&full, f); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"GatewayDead", "Stalled", "2026-11-22T15:04:05Z", "Unreachable", "not read"} {
			if !strings.Contains(full.String(), want) {
				t.Errorf("%s lacks %s:\n%s", f, want, full.String())
			}
		}
		if err := (Told{}).Write(&empty, f); err != nil || strings.Contains(empty.String(), "null") || !strings.Contains(empty.String(), "[]") {
			t.Errorf("%s of nothing: %v\n%s", f, err, empty.String())
		}
	}
}

// A link that is ready is clean; one that is not, that leaves, or of which nobody knows, is not.
func TestToldClean(t *testing.T) {
	all := toldNow()
	for i, want := range []bool{false, false, true, false, false} {
		if one := (Told{Links: all.Links[i : i+1]}); one.Clean() != want {
			t.Errorf("%s: clean %t", all.Links[i].Pair, !want)
		}
	}
	pending := Told{Clusters: []ToldCluster{{Name: "east", Cleanup: []api.Pair{{Source: "west", Target: "east"}}}}}
	var out strings.Builder
	if err := pending.Write(&out, Text); err != nil || pending.Clean() || !strings.Contains(out.String(), "east     pending cleanup  of removed links: west→east") {
		t.Errorf("pending cleanup: %v, clean %t\n%s", err, pending.Clean(), out.String())
	}
	if (Told{Clusters: all.Clusters}).Clean() || !(Told{}).Clean() {
		t.Error("a cluster that was not read, or nothing at all")
	}
}
