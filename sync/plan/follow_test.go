package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

// at gives the gateway of a cluster these addresses.
func (s *sim) at(name api.ClusterName, addresses ...string) {
	var ingress []any
	for _, a := range addresses {
		ingress = append(ingress, map[string]any{"ip": a})
	}
	put(s.live[name], object.Key{Kind: "Service", Namespace: mc, Name: "linkerd-gateway"}, map[string]any{
		"spec": map[string]any{"type": "LoadBalancer", "ports": []any{
			map[string]any{"name": "mc-gateway", "port": 4143}, map[string]any{"name": "mc-probe", "port": 4191},
		}},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	}, metav1.ObjectMeta{Annotations: map[string]string{
		"mirror.linkerd.io/gateway-identity": "gw." + string(name),
		"mirror.linkerd.io/probe-path":       "/ready", "mirror.linkerd.io/probe-period": "3",
	}})
}

// A link that followed its target's facts follows again in its time, and not before; what others changed is taken back at once.
func TestPace(t *testing.T) {
	s := linked(t, "")
	s.at("east", "192.0.2.50")
	step := Next(s.now(), "west", s.renderer())
	if len(step.Changes) != 1 || !Follows(step.Changes[0]) {
		t.Fatalf("the first change: %v", describe(step))
	}
	s.snapshot.Followed = map[api.Pair]time.Time{westEast.Link: s.snapshot.Now}
	until := s.snapshot.Now.Add(followInterval + jitter(westEast.Link))
	step = s.reconcile("west")
	got := row(t, step, westEast)
	if step.Writes() > 0 || got.Phase != Waiting || got.Why.Code != reason.RateLimited || !step.PlanAgain.Equal(until) {
		t.Errorf("too soon: %v, %s %v, next %s, want %s", describe(step), got.Phase, got.Why, step.PlanAgain, until)
	}
	drifted(s, "west", deployment("east"))
	same(t, "too soon, and somebody else", []string{"update " + deployment("east").String()}, describe(s.reconcile("west")))
	s.snapshot.Now = until
	same(t, "in time", []string{"update " + linkKey("east").String()}, describe(s.reconcile("west")))
	allInPlace(t, "west", s.reconcile("west"))
}

// What is declared is written at once, however lately the link followed.
func TestPaceNoDeclaration(t *testing.T) {
	s := linked(t, "")
	s.snapshot.Followed = map[api.Pair]time.Time{westEast.Link: s.snapshot.Now}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "  selector: {matchLabels: {exported: louder}}"))
	if step := s.reconcile("west"); step.Writes() == 0 {
		t.Error("another selector: nothing is written")
	}
}

// A gateway without an address keeps the one that its links have, as long as nobody else wrote it; what is declared goes on.
func TestGatewayWithoutAddress(t *testing.T) {
	s := linked(t, "")
	s.at("east")
	for _, name := range two {
		allInPlace(t, name, s.reconcile(name))
	}
	got := row(t, s.reconcile("west"), westEast)
	if got.Why == nil || got.Why.Code != reason.GatewayAddressMissing || !strings.Contains(got.Why.Message, "192.0.2.") {
		t.Errorf("it is not told: %v", got.Why)
	}
	s.snapshot.Fleet = declare(t, two, linkDoc("west", "east", "  controller: {replicas: 3}"))
	same(t, "declared meanwhile", []string{"update ConfigMap linkwright-access/linkwright.base", "update " + deployment("east").String()}, describe(s.reconcile("west")))
	drifted(s, "west", linkKey("east"))
	if got := row(t, s.reconcile("west"), westEast); got.Phase != Blocked || got.Why.Code != reason.GatewayIncomplete {
		t.Errorf("an address that is nobody's: %s %v", got.Phase, got.Why)
	}
}

// A target that cannot be read leaves its links as they are, and they say since when, if that is known. The conditions have the same reason.
func TestTargetNotRead(t *testing.T) {
	for since, want := range map[time.Time]string{
		{}: "linkwright cannot read cluster east (Unreachable): the link stays as it is until it can",
		time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC): "linkwright cannot read cluster east since 2026-11-22 15:04:05 UTC (Unreachable): the link stays as it is until it can",
	} {
		s := linked(t, "")
		s.down["east"] = true
		w := s.now()
		current := w.Clusters["east"]
		current.Stale = since
		w.Clusters["east"] = current
		step := Next(w, "west", s.renderer())
		got := row(t, step, westEast)
		if len(actions(step)) > 0 || got.Phase != Blocked || got.Why.Code != reason.TargetNotRead || got.Why.Message != want {
			t.Errorf("%v: %s %v", describe(step), got.Phase, got.Why)
		}
		if c := got.Condition(); c.Reason != got.Why.Code {
			t.Errorf("the condition has the reason %s, the end %s", c.Reason, got.Why.Code)
		}
	}
}
