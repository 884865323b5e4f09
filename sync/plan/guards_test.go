package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/state"
)

// blind returns a side on which a kind was not looked for.
func blind(current state.Cluster, kind string) state.Cluster {
	current.Watches = slices.DeleteFunc(slices.Clone(current.Watches), func(w object.Watch) bool { return w.Kind == kind })
	observed := current.Live.Edit()
	for k := range current.Live.Records() {
		if k.Kind == kind {
			observed.Drop(k)
		}
	}
	current.Live = observed.Observation()
	return current
}

// What was not looked for is not missing: nothing is created in its place, and no inventory written where none was looked for.
func TestNotReadIsNotMissing(t *testing.T) {
	s := linked(t, "")
	w := s.now()
	w.Clusters["west"] = blind(w.Clusters["west"], "Deployment")
	step := Next(w, "west", s.renderer())
	if got := row(t, step, westEast); got.Phase != Blocked || got.Why.Code != reason.Unknown || len(actions(step)) > 0 {
		t.Errorf("a controller: %s, %v, writes %v", got.Phase, got.Why, describe(step))
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all))
	w = s.now()
	w.Clusters["west"] = blind(w.Clusters["west"], "ConfigMap")
	if step = Next(w, "west", s.renderer()); step.Writes() > 0 {
		t.Errorf("inventories: writes %v", describe(step))
	}
}

// Of a target with an inventory that cannot be read nobody knows what its guards say: the source's end does not begin.
func TestTargetWithABrokenInventory(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Fleet = declare(t, two, "")
	w := s.now()
	east := w.Clusters["east"]
	k := inventory.Key(owner, eastWest)
	edit(&east.Live, k, east.Live.Record(k), object.NewBody([]byte(`{"data":{"inventory.json":"{"}}`)))
	w.Clusters["east"], w.Namespace = east, "ops"
	step := Next(w, "west", s.renderer())
	if got := row(t, step, westEast); got.Phase != Waiting || got.Why.Code != reason.WaitingForTarget || !strings.Contains(got.Why.Message, "linkwright abandon east --namespace ops") || len(step.Changes) > 0 {
		t.Errorf("%s, %v, writes %v", got.Phase, got.Why, describe(step))
	}
}

// In a suspended cluster no inventory goes either, though nothing else is left of its end.
func TestSuspendedKeepsItsInventories(t *testing.T) {
	s := linked(t, "")
	dressing := dressed("west", "").Live
	for k := range s.live["west"].Live.Records() {
		if dressing.Record(k).IsZero() && k.Kind != "Namespace" && k.Kind != "ConfigMap" {
			remove(s.live["west"], k)
		}
	}
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": ", suspend: true"}, "")
	step := Next(s.now(), "west", s.renderer(), Suspend, PrunePolicy)
	if got := row(t, step, westEast); got.Phase != Suspended || step.Writes() > 0 {
		t.Errorf("%s, %v, writes %v", got.Phase, got.Why, describe(step))
	}
}

// The base of a cluster that leaves carries no commit any more, however many come while it does.
func TestCommitsWhileLeaving(t *testing.T) {
	s := linked(t, "")
	for i := range 20 {
		s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"east": ", state: Leaving"}, fmt.Sprintf("# %d\n", i))
		s.reconcile("west", rules...)
		before, _ := inventory.ReadBase(owner, s.live["east"].Live)
		s.reconcile("east", rules...)
		if after, found := inventory.ReadBase(owner, s.live["east"].Live); found && after.Commit != before.Commit && !after.Leaving {
			t.Errorf("turn %d: the base gets commit %s", i, after.Commit)
		}
	}
	same(t, "east", []string{"Namespace linkwright-access"}, s.names("east"))
}

// CreateOnly lets be made, and adopted, what people ask for, and nothing else.
func TestCreateOnly(t *testing.T) {
	s := linked(t, "")
	w := s.now()
	w.Fleet.Policy.Prune.Policy = api.CreateOnly
	for a, allowed := range map[object.Action]bool{
		object.Create: true, object.Adopt: true, object.Update: false, object.Drain: false, object.Replace: false, object.Release: false, object.Delete: false,
	} {
		if why := PrunePolicy(w, westEast, []object.Change{{Action: a}}); (why == nil) != allowed {
			t.Errorf("%s: %v", a, why)
		}
	}
}
