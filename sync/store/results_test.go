package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/plan"
)

// Whatever a report says of a step is another version, so that a daemon reports it within a second; what nobody sees is none.
func TestReportedChangesAreVersions(t *testing.T) {
	why := object.Because("X", "why")
	row := plan.Row{End: object.End{Cluster: "east", Link: api.Pair{Source: "east", Target: "west"}}, Phase: plan.Ready, Health: []health.Verdict{{Stage: health.CredentialsLoaded}}}
	for name, tt := range map[string]struct {
		change func(*plan.Step)
		want   bool
	}{
		"nothing":             {func(*plan.Step) {}, false},
		"when it looks again": {func(s *plan.Step) { s.PlanAgain = time.Now() }, false},
		"refused":             {func(s *plan.Step) { s.Denied = why }, true},
		"not confined":        {func(s *plan.Step) { s.Unconfined = why }, true},
		"an orphan":           {func(s *plan.Step) { s.Listed = []plan.Orphan{{Why: "x"}} }, true},
		"more orphans":        {func(s *plan.Step) { s.More = 1 }, true},
		"another commit":      {func(s *plan.Step) { s.Commit = "c2" }, true},
		"a row":               {func(s *plan.Step) { s.Rows[0].Why = why }, true},
		"a stage":             {func(s *plan.Step) { s.Rows[0].Health = []health.Verdict{{Stage: row.Health[0].Stage, Why: why}} }, true},
		"a stage passes": {func(s *plan.Step) {
			s.Rows[0].Health = []health.Verdict{{Stage: row.Health[0].Stage, Result: health.Passed}}
		}, true},
		"what it waits for": {func(s *plan.Step) { s.Rows[0].Deleting = []object.Key{{Name: "x"}} }, true},
		"what is not ready": {func(s *plan.Step) { s.Rows[0].Unready = []plan.Unready{{Why: "x"}} }, true},
		"leaving":           {func(s *plan.Step) { s.Rows[0].Leaving = true }, true},
		"no row":            {func(s *plan.Step) { s.Rows = nil }, true},
	} {
		s := New(Settings{})
		declare(s, &fleet.Fleet{Clusters: []fleet.Cluster{{Name: "east"}}})
		step := func() plan.Step { return plan.Step{Cluster: "east", Commit: "c1", Rows: []plan.Row{row}} }
		s.Results.SetStep("east", step())
		_, before := s.SoFar(-1)
		next := step()
		tt.change(&next)
		s.Results.SetStep("east", next)
		if _, after := s.SoFar(before); (after != before) != tt.want {
			t.Errorf("%s: another version: %t, want %t", name, after != before, tt.want)
		}
	}
}

// What was written is kept without bodies until it is reported; a write that failed keeps its own, of which a message may quote a secret. What was
// given away does not change.
func TestOutcomesAreKeptWithoutBodies(t *testing.T) {
	s := New(Settings{})
	declare(s, &fleet.Fleet{Clusters: []fleet.Cluster{{Name: "east"}}})
	s.Results.enter([]fleet.Cluster{{Name: "east"}}, nil)
	change := object.Change{Key: object.Key{Kind: "Secret", Name: "x"}, Object: object.Object{Body: object.NewBody([]byte("{}"))}}
	sent := []object.Outcome{{Change: change}, {Change: change, Err: errors.New("no")}}
	s.Results.Add("east", sent)
	first, _ := s.SoFar(-1)
	s.Results.Add("east", sent[:1])
	second, _ := s.SoFar(-1)
	var got []string
	for _, o := range append(first.Clusters[0].Outcomes, second.Clusters[0].Outcomes...) {
		got = append(got, fmt.Sprint(o.Err, " ", len(o.Change.Object.Body.Bytes())))
	}
	if want := []string{"<nil> 0", "no 2", "<nil> 0", "<nil> 0"}; !slices.Equal(got, want) {
		t.Errorf("errors and bytes of bodies: %q, want %q", got, want)
	}
	if len(sent[0].Change.Object.Body.Bytes()) == 0 {
		t.Error("the outcome of the caller has lost its body")
	}
}
