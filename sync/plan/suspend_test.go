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
	"github.com/linkwright/linkwright/sync/health"
)

var eastWest = object.End{Cluster: "east", Link: westEast.Link}

const suspended = "  suspend: true\n"

// quiet reconciles each cluster, and fails if a step writes more than conditions and the base.
func quiet(t *testing.T, s *sim, what string) map[api.ClusterName]Step {
	t.Helper()
	out := map[api.ClusterName]Step{}
	for _, c := range two {
		out[c] = s.reconcile(c, Suspend, PrunePolicy)
		var written []string
		for _, w := range actions(out[c]) {
			if w != "update "+baseKey.String() {
				written = append(written, w)
			}
		}
		same(t, what+": "+string(c), nil, written)
	}
	return out
}

// notVerified fails if a row of a suspended link has another reason for not verifying its credential.
func notVerified(t *testing.T, what string, r Row) {
	t.Helper()
	for _, v := range r.Health {
		if v.Stage == health.CredentialVerified && (v.Why == nil || !strings.Contains(v.Why.Message, "is suspended")) {
			t.Errorf("%s: the credential of %s is %s, %v; want that it is not verified because the link is suspended", what, r.End, v.Result, v.Why)
		}
	}
}

// Of a suspended link neither end is written, whatever changed; both say so, and how much waits.
func TestSuspendedLink(t *testing.T) {
	tests := []struct {
		name, spec string
		do         func(*sim)
		source     string
	}{
		{"nothing to do", "", func(*sim) {}, ""},
		{"drift", "", func(s *sim) { remove(s.live["west"], deployment("east")) }, "; 1 change waits for that"},
		{"declared otherwise", "  controller: {mode: External}\n", func(*sim) {}, "; 6 changes wait for that"},
		{"drained", "  selector: {}\n", func(*sim) {}, "; 1 change waits for that"},
	}
	for _, tt := range tests {
		s := linked(t, "")
		tt.do(s)
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", tt.spec+suspended))
		steps := quiet(t, s, tt.name)
		for _, end := range []object.End{westEast, eastWest} {
			got, more := row(t, steps[end.Cluster], end), ""
			if end == westEast {
				more = tt.source
			}
			if want := "Link west-east has suspend: true, so linkwright leaves both ends as they are: to resume, remove suspend" + more; got.Phase != Suspended ||
				got.Why.Code != reason.Suspended || got.Why.Message != want || len(got.Deleting) > 0 {
				t.Errorf("%s: %s is %s, %v; want %s", tt.name, end, got.Phase, got.Why, want)
			}
			notVerified(t, tt.name, got)
		}
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", tt.spec))
		for c, step := range s.settle(Suspend, PrunePolicy) {
			allInPlace(t, c, step)
		}
	}
}

// Suspension stops writes, not the truth: the inventory of the source's end records that a suspended link stopped working, and that changes
// wait until it is resumed. Once it is resumed, it is repaired.
func TestConditionsOfSuspendedLink(t *testing.T) {
	for name, d := range map[string]inventory.Decision{
		"link":    {Kind: inventory.Suspend, Source: "west", Target: "east"},
		"cluster": {Kind: inventory.Suspend, Cluster: "west"},
	} {
		s := linked(t, "")
		recorded := func() (all []string) {
			for _, c := range inventories(t, s.live["west"].Live)[westEast].Conditions {
				all = append(all, strings.TrimSpace(c.Type+" "+c.Status+" "+string(c.Reason)+" "+c.Message))
			}
			return all
		}
		works := []string{"Ready True Healthy"}
		same(t, name+": before", works, recorded())
		s.snapshot.Suspended = []inventory.Decision{d}
		quiet(t, s, name)
		same(t, name+": suspended", append(works, "Suspended True Suspended"), recorded())
		remove(s.live["west"], deployment("east"))
		quiet(t, s, name)
		same(t, name+": its controller is gone", []string{
			"Ready False Progressing controller does not lead: ControllerMissing", "Reconciling True Progressing controller does not lead: ControllerMissing",
			"Suspended True Waiting changes wait until the link is resumed",
		}, recorded())
		s.later(health.RecoveryTime)
		quiet(t, s, name)
		same(t, name+": it stays gone", []string{
			"Ready False ControllerMissing controller does not lead: ControllerMissing", "Stalled True ControllerMissing controller does not lead: ControllerMissing",
			"Suspended True Waiting changes wait until the link is resumed",
		}, recorded())
		same(t, name+": nothing more is written", nil, describe(s.reconcile("west", Suspend, PrunePolicy)))
		s.snapshot.Suspended = nil
		s.settle(Suspend, PrunePolicy)
		same(t, name+": resumed", works, recorded())
	}
}

