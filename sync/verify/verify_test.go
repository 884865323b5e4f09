package verify

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/store"
)

// Each verification has its source look when the next one is due, also one that gave what the last one did: else there would be none. Who verifies
// once has it read news alone.
func TestVerifyGoesOn(t *testing.T) {
	link := api.Pair{Source: "west", Target: "east"}
	for again, want := range map[bool][]bool{true: {true, true, true, true}, false: {true, false, true, false}} {
		var requests []api.ClusterName
		v := New(Options{Store: store.New(store.Settings{}), Repeat: again, Reconcile: func(n api.ClusterName) { requests = append(requests, n) }})
		for i, why := range []*object.Reason{nil, nil, object.Because(reason.Forbidden, "no"), object.Because(reason.Forbidden, "no")} {
			requests = nil
			v.record(outcome{Verification: plan.Verification{Link: link, Fingerprint: "p"}, why: why})
			if got := len(requests) == 1 && requests[0] == "west"; got != want[i] {
				t.Errorf("again %t, verification %d: its source looks: %t, want %t", again, i+1, got, want[i])
			}
		}
	}
}
