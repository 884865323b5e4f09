package plan

import (
	"slices"
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/pair"
)

// The stages of a link are told at its source, and an object of Linkerd's controllers asks for its end when it changes them.
func TestHealthOfEnds(t *testing.T) {
	s := linked(t, all)
	last := Cluster(s.now(), "west", s.renderer())
	if first, failed := pair.First(last.row(westEast).Health); failed || len(last.row(westEast).Health) == 0 {
		t.Fatalf("all is well, and %s failed: %v", first.Stage, first.Why)
	}
	if !last.row(westEast).Ready() || last.row(object.End{Cluster: "west"}).Ready() {
		t.Error("all is well, and the link is not ready, or a base is")
	}
	asks := func(what string, k object.Key, want bool) {
		t.Helper()
		ends, whole := Asks(s.now(), last, []object.Key{k})
		if whole || slices.Equal(ends, []object.End{westEast}) != want || !want && len(ends) > 0 {
			t.Fatalf("%s: %s asks for %v, whole %t", what, k, ends, whole)
		}
		if want {
			last = last.With(Drift(s.now(), last, ends, s.renderer()))
		}
	}
	seen := &s.live["west"].Seen
	lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-east"}
	held := seen.Record(lease)
	renewed := held
	renewed.ResourceVersion += "1"
	record(seen, lease, renewed)
	asks("the controller renews its lease", lease, false)
	left := held
	left.Health = object.HealthOf("Lease", []byte(`{}`))
	record(seen, lease, left)
	asks("the controller left", lease, true)
	if first, _ := pair.First(last.row(westEast).Health); first.Stage != pair.Leads || last.row(westEast).Why != nil || last.row(westEast).Ready() {
		t.Errorf("nobody holds the lease: %+v", last.row(westEast))
	}
	record(seen, lease, held)
	asks("another leads", lease, true)

	var mirror object.Key
	dead := object.HealthOf("Endpoints", []byte(`{"subsets":[{"notReadyAddresses":[{"ip":"192.0.2.1"}]}]}`))
	edit := seen.Edit()
	for k, r := range seen.Kind("", "Endpoints") {
		body, _ := seen.Body(k)
		r.Health, mirror = dead, k
		edit.Put(k, r, body)
	}
	*seen = edit.Observation()
	asks("the gateway died", mirror, true)
	if why := last.row(westEast).Why; why == nil || why.Code != pair.GatewayDead || last.row(westEast).Standing != InPlace {
		t.Errorf("nobody is told that the gateway died: %+v", last.row(westEast))
	}
	if whole := Cluster(s.now(), "west", s.renderer()); !slices.EqualFunc(whole.row(westEast).Health, last.row(westEast).Health, sameVerdict) {
		t.Errorf("the whole step tells %+v, the end alone %+v", whole.row(westEast).Health, last.row(westEast).Health)
	}
}

func sameVerdict(a, b pair.Verdict) bool {
	return a.Stage == b.Stage && a.Passing == b.Passing && (a.Why == nil) == (b.Why == nil)
}
