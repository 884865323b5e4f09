package linkerd

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

func TestPulses(t *testing.T) {
	mirrored := func(more ...string) map[string]string { return of("east", append(more, MirroredLabel, "true")...) }
	web, db, cart := core("Endpoints", "shop", "web-east"), core("Endpoints", "shop", "db-east"), core("Endpoints", "shop", "cart-east")
	with := func(observed object.Observation, k object.Key, subsets string) object.Observation {
		body, _ := observed.Body(k)
		edit, r := observed.Edit(), observed.Record(k)
		r.Health = object.HealthOf("Endpoints", []byte(`{"subsets":[`+subsets+`]}`))
		edit.Put(k, r, body)
		return edit.Observation()
	}
	const ready, dead = `{"addresses":[{"ip":"192.0.2.1"}]}`, `{"notReadyAddresses":[{"ip":"192.0.2.1"}]}`
	observed := observed(t, []testObject{
		{web, mirrored(), nil},
		{db, mirrored(), nil},
		{core("Service", "shop", "web-east"), mirrored(), nil},
		{core("Service", "shop", "db-east"), mirrored(), nil},
		{core("Service", "shop", "cart-east"), mirrored(), nil},                         // it has no Endpoints at all
		{core("Service", "shop", "there-east"), mirrored(RemoteDiscovery, "east"), nil}, // nor needs any
		{core("Service", "shop", "web-federated"), map[string]string{MirroredLabel: "true"}, nil},
		{core("Endpoints", mc, ProbeService("east")), of("east"), nil},
		{core("Endpoints", "shop", "other-us-east"), of("us-east", MirroredLabel, "true"), nil},
	})
	observed = with(observed, core("Endpoints", mc, ProbeService("east")), dead) // always "ready"; whatever it is, no mirror
	l := api.Linkerd{Namespace: "linkerd", MulticlusterNamespace: mc}
	for name, tt := range map[string]struct {
		web, db string
		want    GatewayHealth
		gone    bool
	}{
		"all serve":             {ready, ready, GatewayHealth{Serving: 2, Empty: []object.Key{cart}}, false},
		"nobody behind one":     {ready, "", GatewayHealth{Serving: 1, Empty: []object.Key{db, cart}}, false},
		"one is not ready":      {ready, dead, GatewayHealth{Serving: 1, NotReady: []object.Key{db}, Empty: []object.Key{cart}}, false},
		"none is ready":         {dead, dead, GatewayHealth{NotReady: []object.Key{db, web}, Empty: []object.Key{cart}}, true},
		"none that has anybody": {dead, "", GatewayHealth{NotReady: []object.Key{web}, Empty: []object.Key{db, cart}}, true},
	} {
		got := GatewayHealths(l, with(with(observed, web, tt.web), db, tt.db))
		if diff := cmp.Diff(tt.want, got["east"]); diff != "" || got["east"].Unreachable() != tt.gone {
			t.Errorf("%s: gone %v, Pulses: -want +got\n%s", name, got["east"].Unreachable(), diff)
		}
		if got["us-east"].Serving != 1 {
			t.Errorf("%s: of another target: %+v", name, got["us-east"])
		}
	}
}
