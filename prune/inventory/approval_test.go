package inventory

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// The hash of units is a persisted format, and does not depend on their order.
func TestHashOf(t *testing.T) {
	east, pair := Unit{Kind: UnitCluster, Cluster: "east"}, LinkUnit(api.Pair{Source: "west", Target: "north"})
	to := Unit{Kind: UnitSelectors, Source: "west", Target: "north", To: "01234567"}
	if a, b := HashOf([]Unit{east, pair, to}), HashOf([]Unit{to, pair, east, east}); a != b || a != "f3fb04befa79" {
		t.Errorf("HashOf: %s and %s", a, b)
	}
	for _, other := range [][]Unit{{east}, {pair}, {east, pair}, nil} {
		if HashOf(other) == HashOf([]Unit{east, pair, to}) {
			t.Errorf("%v has the hash of another removal", other)
		}
	}
}

// A commit is judged by the stricter of its own limits and of those before it, however often the same commit is judged, and the
// commit after it by its own.
func TestLimitsOfCommits(t *testing.T) {
	tight, loose := api.PruneLimits{MaxClusters: 1, MaxLinks: 30, MinAllowed: 2, MaxMirrors: 50}, api.PruneLimits{MaxClusters: 9, MaxLinks: 100, MinAllowed: 9, MaxMirrors: 100}
	var l *Limits
	for _, step := range []struct {
		commit         api.Commit
		declared, want api.PruneLimits
		writes         bool
	}{
		{"1", tight, tight, true},
		{"2", tight, tight, false},
		{"3", loose, tight, true},
		{"3", loose, tight, false},
		{"4", loose, loose, true},
		{"5", loose, loose, false},
		{"6", tight, tight, true},
		{"7", loose, tight, true},
	} {
		if got := l.Applicable(step.commit, step.declared); got != step.want {
			t.Errorf("commit %s is judged by %+v, want %+v", step.commit, got, step.want)
		}
		next := l.Next(step.commit, step.declared)
		if (next != l) != step.writes {
			t.Errorf("commit %s writes: %t", step.commit, next != l)
		}
		l = next
	}
}

// What people decided is read as it was written, whatever an earlier release does not know of it.
func TestRecordOfRemovals(t *testing.T) {
	units := []Unit{{Kind: UnitCluster, Cluster: "east"}, LinkUnit(api.Pair{Source: "west", Target: "north"})}
	want := Record{
		Clusters:  map[api.ClusterName]KnownCluster{"east": {UID: "1", Access: api.Access{InCluster: true}, Leaving: true}},
		Limits:    &Limits{Commit: "1", Declared: api.PruneLimits{MaxClusters: 1}},
		Approvals: []Approval{{Hash: HashOf(units), Units: units, By: "ann", At: time.Date(2026, 11, 25, 1, 2, 3, 0, time.UTC)}},
		Denied:    &Denial{Hash: HashOf(units), Units: units, Exceeded: []string{"too many"}},
	}
	o, err := want.Object(owner, "here")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(o.Key, holding(o.Key, object.Written(o), o.Body))
	if want.Was = object.Written(o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y object.Record) bool { return x == y })); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Approvals that an earlier release wrote into an inventory are passed over: they name objects, and no longer count.
