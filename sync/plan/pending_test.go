package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

var eastPart = object.End{Cluster: "east", Link: westEast.Link}

// recordPending plays the record: what a step leaves pending is recorded, what is cleaned up is removed.
func (s *sim) recordPending(step Step) {
	for _, end := range step.Pending {
		known := inventory.KnownCluster{Pending: s.snapshot.Pending[end.Cluster]}.AddPending(s.snapshot.Now, end.Link)
		s.snapshot.Pending = map[api.ClusterName][]inventory.Pending{end.Cluster: known.Pending}
	}
	if len(step.CleanedUp) > 0 {
		s.snapshot.Pending = map[api.ClusterName][]inventory.Pending{
			step.Cluster: inventory.KnownCluster{Pending: s.snapshot.Pending[step.Cluster]}.Without(step.CleanedUp).Pending,
		}
	}
}

// indebted is west→east removed while east was dead: nothing of it is left in west, and cleanup of its end in east is pending.
func pendingIn(t *testing.T) *sim {
	t.Helper()
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, "")
	s.down["east"] = true
	var owed []object.End
	for range 30 {
		step := s.reconcile("west")
		if s.recordPending(step); len(step.Pending) > 0 && len(step.After) == 0 {
			t.Error("a debt without the inventory that goes")
		}
		if len(step.After) > 0 && len(step.Pending) == 0 {
			t.Error("the last inventory that knows of the end goes, and nobody writes that down")
		}
		owed = append(owed, step.Pending...)
	}
	if !slices.Equal(owed, []object.End{eastPart}) {
		t.Fatalf("owed: %v", owed)
	}
	return s
}

// What an unreachable target holds is pending until it comes back, and then it goes the ordinary way; months later, and after a restart.
func TestPendingCleanupOfADeadTarget(t *testing.T) {
	s := pendingIn(t)
	s.snapshot.Now = s.snapshot.Now.Add(100 * 24 * time.Hour)
	w := s.now()
	owed := w.PendingIn("east")
	if len(owed) != 1 || owed[0].Link != westEast.Link || w.Now.Sub(owed[0].Since) != 100*24*time.Hour || !strings.Contains(owed[0].Left, "ServiceAccount linkwright-access/linkwright.west") {
		t.Fatalf("told: %+v", owed)
	}
	s.down["east"] = false
	for range 10 {
		step := s.reconcile("east")
		left := !s.live["east"].Live.Record(inventory.Key(owner, westEast)).IsZero()
		if s.recordPending(step); left && len(step.CleanedUp) > 0 {
			t.Fatal("it is struck off while its inventory is there")
		}
	}
	same(t, "east", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("east"))
	if got := s.now().PendingIn("east"); len(got) > 0 {
		t.Errorf("still owed: %v", got)
	}
}

// A target that can be read has nothing pending, whoever goes first: what it holds is told there.
func TestNoPendingCleanupOfAReachableTarget(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, "")
	for range 20 {
		for _, c := range two {
			if step := s.reconcile(c); len(step.Pending)+len(step.CleanedUp) > 0 {
				t.Errorf("%s: owed %v, paid %v", c, step.Pending, step.CleanedUp)
			}
		}
	}
}

// A cluster that nobody declares and nobody remembers was never written to: it has nothing pending, and nobody waits for it.
func TestNoPendingCleanupOfAnUnknownTarget(t *testing.T) {
	for cluster, other := range map[api.ClusterName]api.ClusterName{"west": "east", "east": "west"} {
		s := linked(t, all)
		s.snapshot.Fleet = declare(t, []api.ClusterName{cluster}, "")
		for range 20 {
			if step := s.reconcile(cluster); len(step.Pending) > 0 {
				t.Errorf("%s: owed %v", cluster, step.Pending)
			}
		}
		same(t, string(cluster)+" without "+string(other), []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names(cluster))
	}
}

