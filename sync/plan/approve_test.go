package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// refused are the clusters in which what is declared takes too much.
func (s *sim) refused() map[api.ClusterName]Excess {
	out := map[api.ClusterName]Excess{}
	for name := range s.live {
		if x, ok := TooMuch(s.now(), name, s.renderer()); ok {
			out[name] = x
		}
	}
	return out
}

func (s *sim) approve(x Excess) {
	*s.live[x.Cluster] = After(*s.live[x.Cluster], Step{Ahead: x.Approve})
}

// asks looks for the command of each refusal at the end in its cluster.
func (s *sim) asks(t *testing.T, found map[api.ClusterName]Excess) {
	t.Helper()
	for c, step := range s.settle(PrunePolicy) {
		got := row(t, step, object.End{Cluster: c, Link: westEast.Link})
		if got.Why == nil || got.Why.Code != "TooMuch" || !strings.HasSuffix(got.Why.Message, "linkwright approve "+found[c].Hash) {
			t.Errorf("%s: %v, want %s", c, got.Why, found[c].Hash)
		}
	}
}

// An unlink is judged as a whole: of both clusters that refuse it, both must be approved before either end begins.
func TestApproveBothEnds(t *testing.T) {
	strict := policyDoc("maxFraction: 0.0, minAllowed: 0")
	for _, first := range two {
		s := linked(t, all)
		s.world.Fleet = declare(t, two, strict)
		found := s.refused()
		if len(found) != 2 || found["west"].Hash == found["east"].Hash {
			t.Fatalf("refused: %v", found)
		}
		s.asks(t, found)
		s.approve(found[first])
		for c, step := range s.settle(PrunePolicy) {
			if got := row(t, step, object.End{Cluster: c, Link: westEast.Link}); got.Standing != Refused || step.Writes() > 0 {
				t.Errorf("approved in %s alone, in %s it is %s", first, c, got.Standing)
			}
			if len(inventories(t, s.live[c].Seen)[object.End{Cluster: c, Link: westEast.Link}].Approved) > 0 != (c == first) {
				t.Errorf("approved in %s alone: the inventory in %s", first, c)
			}
		}
		second := s.refused()
		if len(second) != 1 {
			t.Fatalf("refused after the first approval: %v", second)
		}
		for _, x := range second {
			s.approve(x)
		}
		s.settle(PrunePolicy)
		same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
	}
}

// What is declared more keeps its approval until it is asked for: a pull request is approved before it is merged. The
// approval goes with the last object of it.
func TestApproveBeforeTheMerge(t *testing.T) {
	s := linked(t, all)
	strict := policyDoc("maxFraction: 0.0, minAllowed: 0")
	merged, declared := declare(t, two, strict), declare(t, two, linkDoc("west", "east", all)+strict)
	s.world.Fleet = merged
	found := s.refused()
	s.world.Fleet = declared
	for _, x := range found {
		s.approve(x)
	}
	for c, step := range s.settle(PrunePolicy) {
		allInPlace(t, c, step)
	}
	s.world.Fleet = merged
	s.settle(PrunePolicy)
	same(t, "west", []string{"ConfigMap linkwright-access/linkwright.base", "Namespace linkwright-access"}, s.names("west"))
}

// The writes of an approval change inventories, each only as it was read.
func TestApproveIsFenced(t *testing.T) {
	s := linked(t, all)
	s.world.Fleet = declare(t, two, policyDoc("maxFraction: 0.0, minAllowed: 0"))
	x := s.refused()["west"]
	if x.Objects < 5 || len(x.Approve) != 1 || !slices.Equal(x.Ends, []object.End{westEast}) {
		t.Fatalf("%+v", x)
	}
	c := x.Approve[0]
	if !c.Fenced || c.Action != object.Update || c.Was != s.live["west"].Seen.Record(c.Key) || c.Was.IsZero() {
		t.Errorf("%s of %s: fenced %t, was %+v", c.Action, c.Key, c.Fenced, c.Was)
	}
}