// That the removal of a suspended link waits is recorded, until the link is declared again or resumed.
func TestConditionsOfSuspendedRemoval(t *testing.T) {
	s := linked(t, "")
	recorded := func() []object.Condition { return inventories(t, s.live["west"].Live)[westEast].Conditions }
	s.snapshot.Suspended = []inventory.Decision{{Kind: inventory.Suspend, Source: "west", Target: "east"}}
	declared := s.snapshot.Fleet
	s.snapshot.Fleet = declare(t, two, "")
	quiet(t, s, "removed")
	if got := health.Condition(recorded(), object.Suspended); got.Reason != reason.Leaving || health.Condition(recorded(), object.Ready).Status != object.True {
		t.Errorf("removed: %v", recorded())
	}
	all := inventory.Inventory{Conditions: recorded()}
	if n := (conditionsUpdate{next: all, old: all}); n.what() != "the link is suspended, and its removal waits" {
		t.Errorf("the write says %q", n.what())
	}
	same(t, "nothing more is written", nil, describe(s.reconcile("west", Suspend, PrunePolicy)))
	s.snapshot.Fleet = declared
	s.later(time.Hour)
	quiet(t, s, "declared again")
	if got := health.Condition(recorded(), object.Suspended); got.Reason != reason.Suspended {
		t.Errorf("declared again: %v", recorded())
	}
	s.snapshot.Fleet = declare(t, two, "")
	quiet(t, s, "removed again")
	s.snapshot.Suspended = nil
	s.settle(Suspend, PrunePolicy)
	same(t, "resumed", []string{baseKey.String(), "Namespace linkwright-access"}, s.names("west"))
}

// A suspended link whose target's account is gone cannot be rendered, and its stages say so.
func TestSuspendedLinkIsNotRendered(t *testing.T) {
	s := linked(t, suspended)
	remove(s.live["east"], tokenKey)
	step := s.reconcile("west", Suspend, PrunePolicy)
	if got := row(t, step, westEast); got.Health[0].Result != health.Failed || got.Health[0].Why.Code != reason.CredentialNotIssued {
		t.Errorf("it renders: %v", got.Health[0])
	}
}

// A suspended link that is removed is no longer suspended: nobody declares it.
func TestSuspendedLinkIsRemoved(t *testing.T) {
	s := linked(t, suspended)
	s.snapshot.Fleet = declare(t, two, "")
	s.settle(Suspend, PrunePolicy)
	for _, c := range two {
		same(t, string(c), []string{baseKey.String(), "Namespace linkwright-access"}, s.names(c))
	}
}