// Another cluster behind the name of one that owes pays nothing for it, and nothing is written there, until people say that it is the one they mean.
// Then the pending cleanup of the former is void.
func TestPendingCleanupOfAnotherCluster(t *testing.T) {
	s := pendingIn(t)
	s.snapshot.UIDs = map[api.ClusterName]string{"east": "another-uid"}
	s.down["east"] = false
	step := s.reconcile("east")
	if step.Denied == nil || step.Denied.Code != reason.ClusterChanged || len(step.CleanedUp) > 0 || len(s.now().PendingIn("east")) != 1 {
		t.Fatalf("refused %v, paid %v", step.Denied, step.CleanedUp)
	}
	s.live["east"] = dressed("east", "192.0.2.9")
	s.snapshot.Accepted = map[api.ClusterName]string{"east": "east-kube-system"}
	step = s.reconcile("east")
	if step.Denied != nil || !slices.Equal(step.CleanedUp, []api.Pair{westEast.Link}) {
		t.Errorf("accepted: refused %v, paid %v", step.Denied, step.CleanedUp)
	}
}

// A link that is declared again is no pending cleanup, and leaves the record once the cluster can be read.
func TestPendingCleanupOfADeclaredLink(t *testing.T) {
	s := pendingIn(t)
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all))
	if got := s.now().PendingIn("east"); len(got) > 0 {
		t.Errorf("owed although it is declared: %v", got)
	}
	s.down["east"] = false
	if step := s.reconcile("east"); !slices.Equal(step.CleanedUp, []api.Pair{westEast.Link}) {
		t.Errorf("paid: %v", step.CleanedUp)
	}
}

// What was seen before this sync strikes nothing off.
func TestCleanupIsConfirmedByAFreshRead(t *testing.T) {
	s := pendingIn(t)
	s.down["east"] = false
	for range 10 {
		s.reconcile("east")
	}
	w := s.now()
	w.Round = 7
	if step := Next(w, "east", s.renderer()); len(step.CleanedUp) > 0 || !slices.Contains(step.ReadFirst, "east") {
		t.Errorf("paid %v, look %v", step.CleanedUp, step.ReadFirst)
	}
}

// A cluster that is no longer declared and cannot be read says how it is given up; given up, it is forgotten, says what stays behind, and nobody
// waits for it. One that can be read is unlinked, whatever people said.
func TestAbandonCluster(t *testing.T) {
	s := pendingIn(t)
	s.snapshot.Fleet = declare(t, two[1:], "")
	s.snapshot.Departed = []fleet.Cluster{{Name: "east", Spec: api.Cluster{}.WithDefaults()}}
	s.snapshot.UIDs = map[api.ClusterName]string{"east": "east-kube-system"}
	step := s.reconcile("east")
	if step.Denied == nil || !strings.Contains(step.Denied.Message, "linkwright abandon east") || step.Denied.Code != reason.Unreachable || step.Left() {
		t.Fatalf("dead and gone: %v, left %t", step.Denied, step.Left())
	}
	s.snapshot.Abandoned = map[api.ClusterName]bool{"east": true}
	step = s.reconcile("east")
	if !step.Left() || len(step.Rows) != 1 || step.Rows[0].Why.Code != reason.Abandoned ||
		!strings.Contains(step.Rows[0].Why.Message, "ServiceAccount linkwright-access/linkwright.west") || !strings.Contains(step.Rows[0].Why.Message, "east-kube-system") {
		t.Errorf("given up: left %t, %+v", step.Left(), step.Rows)
	}
	s.down["east"] = false
	if step = s.reconcile("east"); step.Left() || step.Writes() == 0 {
		t.Errorf("alive: left %t, %v", step.Left(), describe(step))
	}
	base := object.End{Cluster: "east"}
	if got := row(t, step, base); got.Why == nil || got.Why.Code != reason.AbandonIgnored || !strings.Contains(got.Why.Message, "can be read") || got.HasNothingToReport() {
		t.Errorf("alive: nobody is told why it is not given up: %s, %v", got.Phase, got.Why)
	}
	s.down["east"], s.snapshot.Departed, s.snapshot.Fleet = true, nil, declare(t, two, "")
	if step = s.reconcile("east"); step.Left() || step.Denied == nil || !strings.Contains(step.Denied.Message, "abandoning cluster east has no effect while it is declared") {
		t.Errorf("declared: left %t, %v", step.Left(), step.Denied)
	}
	s.down["east"] = false
	if got := row(t, s.settle()["east"], base); got.Phase != Ready || got.Why == nil || got.Why.Code != reason.AbandonIgnored || got.HasNothingToReport() {
		t.Errorf("declared and alive: nobody is told why it is not given up: %s, %v", got.Phase, got.Why)
	}
	s.snapshot.Abandoned = nil
	if got := row(t, s.reconcile("east"), base); got.Why != nil || !got.HasNothingToReport() {
		t.Errorf("without the flag: %v", got.Why)
	}
}

