package plan

import (
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

const (
	coming  = `{"metadata":{"generation":1},"status":{"observedGeneration":1,"updatedReplicas":1,"replicas":1}}`
	givenUp = `{"metadata":{"generation":1},"status":{"observedGeneration":1,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}}`
)

func (s *sim) health(c api.ClusterName, k object.Key, raw string) {
	r := s.live[c].Live.Record(k)
	r.Health = object.HealthOf(k.Kind, []byte(raw))
	record(&s.live[c].Live, k, r)
}

// An end of which something is not ready waits, says for what, and is asked again while that may come; it is repaired,
// changed and removed as ever.
func TestNotReady(t *testing.T) {
	s := linked(t, "")
	s.health("west", deployment("east"), coming)
	step := s.reconcile("west") // which tells of it in conditions
	got := row(t, step, westEast)
	if got.Phase != Waiting || got.Why.Code != reason.NotReady || !strings.Contains(got.Why.Message, deployment("east").String()+": 0 of 1 replicas are available") ||
		len(got.Unready) != 1 || got.Unready[0].Key != deployment("east") || got.Unready[0].Failed || len(actions(step)) > 0 || step.PlanAgain.IsZero() {
		t.Errorf("not ready: %s %v, %v, next %s", got.Phase, got.Why, got.Unready, step.PlanAgain)
	}
	s.health("west", deployment("east"), givenUp)
	if step := Next(s.now(), "west", s.renderer()); !step.PlanAgain.IsZero() || row(t, step, westEast).Why.Code != reason.NotReady || !row(t, step, westEast).Unready[0].Failed {
		t.Errorf("given up: %v, next %s", statuses(step), step.PlanAgain)
	}
	s.health("west", deployment("east"), coming)
	if step := Next(s.now(), "west", s.renderer()); row(t, step, westEast).Unready[0].Failed {
		t.Errorf("coming again: %v", statuses(step))
	}
	drifted(s, "west", linkKey("east"))
	same(t, "repaired", []string{"update " + linkKey("east").String()}, describe(s.reconcile("west")))
	s.snapshot.Fleet = declare(t, two, "")
	s.settle()
	if !s.live["west"].Live.Record(deployment("east")).IsZero() {
		t.Error("what is not ready is never removed")
	}
}
