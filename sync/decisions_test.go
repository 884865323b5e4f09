package sync

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/state"
)

// recordedWith returns a term whose management cluster has a record with decisions, and another process beside it.
func recordedWith(t *testing.T, decisions ...inventory.Decision) (mine, other *engine) {
	t.Helper()
	home := memcluster.New(memcluster.Options{}, "home").Cluster("home")
	if err := home.Put("kubectl", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "linkwright"}}); err != nil {
		t.Fatal(err)
	}
	both := make([]*engine, 2)
	for i := range both {
		both[i] = newEngine(&Loop{Options: Options{Owner: "linkwright"}, Management: record.ManagementCluster{Cluster: home, Namespace: "linkwright"}}, 1)
		both[i].store.Enter(&fleet.Fleet{}, inventory.Record{})
	}
	mine, other = both[0], both[1]
	record, err := mine.record.Management.Record(t.Context(), "linkwright")
	if err != nil {
		t.Fatal(err)
	}
	mine.store.SetRecord(record)
	err = mine.record.Amend(t.Context(), func(r *inventory.Record) bool { r.Decide(decisions...); return true })
	if err != nil {
		t.Fatal(err)
	}
	if something, _ := other.record.Decided(t.Context()); something != (len(decisions) > 0) {
		t.Fatal("the other does not see them")
	}
	return mine, other
}

