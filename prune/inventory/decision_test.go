package inventory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

var decidedAt = time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)

func decisions() []Decision {
	return []Decision{
		{Kind: AbandonCluster, Cluster: "north", By: "alice", At: decidedAt},
		{Kind: AcceptCluster, Cluster: "east", UID: "u", By: "alice", At: decidedAt, Reason: "made anew"},
		{Kind: AllowNonFastForward, Revision: "0123456789012345678901234567890123456789", By: "alice", At: decidedAt},
		{Kind: Approve, Hash: "0123456789ab", Removes: "link west/east", By: "alice", At: decidedAt},
		{Kind: Reconcile, Cluster: "east", By: "alice", At: decidedAt},
		{Kind: Resume, Source: "east", Target: "west", By: "alice", At: decidedAt},
		{Kind: Resume, Cluster: "north", At: decidedAt},
		{Kind: Suspend, Cluster: "east", By: "alice", At: decidedAt, Until: decidedAt.Add(time.Hour)},
		{Kind: Suspend, Cluster: "east", By: "bob", At: decidedAt},
		{Kind: Suspend, Source: "west", Target: "east", By: "alice", At: decidedAt},
		{Kind: WithdrawApproval, Hash: "ba9876543210", Removes: "cluster east", By: "bob", At: decidedAt},
	}
}

