package render

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// Readers of Links before 2.17 demand a gateway of each, and read none at all where one has none.
func TestTooOldForNoGateway(t *testing.T) {
	chosen := &metav1.LabelSelector{}
	chosen.MatchLabels = map[string]string{"mirror": "yes"}
	l := fleet.Link{Source: &fleet.Cluster{Name: "west"}, Target: &fleet.Cluster{Name: "east"}, Spec: &api.LinkSpec{
		Controller: api.Controller{Mode: api.External}, RemoteDiscoverySelector: chosen,
	}}
	for version, held := range map[string]bool{"2.14.1": true, "2.16.0": true, "2.17.0": false, "2.18.0": false, "unknown": false} {
		for _, without := range []bool{true, false} {
			target := linkerd.Facts{Version: "2.18.0", Gateway: linkerd.Gateway{Disabled: without}}
			why := TooOld(Input{Link: l, Source: &linkerd.Facts{Version: version}, Target: &target})
			if got := why != nil; got != (held && without) || got && why.Code != reason.LinkerdTooOld {
				t.Errorf("%s, without a gateway %t: %v", version, without, why)
			}
		}
	}
}
