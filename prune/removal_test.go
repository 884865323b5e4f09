package prune

import (
	"fmt"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
)

// meshed is a census of a full mesh of so many clusters, c0, c1 and so on.
func meshed(clusters int) Census {
	c := Census{Links: map[api.Pair]bool{}, Mirrors: map[api.ClusterName]Mirrors{}}
	for i := range clusters {
		for j := range clusters {
			if i != j {
				c.Links[numbered(i, j)] = false
			}
		}
	}
	return c
}

func numbered(i, j int) api.Pair {
	return api.Pair{Source: api.ClusterName(fmt.Sprintf("c%d", i)), Target: api.ClusterName(fmt.Sprintf("c%d", j))}
}

// without removes a cluster from the mesh whose declaration stays.
func (c Census) without(i int) Census {
	for p := range c.Links {
		if name := api.ClusterName(fmt.Sprintf("c%d", i)); p.Source == name || p.Target == name {
			c.Links[p] = true
		}
	}
	return c
}

func defaults() Limits { return Limits{PruneLimits: api.SyncPolicy{}.Limits()} }

// What a person counts decides: clusters that are removed, and links of clusters that stay.
func TestWeigh(t *testing.T) {
	selectors := func(lost, all int) Census {
		c := meshed(3)
		for i := 1; i < 3; i++ {
			p := numbered(0, i)
			c.Selectors = append(c.Selectors, SelectorChange{inventory.Unit{Kind: inventory.UnitSelectors, Source: p.Source, Target: p.Target, To: "0"}, lost, all})
		}
		c.Links[numbered(1, 0)] = true
		return c
	}
	gone := func(c Census, of int, all, lost int) Census {
		c.Mirrors["c0"] = Mirrors{All: all, Gone: map[inventory.Unit]int{inventory.LinkUnit(numbered(0, of)): lost}}
		return c
	}
	removed := func(c Census, pairs ...api.Pair) Census {
		for _, p := range pairs {
			c.Links[p] = true
		}
		return c
	}
	retired := func(names ...api.ClusterName) Census { return Census{Clusters: names, Links: meshed(3).Links} }
	tests := []struct {
		name   string
		census Census
		over   string // empty: it may go
		units  int
	}{
		{"nothing", meshed(3), "", 0},
		{"one of twelve clusters is retired", Census{Clusters: []api.ClusterName{"c12"}, Links: meshed(11).Links}, "", 1},
		{"two clusters are retired", retired("x", "y"), "2 clusters (x, y; maxClusters 1)", 2},
		{"a link of a mesh of three", removed(meshed(3), numbered(0, 1)), "", 1},
		{"both links of a pair", removed(meshed(2), numbered(0, 1), numbered(1, 0)), "", 2},
		{"a label slips, and a cluster drops out of its mesh of three", meshed(3).without(2), "4 of the 4 links of cluster c2", 4},
		{"the same in a mesh of twelve", meshed(12).without(2), "22 of the 22 links of cluster c2", 22},
		{"30 % of the links of a hub", func() Census { // 6 of 20
			c := Census{Links: map[api.Pair]bool{}}
			for i := 1; i <= 20; i++ {
				c.Links[numbered(0, i)] = i <= 6
			}
			return c
		}(), "", 6},
		{"a link more", func() Census {
			c := Census{Links: map[api.Pair]bool{}}
			for i := 1; i <= 20; i++ {
				c.Links[numbered(0, i)] = i <= 7
			}
			return c
		}(), "7 of the 20 links of cluster c0 (maxLinks 30%, minAllowed 2)", 7},
		{"selectors that lose 30 %", selectors(3, 10), "", 3},
		{"selectors that lose more count as links removed", selectors(4, 10), "3 of the 4 links of cluster c0", 3},
		{"selectors that lose nothing", selectors(0, 10), "", 1},
		{"20 of 20 mirrors", gone(removed(meshed(3), numbered(0, 1)), 1, 20, 20), "", 1},
		{"21 of 42 mirrors", gone(removed(meshed(3), numbered(0, 1)), 1, 42, 21), "", 1},
		{"22 of 42 mirrors", gone(removed(meshed(3), numbered(0, 1)), 1, 42, 22), "22 of the 42 mirrored Services in cluster c0 (maxMirrors 50%)", 1},
		{"an overlay", Census{Overlays: []Overlay{{inventory.Unit{Kind: inventory.UnitOverlay, Cluster: "c0"}, 21, 21}}}, "21 of the 21 objects that the overlay added to cluster c0", 1},
		{"a third of an overlay", Census{Overlays: []Overlay{{inventory.Unit{Kind: inventory.UnitOverlay, Cluster: "c0"}, 21, 70}}}, "", 1},
	}
	for _, tt := range tests {
		r := tt.census.Evaluate(defaults())
		if got := strings.Join(r.Exceeded, "; "); (got == "") != (tt.over == "") || !strings.Contains(got, tt.over) || len(r.Units) != tt.units {
			t.Errorf("%s: %q over %v; want %q of %d units", tt.name, got, r.Units, tt.over, tt.units)
		}
		if r.Hash != inventory.HashOf(r.Units) {
			t.Errorf("%s: hash %s", tt.name, r.Hash)
		}
	}
}

// What was approved counts no more, also not against what is added to it later.
func TestWeighApproved(t *testing.T) {
	l, c := defaults(), meshed(3).without(2)
	whole := c.Evaluate(l)
	l.Approved = map[inventory.Unit]bool{}
	for _, u := range whole.Units {
		l.Approved[u] = true
	}
	if r := c.Evaluate(l); len(r.Exceeded)+len(r.Units) > 0 || len(r.Pending) != 4 {
		t.Errorf("approved: %+v", r)
	}
	c.Links[numbered(0, 1)] = true
	if r := c.Evaluate(l); len(r.Exceeded) > 0 || len(r.Units) != 1 || r.Hash == whole.Hash {
		t.Errorf("with one more: %+v", r)
	}
}

// What was denied stays denied when what was added since makes it a small part, until it is approved or restored.
func TestWeighDenied(t *testing.T) {
	l := defaults()
	l.Denied = &inventory.Denial{Units: []inventory.Unit{inventory.LinkUnit(numbered(0, 1))}, Exceeded: []string{"too much"}}
	c := meshed(12)
	c.Links[numbered(0, 1)] = true
	if r := c.Evaluate(l); r.Why() == nil {
		t.Error("what was denied goes")
	}
	c.Links[numbered(0, 1)], c.Links[numbered(0, 2)] = false, true
	if r := c.Evaluate(l); r.Why() != nil {
		t.Errorf("restored: %v", r.Why())
	}
	if l.Denied = (&inventory.Denial{}); c.Evaluate(l).Why() == nil {
		t.Error("nobody knows what was denied, and it goes")
	}
}

// An unlink that one end has begun is finished at the other, whatever else is over a limit.
func TestBegunIsFinished(t *testing.T) {
	c := meshed(3).without(2)
	delete(c.Links, numbered(2, 0))
	c.Begun = []api.Pair{numbered(2, 0)}
	r := c.Evaluate(defaults())
	if why := r.Denies(target, false); why == nil {
		t.Error("nothing is denied")
	}
	end := target
	end.Cluster, end.Link = "c0", numbered(2, 0)
	if why := r.Denies(end, false); why != nil {
		t.Errorf("what has begun: %v", why)
	}
}