// reread writes a record and reads it again.
func reread(t *testing.T, r Record) Record {
	t.Helper()
	o, err := r.Object(owner, "here")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(o.Key, holding(o.Key, object.Written(o), o.Body))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Decisions are read as they were written, in one order whatever theirs was; each can be acted upon.
func TestDecisionsRoundTrip(t *testing.T) {
	want := decisions()
	var r Record
	for i := range want {
		r.Decide(want[len(want)-1-i])
		if err := want[i].Check(); err != nil {
			t.Errorf("Check(%s): %v", want[i], err)
		}
	}
	if diff := cmp.Diff(want, reread(t, r).Decisions); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if none := reread(t, Record{Clusters: map[api.ClusterName]KnownCluster{}}); none.Decisions != nil {
		t.Errorf("no decisions: %v", none.Decisions)
	}
}

// The record shows for a week that a suspension ended, and who ended it, unless somebody else still suspends the same. Suspended again, it is not
// resumed any more.
func TestResumed(t *testing.T) {
	until := decidedAt.Add(time.Hour)
	gone := []Decision{
		{Kind: Suspend, Cluster: "east", By: "alice"},
		{Kind: Suspend, Cluster: "north", By: "alice", Until: until},
		{Kind: Suspend, Source: "west", Target: "east", By: "alice"},
		{Kind: Reconcile, Cluster: "west"},
	}
	bob := Decision{Kind: Suspend, Cluster: "east", By: "bob", At: decidedAt}
	for by, at := range map[string]time.Time{"carol": decidedAt, "": until} {
		r := Record{Decisions: []Decision{bob}}
		r.Resumed(gone[:2], by, decidedAt)
		north := Decision{Kind: Resume, Cluster: "north", By: by, At: at}
		if diff := cmp.Diff([]Decision{north, bob}, r.Decisions); diff != "" {
			t.Errorf("by %q: -want +got\n%s", by, diff)
		}
		if week := at.Add(7 * 24 * time.Hour); north.Expired(week.Add(-1)) || !north.Expired(week) || north.Check() != nil {
			t.Errorf("by %q: %v expires at another time, or is not valid: %v", by, north, north.Check())
		}
		r.Decide(Decision{Kind: Suspend, Cluster: "north", By: "dave", At: until})
		if len(r.Decisions) != 2 || r.Decisions[1].By != "dave" {
			t.Errorf("suspended again: %v", r.Decisions)
		}
	}
	r := Record{}
	r.Resumed(gone[2:], "carol", decidedAt)
	if diff := cmp.Diff([]Decision{{Kind: Resume, Source: "west", Target: "east", By: "carol", At: decidedAt}}, r.Decisions); diff != "" {
		t.Errorf("a link: -want +got\n%s", diff)
	}
}

// What a release cannot read stays as it is, beside what it can; nothing follows from it.
func TestUnknownDecisions(t *testing.T) {
	const later = `{"kind":"Suspend","cluster":"east","only":["a<b"],"by":"x"}`
	data := `{"version":1,"clusters":{},"decisions":[` + later + `,{"kind":"Suspend","cluster":"east","by":"x","at":"yesterday"},"?",` +
		`{"kind":"Reconcile","cluster":"east","by":"x"},{"kind":"Dance","cluster":"east","by":"x"},{"kind":"Reconcile","cluster":"east","by":"x"}]}`
	key := RecordKey(owner, "here")
	got, err := ReadRecord(key, recordOf(key, object.Ours, wrap(t, fleetKey, data)))
	if err != nil {
		t.Fatal(err)
	}
	var active, kept []string
	for _, d := range got.Decisions {
		if d.Active(decidedAt) {
			active = append(active, d.String())
		}
		kept = append(kept, d.String())
	}
	if diff := cmp.Diff([]string{"Reconcile east, by x"}, active); diff != "" {
		t.Errorf("active: -want +got\n%s", diff)
	}
	for _, word := range []string{"yesterday", `"?"`, `"only"`, "Dance east"} {
		if !strings.Contains(strings.Join(kept, "\n"), word) {
			t.Errorf("%s is lost: %v", word, kept)
		}
	}
	if diff := cmp.Diff(got.Decisions, reread(t, got).Decisions); diff != "" {
		t.Errorf("written again: -first +again\n%s", diff)
	}
}

// A decision takes the place of an earlier one about the same; suspensions of two people stand beside each other.
func TestDecide(t *testing.T) {
	tests := map[string]struct {
		was, now Decision
		replaces bool
	}{
		"same person":    {Decision{Kind: Suspend, Cluster: "east", By: "a"}, Decision{Kind: Suspend, Cluster: "east", By: "a", Reason: "r"}, true},
		"two people":     {Decision{Kind: Suspend, Cluster: "east", By: "a"}, Decision{Kind: Suspend, Cluster: "east", By: "b"}, false},
		"another uid":    {Decision{Kind: AcceptCluster, Cluster: "east", UID: "1", By: "a"}, Decision{Kind: AcceptCluster, Cluster: "east", UID: "2", By: "b"}, true},
		"another commit": {Decision{Kind: AllowNonFastForward, Revision: "0123456", By: "a"}, Decision{Kind: AllowNonFastForward, Revision: "1123456", By: "a"}, false},
		"another kind":   {Decision{Kind: Reconcile, Cluster: "east", By: "a"}, Decision{Kind: AbandonCluster, Cluster: "east", By: "a"}, false},
		"unread":         {Decision{Unread: "1"}, Decision{Kind: Reconcile, Cluster: "east", By: "a"}, false},
	}
	for name, test := range tests {
		r := Record{Decisions: []Decision{test.was}}
		replaced := r.Decide(test.now)
		if (len(replaced) == 1) != test.replaces || (len(r.Decisions) == 1) != test.replaces {
			t.Errorf("%s: replaced %v, now %v", name, replaced, r.Decisions)
		}
	}
}

func TestDecisionCheck(t *testing.T) {
	for want, d := range map[string]Decision{
		"only a suspension":     {Kind: Reconcile, Cluster: "east", Until: decidedAt},
		"want all 40":           {Kind: AllowNonFastForward, Revision: "main"},
		"no uid":                {Kind: AcceptCluster, Cluster: "east"},
		"a link and":            {Kind: Suspend, Cluster: "east", Source: "a", Target: "b"},
		"does not know":         {Kind: "Dance", Cluster: "east"},
		"cannot read":           {Unread: "1"},
		`"" is not a valid`:     {Kind: Reconcile},
		`"E" is not a valid cl`: {Kind: Suspend, Source: "w", Target: "E"},
	} {
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%+v): %v, want %q", d, err, want)
		}
	}
}

// A decision ends with its time, not before.
func TestDecisionOver(t *testing.T) {
	d := Decision{Kind: Suspend, Cluster: "east", Until: decidedAt}
	if !d.Active(decidedAt.Add(-time.Second)) || d.Active(decidedAt) || (Decision{Kind: Suspend, Cluster: "east"}).Expired(decidedAt) {
		t.Error("its time")
	}
}

// A commit is allowed for a week at most: a cluster that is down must not keep history open for ever.
func TestAllowedForAWeek(t *testing.T) {
	at := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)
	d := Decision{Kind: AllowNonFastForward, Revision: "0123456789012345678901234567890123456789", By: "alice", At: at}
	for after, want := range map[time.Duration]bool{0: true, 7*24*time.Hour - time.Second: true, 7 * 24 * time.Hour: false} {
		if got := d.Active(at.Add(after)); got != want {
			t.Errorf("after %s: active %t", after, got)
		}
	}
	if other := (Decision{Kind: AbandonCluster, Cluster: "east", At: at}); other.Expired(at.Add(1000 * time.Hour)) {
		t.Error("to abandon a cluster ends by time")
	}
}
