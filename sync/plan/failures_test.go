package plan

import (
	"math/rand/v2"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// Writes fail, clusters go down and come back: the link comes to stand all the same, and to be gone.
func TestConvergesThroughFailures(t *testing.T) {
	unraced(t)
	three := []api.ClusterName{"east", "north", "west"}
	links := linkDoc("west", "east", all) + linkDoc("east", "west", "") + linkDoc("west", "north", all)
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := newSim(t, declare(t, three, links), three...)
		s.failRandomly(random, three)
		for c, step := range s.settle() {
			allInPlace(t, c, step)
		}
		s.snapshot.Fleet = declare(t, three, policyDoc("minAllowed: 100"))
		s.failRandomly(random, three)
		s.settle()
		for _, c := range three {
			same(t, string(c), []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names(c))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// failRandomly reconciles of which each write may fail, while clusters come and go.
func (s *sim) failRandomly(random *rand.Rand, clusters []api.ClusterName) {
	for range 30 {
		name := clusters[random.IntN(len(clusters))]
		s.down[name] = random.IntN(5) == 0
		step := Next(s.now(), name, s.renderer())
		s.check(step)
		*s.live[name] = After(*s.live[name], failing(step, random))
		for _, play := range s.controllers {
			play(s.live[name])
		}
	}
	clear(s.down)
}

// failing leaves out some writes of a step, and what builds on them.
func failing(step Step, random *rand.Rand) Step {
	failed := map[object.End]bool{}
	some := func(list []object.Change) []object.Change {
		var out []object.Change
		for _, c := range list {
			if failed[c.End] || random.IntN(6) == 0 {
				failed[c.End] = true
				continue
			}
			out = append(out, c)
		}
		return out
	}
	step.Ahead = some(step.Ahead)
	if failed[object.End{Cluster: step.Cluster}] {
		return Step{Cluster: step.Cluster, Ahead: step.Ahead}
	}
	step.Changes = some(step.Changes)
	step.After = some(step.After)
	return step
}