func TestInventoryWithFormerApprovals(t *testing.T) {
	data := `{"version":1,"cluster":"west","source":"west","target":"east","approved":[{"hash":"0123456789ab","entries":[{"kind":"Secret","namespace":"x","name":"a","uid":"1"}]}],"entries":[{"kind":"Secret","namespace":"x","name":"a"}]}`
	text, err := json.Marshal(map[string]any{"data": map[string]string{dataKey: data}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(owner, recordOf(Key(owner, west), object.Ours, text))
	if err != nil || len(got) != 1 || len(got[0].Entries) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// How much is over a limit changes with every mirrored Service, and is no news; another unit is.
func TestSameDenial(t *testing.T) {
	units := []Unit{{Kind: UnitCluster, Cluster: "east"}}
	d := Denial{Hash: HashOf(units), Units: units, Exceeded: []string{"21 of 40"}}
	more, other := d, d
	more.Exceeded, other.Units = []string{"22 of 41"}, append(units, LinkUnit(api.Pair{Source: "west", Target: "north"}))
	if !d.Same(&more) || d.Same(&other) || d.Same(nil) {
		t.Error("what is the same denial, and what is not")
	}
	if none := (*Denial)(nil); !none.Same(nil) {
		t.Error("no denial is not the same as none")
	}
}

// The message names at most three limits, as a person would list them.
func TestDenialMessage(t *testing.T) {
	for want, over := range map[string][]string{
		"linkwright removes nothing: restore the declarations, declare state: Leaving, or run linkwright approve 0; it would remove a": {"a"},
		"; it would remove a and b":            {"a", "b"},
		"; it would remove a, b, c and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if got := (Denial{Exceeded: over, Hash: "0"}).Why(object.Installation{}).Message; !strings.HasSuffix(got, want) {
			t.Errorf("%s", got)
		}
	}
}

// A hash is approved while an approval of it counts.
func TestApproved(t *testing.T) {
	at := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)
	r := Record{Approvals: []Approval{{Hash: "a", At: at}, {Hash: "b", At: at, By: "bob"}}}
	for _, tt := range []struct {
		hash  string
		after time.Duration
		by    string
	}{{"a", 0, "by somebody at 2026-11-25T04:00:00Z"}, {"b", ApprovalLife - 1, "by bob at 2026-11-25T04:00:00Z"}, {"b", ApprovalLife, ""}, {"c", 0, ""}} {
		got, ok := r.Approved(tt.hash, at.Add(tt.after))
		if ok != (tt.by != "") || ok && got.Given() != tt.by {
			t.Errorf("%s after %v: %v %s", tt.hash, tt.after, ok, got.Given())
		}
	}
}

// The record shows for a week who approved a removal, or who took the approval back: only the last of both. What is approved stays apart from that.
func TestApproveAndWithdraw(t *testing.T) {
	units := make([]Unit, 0, 7)
	for _, target := range []api.ClusterName{"a", "b", "c", "d", "e", "f", "g"} {
		units = append(units, LinkUnit(api.Pair{Source: "west", Target: target}))
	}
	const removes = "link west/a, link west/b, link west/c, link west/d, link west/e and 2 more"
	one := Approval{Hash: HashOf(units), Units: units, By: "ann", At: decidedAt}
	var r Record
	shows := func(kind DecisionKind, by string, at time.Time) {
		t.Helper()
		want := []Decision{{Kind: kind, Hash: one.Hash, Removes: removes, By: by, At: at}}
		if diff := cmp.Diff(want, r.Decisions); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if week := at.Add(7 * 24 * time.Hour); !r.Decisions[0].Past() || r.Decisions[0].Expired(week.Add(-1)) || !r.Decisions[0].Expired(week) {
			t.Errorf("%v is not past, or expires at another time", r.Decisions[0])
		}
	}
	r.Approve(one)
	shows(Approve, "ann", decidedAt)
	later := decidedAt.Add(time.Hour)
	if gone, ok := r.WithdrawApproval(one.Hash, "bob", later); !ok || gone.By != "ann" || len(r.Approvals) != 0 {
		t.Errorf("withdrawn: %v, %t, left %v", gone, ok, r.Approvals)
	}
	shows(WithdrawApproval, "bob", later)
	if _, ok := r.WithdrawApproval(one.Hash, "bob", later); ok {
		t.Error("an approval was withdrawn twice")
	}
	r.Approve(one)
	r.Approve(one)
	shows(Approve, "ann", decidedAt)
	if len(r.Approvals) != 1 {
		t.Errorf("approvals: %v", r.Approvals)
	}
}
