package plan

import (
	"testing"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/health"
)

// The stages of a link are told at its source, as what Linkerd's controllers write says.
func TestHealthOfEnds(t *testing.T) {
	s := linked(t, all)
	first := func(what string) (health.Verdict, Row) {
		t.Helper()
		row := Next(s.now(), "west", s.renderer()).row(westEast)
		if len(row.Health) == 0 {
			t.Fatalf("%s: no stages are told", what)
		}
		v, _ := health.First(row.Health)
		return v, row
	}
	v, row := first("all is well")
	if v.Result == health.Failed || !row.Ready() || Next(s.now(), "west", s.renderer()).row(object.End{Cluster: "west"}).Ready() {
		t.Errorf("all is well, and %s says %v, or the link is not ready, or a base is", v.Stage, v.Why)
	}
	observed := &s.live["west"].Live
	lease := object.Key{Group: "coordination.k8s.io", Kind: "Lease", Namespace: mc, Name: "service-mirror-write-east"}
	holder := observed.Record(lease)
	left := holder
	left.Health = object.HealthOf("Lease", []byte(`{}`))
	record(observed, lease, left)
	if v, row := first("the controller left"); v.Stage != health.ControllerLeads || row.Why != nil || row.Ready() {
		t.Errorf("nobody holds the lease: %+v", row)
	}
	record(observed, lease, holder)
	if _, row := first("another leads"); !row.Ready() {
		t.Errorf("another leads: %+v", row)
	}
	dead := object.HealthOf("Endpoints", []byte(`{"subsets":[{"notReadyAddresses":[{"ip":"192.0.2.1"}]}]}`))
	edit := observed.Edit()
	for k, r := range observed.Kind("", "Endpoints") {
		body, _ := observed.Body(k)
		r.Health = dead
		edit.Put(k, r, body)
	}
	*observed = edit.Observation()
	if _, row := first("the gateway died"); row.Why == nil || row.Why.Code != reason.GatewayNotAlive || row.Phase != Ready {
		t.Errorf("nobody is told that the gateway died: %+v", row)
	}
}
