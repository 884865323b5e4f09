package plan

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/state"
)

// What is left is what is live, also where the next steps write nothing because they wait.
func TestLeftWhileDraining(t *testing.T) {
	s := stuck(t)
	s.settle()
	w := s.now()
	for _, c := range two {
		if step := Next(w, c, s.renderer()); step.Writes() > 0 {
			t.Fatalf("%s: a step that waits writes %v", c, describe(step))
		}
	}
	left := Left(w, nil)
	if len(left) != len(two) {
		t.Fatalf("left: %+v, want something in each of %v", left, two)
	}
	for _, l := range left {
		if len(l.Objects) < 4 || l.Unread != nil {
			t.Errorf("%s: %v, %v", l.Cluster, l.Objects, l.Unread)
		}
	}
	none := Left(w, func(e object.End) bool { return e.Link == api.Pair{Source: "north", Target: "east"} })
	if len(none) > 0 {
		t.Errorf("of another link: %+v", none)
	}
}

// A cluster that was not read may hold anything, and one in which all has gone holds nothing.
func TestLeftUnreadAndGone(t *testing.T) {
	s := linked(t, all)
	s.snapshot.Fleet = declareAs(t, two, map[api.ClusterName]string{"west": ", state: Leaving", "east": ", state: Leaving"}, "")
	s.settle()
	w := s.now()
	if left := Left(w, nil); len(left) > 0 {
		t.Errorf("after all has gone: %+v", left)
	}
	laid(s, "west", object.Ours, deployment("north"))
	if left := Left(s.now(), nil); len(left) != 1 || len(left[0].Orphans) != 1 || len(left[0].Objects) > 0 {
		t.Errorf("with an orphan: %+v", left)
	}
	if left := Left(s.now(), func(object.End) bool { return true }); len(left) > 0 {
		t.Errorf("of links alone: %+v", left)
	}
	east := w.Clusters["east"]
	east.Reading, east.Err = state.Unread, object.Because(reason.Unreachable, "no route")
	w.Clusters["east"] = east
	if left := Left(w, nil); len(left) != 1 || left[0].Unread == nil || left[0].Unread.Code != "Unreachable" {
		t.Errorf("with east unread: %+v", left)
	}
	w.Pending = nil
	delete(w.Clusters, "east")
	if left := Left(w, nil); len(left) != 1 || left[0].Unread == nil {
		t.Errorf("with east never tried: %+v", left)
	}
}