// In a suspended cluster nothing is written at all: no base, no inventory, no object; and a first link's other end
// only waits for that.
func TestSuspendedCluster(t *testing.T) {
	as := map[api.ClusterName]string{"east": ", suspend: true"}
	s := newSim(t, declareAs(t, two, as, linkDoc("west", "east", "")), two...)
	s.extras = map[api.ClusterName][]object.Object{"east": {extra(t, policyKey, "a")}}
	steps := s.settle(Suspend, PrunePolicy)
	same(t, "east", nil, s.names("east"))
	same(t, "east's ends", []string{"east base: Suspended Suspended", "west→east in east: Suspended Suspended"}, statuses(steps["east"]))
	same(t, "west's ends", []string{"west base: Ready", "west→east in west: Suspended Suspended"}, statuses(steps["west"]))

	s = linked(t, "")
	before := s.names("east")
	remove(s.live["west"], deployment("east"))
	s.snapshot.Fleet = declareAs(t, two, as, linkDoc("west", "east", "  controller: {logLevel: debug}\n"))
	s.settle(Suspend, PrunePolicy)
	if s.live["west"].Live.Record(deployment("east")).IsZero() {
		t.Error("a suspended target stops its sources")
	}
	same(t, "east", before, s.names("east"))
	if base := inventories(t, s.live["east"].Live)[object.End{Cluster: "east"}]; base.Commit == s.snapshot.Fleet.Commit {
		t.Error("the base of a suspended cluster was written")
	}
}

// An unlink with a suspended cluster does not begin; where it began, the source finishes it, and a target waits for its
// source. Once nothing is suspended, it is through.
func TestUnlinkFromSuspended(t *testing.T) {
	for _, c := range two {
		as := map[api.ClusterName]string{c: ", suspend: true"}
		s := linked(t, all)
		s.snapshot.Fleet = declareAs(t, two, as, "")
		steps := quiet(t, s, string(c)+" is suspended")
		for _, end := range []object.End{westEast, eastWest} {
			if got := row(t, steps[end.Cluster], end); got.Phase != Suspended || !strings.Contains(got.Why.Message, string(c)+" has suspend: true") {
				t.Errorf("%s, %s suspended: %s, %v", end, c, got.Phase, got.Why)
			}
		}
		s.snapshot.Fleet = declare(t, two, "")
		for _, first := range two { // both begin
			s.reconcile(first)
		}
		s.snapshot.Fleet = declareAs(t, two, as, "# began\n")
		before := s.names(c)
		steps = s.settle(Suspend, PrunePolicy)
		same(t, string(c), before, s.names(c))
		for _, end := range []object.End{westEast, eastWest} {
			if end == westEast && c == "east" {
				same(t, "west", []string{baseKey.String(), "Namespace linkwright-access"}, s.names("west"))
			} else if got := row(t, steps[end.Cluster], end); got.Phase != Suspended {
				t.Errorf("began, %s, %s suspended: %s, %v", end, c, got.Phase, got.Why)
			}
		}
		s.snapshot.Fleet = declare(t, two, "")
		s.settle(Suspend, PrunePolicy)
		for _, c := range two {
			same(t, string(c), []string{baseKey.String(), "Namespace linkwright-access"}, s.names(c))
		}
	}
}

// Both directions of a leaving cluster's links go, then what its base holds, then the base; then it says that it is
// through, is written to no more, and can be taken out of the fleet without any other write.
func TestLeavingCluster(t *testing.T) {
	links := linkDoc("west", "east", all) + linkDoc("east", "west", "")
	s := newSim(t, declare(t, two, links), two...)
	s.extras = map[api.ClusterName][]object.Object{"east": {extra(t, policyKey, "a")}}
	s.settle(Suspend, PrunePolicy)
	tight := policyDoc("maxClusters: 0, maxLinks: 0%, minAllowed: 0")
	as := map[api.ClusterName]string{"east": ", state: Leaving"}
	s.snapshot.Fleet = declareAs(t, two, as, tight)
	steps := s.settle(Suspend, PrunePolicy)
	same(t, "east", []string{"Namespace linkwright-access"}, s.names("east"))
	same(t, "west", []string{baseKey.String(), "Namespace linkwright-access"}, s.names("west"))
	same(t, "east's rows", []string{"east base: Removed CleanupComplete"}, statuses(steps["east"]))
	if !steps["east"].Left() || steps["west"].Left() {
		t.Errorf("left: east %t, west %t", steps["east"].Left(), steps["west"].Left())
	}
	s.snapshot.Fleet = declareAs(t, two, as, tight+"# another commit\n")
	same(t, "after another commit", nil, describe(s.reconcile("east", Suspend, PrunePolicy)))
	s.reconcile("west", Suspend, PrunePolicy)
	s.snapshot.Fleet = declare(t, two[1:], tight)
	same(t, "west, without east", []string{"update " + baseKey.String()}, describe(s.reconcile("west", Suspend, PrunePolicy)))
	same(t, "west, then", nil, describe(s.reconcile("west", Suspend, PrunePolicy)))

	s.snapshot.Fleet = declare(t, two, links)
	for c, step := range s.settle(Suspend, PrunePolicy) {
		allInPlace(t, c, step)
	}
}