// What is decided again while the former leaves the record stays, and so does what somebody else decides meanwhile.
func TestUsedUpDecisionsSpareNewOnes(t *testing.T) {
	at := time.Date(2026, 11, 25, 4, 0, 0, 0, time.UTC)
	former := inventory.Decision{Kind: inventory.Reconcile, Cluster: "east", By: "alice", At: at}
	again, more := former, inventory.Decision{Kind: inventory.Suspend, Cluster: "west", By: "bob", At: at}
	again.At = at.Add(time.Second)
	gone := inventory.Decision{Kind: inventory.Reconcile, Cluster: "west", By: "alice", At: at}
	mine, other := recordedWith(t, former, gone)
	err := other.record.Amend(t.Context(), func(r *inventory.Record) bool { r.Decide(again, more); return true })
	if err != nil {
		t.Fatal(err)
	}
	mine.removeUsedUp(t.Context(), []inventory.Decision{former, gone})
	if something, _ := other.record.Decided(t.Context()); !something {
		t.Error("nothing was struck off")
	}
	if diff := cmp.Diff([]inventory.Decision{again, more}, other.store.Record.Last().Decisions); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// An approval is taken over at once, with what is declared now: it lets a revision be applied that was denied.
func TestApprovalIsNoticed(t *testing.T) {
	mine, other := recordedWith(t)
	units := []inventory.Unit{inventory.LinkUnit(api.Pair{Source: "west", Target: "east"})}
	approval := inventory.Approval{Hash: inventory.HashOf(units), Units: units, By: "ann", At: time.Date(2026, 11, 25, 1, 2, 3, 0, time.UTC)}
	err := mine.record.Amend(t.Context(), func(r *inventory.Record) bool { r.Approvals = append(r.Approvals, approval); return true })
	if err != nil {
		t.Fatal(err)
	}
	if something, polls := other.record.Decided(t.Context()); !something || !polls || len(other.store.Record.Last().Approvals) != 1 {
		t.Errorf("something %t, polls %t, approvals %v", something, polls, other.store.Record.Last().Approvals)
	}
	if something, _ := other.record.Decided(t.Context()); something {
		t.Error("it is noticed twice")
	}
}

// Who observes, adopts or releases does not do what people decided, and removes nothing.
func TestReadOnlyKeepsDecisions(t *testing.T) {
	over := inventory.Decision{Kind: inventory.Suspend, Cluster: "west", By: "bob", Until: time.Now().Add(-time.Hour)}
	for name, only := range map[string]func(*Loop){
		"observes": func(l *Loop) { l.ReadOnly = true }, "adopts": func(l *Loop) { l.Adopt = map[api.Pair]bool{} },
		"releases": func(l *Loop) { l.Release = &state.Releasing{} }, "reconciles": func(*Loop) {},
	} {
		mine, other := recordedWith(t, over)
		only(mine.loop)
		mine.removeUsedUp(t.Context(), nil)
		if something, _ := other.record.Decided(t.Context()); something != (name == "reconciles") {
			t.Errorf("who %s removed something: %t", name, something)
		}
	}
}

// A cluster that a person suspended counts no more against a head, as one that is declared so.
func TestSuspendedClusterBarsNoRevision(t *testing.T) {
	mine, _ := recordedWith(t, inventory.Decision{Kind: inventory.Suspend, Cluster: "west", By: "bob"})
	h, f := mine.history, &fleet.Fleet{}
	if h.concerns(f, "west") || !h.concerns(f, "east") {
		t.Errorf("concerned: west %t, east %t; want east alone", h.concerns(f, "west"), h.concerns(f, "east"))
	}
	if w := (state.Snapshot{Record: state.Record{Suspended: mine.store.Snapshot().Suspended}, Now: time.Now()}); !w.Suspends("west") {
		t.Error("it is not planned with")
	}
}

// What is to be reconciled now, or abandoned, is read by requests whatever watches show, and no back-off keeps it; it is done once the cluster was
// reconciled. What other processes write is theirs.
func TestDecidedClustersAreReadByRequests(t *testing.T) {
	tt := atRest("east", "north", "west")
	tt.loop.Only, tt.round.number = []api.ClusterName{"east", "west"}, 1
	reconcile := func(name api.ClusterName) inventory.Decision {
		return inventory.Decision{Kind: inventory.Reconcile, Cluster: name, By: "a"}
	}
	abandon := inventory.Decision{Kind: inventory.AbandonCluster, Cluster: "east", By: "a"}
	tt.store.SetRecord(inventory.Record{Decisions: []inventory.Decision{abandon, reconcile("gone"), reconcile("north"), reconcile("west")}})
	key := object.Key{Kind: "Service", Name: "x"}
	drift := object.Outcome{Change: object.Change{Action: object.Update, Key: key, Why: object.Reason{Code: reason.Drift}}}
	tt.store.Correct("west", slices.Repeat([]object.Outcome{drift}, 10), nil)
	if len(tt.store.Snapshot().Contested["west"]) != 1 {
		t.Fatal("nothing is left alone")
	}
	urged := tt.requestDecided()
	if diff := cmp.Diff([]inventory.Decision{abandon, reconcile("west")}, urged); diff != "" {
		t.Errorf("urged: -want +got\n%s", diff)
	}
	for name, want := range map[api.ClusterName]bool{"east": true, "west": true, "north": false} {
		if w := tt.workers[name]; w.isDue() != want || (w.since == tt.round.number) != want {
			t.Errorf("%s: due %t, read by requests %t; want both %t", name, w.isDue(), w.since == tt.round.number, want)
		}
	}
	if left := tt.store.Snapshot().Contested["west"]; len(left) > 0 {
		t.Errorf("still left alone: %v", left)
	}
	if tt.usedUp(t.Context(), reconcile("west"), urged) {
		t.Error("it is done before its turn")
	}
	if tt.workers["west"].done = true; !tt.usedUp(t.Context(), reconcile("west"), urged) {
		t.Error("it is not done after its turn")
	}
	tt.store.Enter(&fleet.Fleet{Clusters: []fleet.Cluster{{Name: "east"}}}, inventory.Record{})
	for polled, want := range map[error]bool{nil: true, errors.New("the repository is down"): false} {
		if got := tt.usedUp(t.Context(), abandon, mayEnd(urged, polled)); got != want {
			t.Errorf("abandoned and declared, polled %v: done %t, want %t", polled, got, want)
		}
	}
	if again := reconcile("west"); tt.usedUp(t.Context(), again, nil) {
		t.Error("what came during the pass is done with it")
	}
}

// Who abandons a cluster means that one: the decision goes with the cluster's entry, in one write.
func TestAbandonDecisionGoesWithTheRecord(t *testing.T) {
	abandon := inventory.Decision{Kind: inventory.AbandonCluster, Cluster: "north", By: "bob"}
	stays := inventory.Decision{Kind: inventory.AbandonCluster, Cluster: "west", By: "bob"}
	mine, _ := recordedWith(t, abandon, stays)
	err := mine.record.Amend(t.Context(), func(r *inventory.Record) bool { r.Clusters["north"] = inventory.KnownCluster{UID: "n"}; return true })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mine.record.Remove(t.Context(), "north"); err != nil {
		t.Fatal(err)
	}
	got := mine.store.Record.Last()
	if diff := cmp.Diff([]inventory.Decision{stays}, got.Decisions); diff != "" || len(got.Clusters) > 0 {
		t.Errorf("-want +got\n%s\n%v", diff, got.Clusters)
	}
}

// The record gets an identity that people accepted also where there is nothing to write in the cluster: else the decision would stay.
func TestAcceptedIsRecorded(t *testing.T) {
	mine, _ := recordedWith(t)
	err := mine.record.Amend(t.Context(), func(r *inventory.Record) bool {
		r.Clusters["east"] = inventory.KnownCluster{UID: "former"}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := inventory.Inventory{End: object.End{Cluster: "east"}}.Object("linkwright")
	if err != nil {
		t.Fatal(err)
	}
	item := object.Item{Namespace: o.Key.Namespace, Name: o.Key.Name, Record: object.Written(o), Body: o.Body}
	mine.store.PutCluster("east", state.Cluster{Reading: state.Read, Live: object.NewObservation(nil, object.Layer{Kind: o.Key.Kind, Items: []object.Item{item}})}, mine.store.Declared.Epoch())
	inPlace := []plan.Row{{End: object.End{Cluster: "east"}, Phase: plan.Ready}}
	for _, refused := range []*object.Reason{object.Because(reason.ClusterChanged, "not accepted"), nil} {
		u := &reconcile{reader: reader{shared: mine.shared, cluster: fleet.Cluster{Name: "east"}}}
		u.step = plan.Step{Cluster: "east", Denied: refused, Rows: inPlace}
		if err := u.keepRecord(t.Context(), "now"); err != nil {
			t.Fatal(err)
		}
		if got := mine.store.Record.Last().Clusters["east"].UID; (got == "now") != (refused == nil) {
			t.Errorf("refused: %v: the record has %s", refused, got)
		}
	}
}

// A commit that was allowed longer ago than a week is allowed no more, and the decision goes, also while a cluster does not carry it.
func TestAllowedIsOver(t *testing.T) {
	d := inventory.Decision{Kind: inventory.AllowNonFastForward, Revision: "0123456789012345678901234567890123456789", By: "alice", At: time.Now().Add(-8 * 24 * time.Hour)}
	mine, other := recordedWith(t, d)
	if allowed := mine.store.Record.Allowed(); len(allowed) > 0 {
		t.Errorf("still allowed: %v", allowed)
	}
	mine.removeUsedUp(t.Context(), nil)
	if something, _ := other.record.Decided(t.Context()); !something || len(other.store.Record.Last().Decisions) > 0 {
		t.Errorf("left: %v", other.store.Record.Last().Decisions)
	}
}
