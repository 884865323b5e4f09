package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/state"
)

// reported returns the conditions that stand in the inventory of an end.
func (s *sim) reported(end object.End) []object.Condition {
	inv, _ := inventory.Of(object.DefaultOwner, end, s.live[end.Cluster].Live)
	return inv.Conditions
}

// To what is no longer declared a policy says no: the inventories of both ends say so once, since nothing else does without a repository. Once it is
// declared again, or may go, they say it no more.
func TestDenialIsReported(t *testing.T) {
	const upsertOnly = "---\napiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nmetadata: {name: p}\nspec: {prune: {policy: UpsertOnly}}\n"
	s := linked(t, all)
	both := []object.End{westEast, eastWest}
	for range 2 {
		s.snapshot.Fleet = declare(t, two, upsertOnly)
		s.reconcile("east", PrunePolicy)
		s.reconcile("west", PrunePolicy)
		for _, end := range both {
			reported := s.reported(end)
			if got := health.Condition(reported, object.Ready); got.Status != object.False || got.Reason != reason.Denied || !strings.HasPrefix(got.Message, "PrunePolicy: prune.policy UpsertOnly") || health.Condition(reported, object.Stalled).Status != object.True {
				t.Errorf("%s: denied, it tells %+v", end, reported)
			}
		}
		same(t, "writes while it stays denied", nil, append(describe(s.reconcile("east", PrunePolicy)), describe(s.reconcile("west", PrunePolicy))...))
		s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", all)+upsertOnly)
		s.reconcile("east", PrunePolicy)
		s.reconcile("west", PrunePolicy)
		if s.reports() != string(reason.Healthy) || s.reported(eastWest) != nil {
			t.Errorf("declared again: %s, %+v", s.reports(), s.reported(eastWest))
		}
		same(t, "writes then", nil, append(describe(s.reconcile("east", PrunePolicy)), describe(s.reconcile("west", PrunePolicy))...))
	}
	s.snapshot.Fleet = declare(t, two, upsertOnly)
	s.reconcile("east", PrunePolicy)
	s.reconcile("west", PrunePolicy)
	s.snapshot.Fleet = declare(t, two, "")
	s.reconcile("west", PrunePolicy)
	s.reconcile("east", PrunePolicy)
	for _, end := range both {
		if reported := health.Condition(s.reported(end), object.Ready); reported.Reason == reason.Denied {
			t.Errorf("%s: it may go, and tells %+v", end, reported)
		}
	}
}

// What others suspend, or bar, is written nowhere, and tells nothing new.
func TestDeniedEndsReportNothing(t *testing.T) {
	s := linked(t, all)
	window := func(state.Snapshot, object.End, []object.Change) *object.Reason {
		return object.Because("Window", "closed")
	}
	s.snapshot.Fleet = declare(t, two, "")
	if got := append(describe(s.reconcile("east", window)), describe(s.reconcile("west", window))...); len(got) > 0 {
		t.Errorf("closed: writes %v", got)
	}
}