// Of a cluster that was given up nobody keeps the access that it had.
func TestAbandonSource(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two[:1], "")
	s.snapshot.Departed = []fleet.Cluster{{Name: "west", Spec: api.Cluster{}.WithDefaults()}}
	s.down["west"] = true
	s.reconcile("east")
	s.reconcile("east")
	if s.live["east"].Live.Record(access).IsZero() {
		t.Fatal("its access is gone before it was given up")
	}
	s.snapshot.Abandoned = map[api.ClusterName]bool{"west": true}
	for range 5 {
		if step := s.reconcile("east"); len(step.Pending) > 0 {
			t.Errorf("owed by who was given up: %v", step.Pending)
		}
	}
	if !s.live["east"].Live.Record(access).IsZero() {
		t.Error("its access is left")
	}
}

// An unreachable source keeps its access for as long as people grant, also over restarts; then it goes, what the source holds is pending cleanup,
// and goes when that is back.
func TestAccessOfADeadSource(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, "")
	s.down["west"] = true
	began := s.snapshot.Now
	for range 3 {
		s.reconcile("east")
	}
	step := s.reconcile("east")
	got := row(t, step, object.End{Cluster: "east", Link: westEast.Link})
	if until := began.Add(24 * time.Hour); !step.PlanAgain.Equal(until) || !strings.Contains(got.Why.Message, until.UTC().Format(time.RFC3339)) {
		t.Errorf("asked again at %s, %s", step.PlanAgain, got.Why.Message)
	}
	s.snapshot.Now = began.Add(24*time.Hour - time.Second)
	if step = s.reconcile("east"); step.Writes() > 0 {
		t.Fatalf("before its time: %v", describe(step))
	}
	s.snapshot.Now = began.Add(24 * time.Hour)
	var owed []object.End
	for range 5 {
		step = s.reconcile("east")
		s.recordPending(step)
		owed = append(owed, step.Pending...)
	}
	if !s.live["east"].Live.Record(access).IsZero() || !slices.Equal(owed, []object.End{westEast}) {
		t.Fatalf("access %v, owed %v", s.live["east"].Live.Record(access), owed)
	}
	s.down["west"] = false
	for range 20 {
		s.recordPending(s.reconcile("west"))
	}
	same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
	if got := s.now().PendingIn("west"); len(got) > 0 {
		t.Errorf("still owed: %v", got)
	}
}

// What says that a source is alive, or that nobody knows, keeps its access for ever, and has the grace begin again; and so does an older read of an unreachable
// one.
func TestAccessOfASourceThatReturns(t *testing.T) {
	for name, change := range map[string]func(*state.Snapshot){
		"inventories that say nothing": func(w *state.Snapshot) {
			w.Clusters["west"] = state.Cluster{Err: object.Because(reason.InventoryInvalid, "what?")}
		},
		"asks for time": func(w *state.Snapshot) {
			w.Clusters["west"] = state.Cluster{Err: object.Because(reason.Throttled, "later")}
		},
		"nobody asked":    func(w *state.Snapshot) { delete(w.Clusters, "west") },
		"another cluster": func(w *state.Snapshot) { w.UIDs = map[api.ClusterName]string{"west": "other"} },
		"asked in another pass": func(w *state.Snapshot) {
			w.Clusters["west"] = state.Cluster{Err: object.Because(reason.Unreachable, "down"), Round: 6}
		},
	} {
		s := linked(t, all)
		s.snapshot.Fleet = declare(t, two, "")
		s.down["west"] = true
		s.reconcile("east")
		s.down["west"] = false
		s.snapshot.Now = s.snapshot.Now.Add(1000 * time.Hour)
		w := s.now()
		w.Round = 7
		east := w.Clusters["east"]
		east.Round = 7
		w.Clusters["east"] = east
		change(&w)
		step := Next(w, "east", s.renderer())
		if got := describe(step); len(got) > 1 || len(got) == 1 && got[0] != "update "+inventory.Key(owner, eastPart).String() {
			t.Errorf("%s: %v", name, got)
		}
		if asked := slices.Contains(step.ReadFirst, "west"); asked != (name == "asked in another pass") {
			t.Errorf("%s: looks at %v", name, step.ReadFirst)
		}
		w.Clusters["west"] = state.Cluster{Err: object.Because(reason.Unreachable, "down"), Round: 7}
		w.UIDs = nil
		if step := Next(w, "east", s.renderer()); step.Writes() == 0 {
			t.Errorf("%s: and dead now, it keeps its access: %v, look %v", name, row(t, step, eastPart).Why, step.ReadFirst)
		}
	}
}