// What people want to keep stays in a leaving cluster, too, and an undeclared cluster is judged as ever.
func TestLeavingIsGuarded(t *testing.T) {
	as := map[api.ClusterName]string{"east": ", state: Leaving"}
	for name, policy := range map[string]string{"PrunePolicy": "policy: UpsertOnly", "Suspended": "", "PruneLimitExceeded": "maxLinks: 0%, minAllowed: 0"} {
		s := linked(t, "")
		s.snapshot.Fleet = declareAs(t, two, as, policyDoc(policy))
		switch name {
		case "Suspended":
			s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", state: Leaving, suspend: true"}, "")
		case "PruneLimitExceeded":
			s.snapshot.Fleet = declare(t, two, policyDoc(policy))
		}
		for _, c := range two { // each end says once that it is denied
			s.reconcile(c, Suspend, PrunePolicy)
		}
		steps := quiet(t, s, name)
		for _, end := range []object.End{westEast, eastWest} {
			if got := row(t, steps[end.Cluster], end); got.Why == nil || string(got.Why.Code) != name {
				t.Errorf("%s: %s is %s, %v", name, end, got.Phase, got.Why)
			}
		}
	}
}

// A cluster that leaves and never held anything has nothing to lose.
func TestLeavingFromNothing(t *testing.T) {
	s := newSim(t, declareAs(t, two, map[api.ClusterName]string{"east": ", state: Leaving"}, ""), two...)
	s.extras = map[api.ClusterName][]object.Object{"east": {extra(t, policyKey, "a")}}
	steps := s.settle()
	same(t, "east's rows", []string{"east base: Removed CleanupComplete"}, statuses(steps["east"]))
	same(t, "east", nil, s.names("east"))
}

// A field that the policy ignores is not applied, so what others make of it is no drift.
func TestIgnore(t *testing.T) {
	s := linked(t, "")
	body := func() string { return string(bodyOf(s.live["west"].Live, deployment("east")).Bytes()) }
	if !strings.Contains(body(), `"replicas":1`) {
		t.Fatal("no replicas are declared")
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "")+
		syncDoc("ignore: [{kind: Deployment, fields: [spec.replicas, spec.nothing]}]"))
	step := s.reconcile("west")
	same(t, "the step", []string{"update " + baseKey.String(), "update " + deployment("east").String()}, describe(step))
	if strings.Contains(body(), `"replicas"`) || !strings.Contains(body(), `"selector"`) {
		t.Errorf("the Deployment: %s", body())
	}
	if slices.Contains(describe(s.reconcile("east")), "update "+access.String()) {
		t.Error("what nothing is ignored of was written again")
	}
	same(t, "the next step", nil, describe(s.reconcile("west")))
}

// A link does not begin to go while its other end is in a cluster that is suspended, whatever is behind that name by now.
func TestSuspendedUnidentifiedCluster(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", suspend: true"}, "")
	remove(s.live["east"], object.Key{Kind: "Namespace", Name: "kube-system"})
	step := Next(s.now(), "west", s.renderer(), Suspend, PrunePolicy)
	if got := row(t, step, westEast); got.Phase != Suspended {
		t.Errorf("%s, %v", got.Phase, got.Why)
	}
	same(t, "it writes", []string{"update " + baseKey.String()}, describe(step)) // the commit
}
