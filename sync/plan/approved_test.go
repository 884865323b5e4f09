package plan

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// ended returns how many units approvals let go no more.
func ended(step Step) (n int) {
	for _, u := range step.Judged.Used {
		n += len(u.Units)
	}
	return n
}

// approve has people let go what a fleet would take away.
func (s *sim) approve() {
	s.t.Helper()
	units := Removal(s.now(), s.renderer()).Units
	if len(units) == 0 {
		s.t.Fatal("nothing is to be approved")
	}
	s.snapshot.Guard.Approvals = []inventory.Approval{{Hash: inventory.HashOf(units), Units: units, At: s.snapshot.Now}}
}

// Narrower selectors are approved in the pull request. The approval holds until they are applied, and no longer.
func TestSelectorsAreApprovedBeforeTheMerge(t *testing.T) {
	s := exporting(t, 61)
	before, after := s.snapshot.Fleet, declare(t, two, linkDoc("west", "east", narrowed))
	s.snapshot.Fleet = after
	s.approve()
	s.snapshot.Fleet = before
	if step := s.reconcile("west"); ended(step) > 0 {
		t.Fatalf("before the merge: %+v", step.Judged)
	}
	s.snapshot.Fleet = after
	if step := s.reconcile("west"); row(t, step, westEast).Phase != Changing || step.Judged.Denied != nil {
		t.Fatalf("merged: %+v, %+v", row(t, step, westEast), step.Judged)
	}
	if step := s.reconcile("west"); ended(step) != 1 {
		t.Errorf("applied: %+v", step.Judged)
	}
}

// nth returns a policy that an overlay brings.
func nth(i int) object.Key {
	k := policyKey
	k.Name = fmt.Sprintf("policy-%02d", i)
	return k
}

// brings has the overlay of west bring ConfigMaps.
func (s *sim) brings(n int) {
	s.extras = map[api.ClusterName][]object.Object{"west": nil}
	for i := range n {
		s.extras["west"] = append(s.extras["west"], extra(s.t, nth(i), "a"))
	}
}

// What an overlay takes away is approved in the pull request, and stays approved when half of it is done.
func TestOverlaysAreApprovedBeforeTheMerge(t *testing.T) {
	s := linked(t, "")
	s.brings(60)
	s.settle()
	s.brings(2)
	s.approve()
	half := s.extras
	s.brings(60)
	if step := s.reconcile("west"); ended(step) > 0 {
		t.Fatalf("before the merge: %+v", step.Judged)
	}
	s.extras = half
	for i := 30; i < 60; i++ { // as if it had failed half-way
		remove(s.live["west"], nth(i))
	}
	step := s.reconcile("west")
	if got := row(t, step, object.End{Cluster: "west"}); got.Phase != Changing || step.Judged.Denied != nil {
		t.Fatalf("merged: %+v, %+v", got, step.Judged)
	}
	s.reconcile("west") // which finds them gone
	if step = s.reconcile("west"); ended(step) != 1 {
		t.Errorf("applied: %+v", step.Judged)
	}
}

// Whoever widens a live Link by hand is corrected. That is no removal, and leaves a removal elsewhere alone.
func TestCorrectedSelectorsAreNoRemoval(t *testing.T) {
	s := linked(t, narrowed)
	for i := range 60 {
		labels := map[string]string{linkerd.ClusterNameLabel: "east", linkerd.MirroredLabel: "true"}
		put(s.live["west"], object.Key{Kind: "Service", Namespace: "shop", Name: fmt.Sprintf("api%d-east", i)}, nil, metav1.ObjectMeta{Labels: labels})
	}
	body := bodyOf(s.live["west"].Live, linkKey("east"))
	wide := strings.Replace(string(body.Bytes()), `,"team":"a"`, "", 1)
	if wide == string(body.Bytes()) {
		t.Fatalf("no such selector in %s", wide)
	}
	show(&s.live["west"].Live, linkKey("east"), object.NewBody([]byte(wide)))
	if r := Removal(s.now(), s.renderer()); len(r.Units) > 0 {
		t.Errorf("%v is judged", r.Units)
	}
}

// An overlay that narrows the selectors of a Linkerd Link takes mirrors away, like the declaration.
func TestSelectorsOfOverlaysAreJudged(t *testing.T) {
	s := exporting(t, 61)
	west, _ := s.snapshot.Fleet.Cluster("west")
	west.Overlay = &fleet.Overlay{}
	s.change = func(want object.Desired) object.Desired {
		for i, o := range want.Objects {
			if o.Key == linkKey("east") {
				text := strings.Replace(string(o.Body.Bytes()), `"mirror.linkerd.io/exported":"true"`, `"mirror.linkerd.io/exported":"true","team":"a"`, 1)
				want.Objects[i].Body, want.Objects[i].Digest = object.NewBody([]byte(text)), o.Digest+1
			}
		}
		return want
	}
	s.snapshot.Namespace = "ops"
	step := s.reconcile("west")
	if got := row(t, step, westEast); got.Phase != Denied || got.Why.Code != reason.PruneLimitExceeded || !strings.Contains(got.Why.Message, " --namespace ops; ") {
		t.Errorf("%s %v", got.Phase, got.Why)
	}
}
