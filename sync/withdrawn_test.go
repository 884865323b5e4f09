package sync

import (
	"context"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/plan"
)

// What is barred is seen as soon as it was asked.
func TestWithdrawnRevisionIsReported(t *testing.T) {
	e, f := atRest("east"), &fleet.Fleet{Commit: "c1"}
	e.loop.Declared = refusing{}
	e.store.Enter(f, inventory.Record{})
	e.store.Apply(f)
	before := e.viewed()
	if err := e.history.ask(t.Context(), "c1", "c2"); err == nil {
		t.Fatal("it was not asked")
	}
	after := e.viewed()
	if step := (plan.Step{Cluster: "east"}); len(before.DeniedAfter) != 0 || after.DeniedAfter["c2"] == nil || after.Basis(step) == before.Basis(step) {
		t.Errorf("barred before %v, after %v", before.DeniedAfter, after.DeniedAfter)
	}
	e.store.Declared.ResetAnswers()
	if again := e.viewed(); len(again.DeniedAfter) != 0 || again.Basis(plan.Step{Cluster: "east"}) != before.Basis(plan.Step{Cluster: "east"}) {
		t.Errorf("and once that is forgotten %v", again.DeniedAfter)
	}
}

// refusing is a history in which nothing follows anything.
type refusing struct{ Declared }

func (refusing) Follows(context.Context, api.Commit, api.Commit, []api.Commit) error {
	return apply.ErrSkipped
}
