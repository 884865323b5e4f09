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
			{Name: "east"},
			{Name: "north", Why: object.Because("Unreachable", "no route\x1b[31m\nto host")},
			{Name: "west"},
		},
	}
}

// What inventories tell is one table of links, and what could not be read is told beside it.
func TestTold(t *testing.T) {
	for format, want := range map[Format]string{
		Text: `
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

// What leaves is clean; what is not ready, or not known, is not.
func TestToldClean(t *testing.T) {
	all := toldNow()
	for i, want := range []bool{false, false, true, false, true} {
		if one := (Told{Links: all.Links[i : i+1]}); one.Clean() != want {
			t.Errorf("%s: clean %t", all.Links[i].Pair, !want)
		}
	}
	if (Told{Clusters: all.Clusters}).Clean() || !(Told{}).Clean() {
		t.Error("a cluster that was not read, or nothing at all")
	}
}