// A source that answers is alive, whatever it says: with nothing granted to the dead it keeps its access, and the target's end
// does not even begin, since nobody knows what guards the source has. Of one that gives no answer the access goes.
func TestAnsweringSourceIsNotUnreachable(t *testing.T) {
	why := func(code string) state.Cluster { return state.Cluster{Err: object.Because(reason.Code(code), "no")} }
	half := why("Timeout")
	half.Reading = state.Answered
	for name, west := range map[string]state.Cluster{
		"401": why("Unauthorized"), "403": why("Forbidden"), "404": why("NotFound"), "5xx": why("Unavailable"), "429": why("Throttled"),
		"a certificate": why("UntrustedCertificate"), "nobody may ask": why("AccessInvalid"), "odd inventories": why("InventoryInvalid"), "cut short": why("Canceled"),
		"who knows": why("Unknown"), "half an answer": half, "dead, silent": why("Timeout"), "dead, down": why("Unreachable"),
	} {
		s := linked(t, all)
		s.snapshot.Fleet, s.snapshot.UnreachableSourceTimeout = declare(t, two, ""), 0
		s.down["west"] = true
		for range 5 {
			w := s.now()
			w.Clusters["west"] = west
			east := After(*s.live["east"], Next(w, "east", s.renderer()))
			s.live["east"] = &east
		}
		inv, dead := inventories(t, s.live["east"].Live)[eastPart], strings.HasPrefix(name, "dead")
		if gone := s.live["east"].Live.Record(access).IsZero(); gone != dead || inv.Leaving {
			t.Errorf("%s: its access is gone: %t, want %t; its end leaves: %t", name, gone, dead, inv.Leaving)
		}
	}
}

// The grace of a source that is heard in between begins again, however old the unlink is.
func TestUnreachableTimeoutStartsAgain(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declare(t, two, "")
	s.reconcile("east") // begins while its source is alive, and waits for it
	began := s.snapshot.Now
	s.snapshot.Now = began.Add(100 * time.Hour)
	s.down["west"] = true
	s.reconcile("east")
	s.snapshot.Now = s.snapshot.Now.Add(23 * time.Hour)
	s.down["west"] = false
	s.reconcile("east")
	s.down["west"] = true
	s.snapshot.Now = s.snapshot.Now.Add(2 * time.Hour)
	for range 3 {
		s.reconcile("east")
	}
	if s.live["east"].Live.Record(access).IsZero() {
		t.Fatal("its access is gone: it was heard two hours ago")
	}
	s.snapshot.Now = s.snapshot.Now.Add(24 * time.Hour)
	for range 3 {
		s.reconcile("east")
	}
	if !s.live["east"].Live.Record(access).IsZero() {
		t.Error("its access is left, though it was not heard for a day")
	}
}

// A source that is suspended keeps its access, dead or not.
func TestAccessOfASuspendedSource(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": ", suspend: true"}, "")
	s.down["west"] = true
	s.snapshot.UnreachableSourceTimeout = 0
	for range 3 {
		s.reconcile("east", Suspend)
	}
	if s.live["east"].Live.Record(access).IsZero() {
		t.Error("the access of a suspended source is gone")
	}
}

// A target that answers and cannot be read holds its source's end back before that begins, and takes nothing from it: only one
// that gives no answer is dead, and one that nobody has a credential for has no say.
func TestTargetThatCannotBeRead(t *testing.T) {
	for code, blocked := range map[string]bool{"Forbidden": true, "Unavailable": true, "UntrustedCertificate": true, "Unreachable": false, "AccessInvalid": false} {
		s := linked(t, all)
		s.snapshot.Fleet = declare(t, two, "")
		w := s.now()
		w.Clusters["east"] = state.Cluster{Err: object.Because(reason.Code(code), "it says so")}
		step := Next(w, "west", s.renderer())
		if got := row(t, step, westEast); (len(step.Changes) == 0 && got.Why != nil && got.Why.Code == reason.WaitingForTarget) != blocked {
			t.Errorf("%s: %s %v, %v", code, got.Phase, got.Why, describe(step))
		}
	}
}
