package sync

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
)

// Each trial has its source look when the next one is due, also one that gave what the last one did: else there would be none.
func TestTriesGoOn(t *testing.T) {
	tt := atRest("west")
	tt.tries = newTries()
	l := tt.lanes["west"]
	for i, why := range []*object.Reason{nil, nil, object.Because("Forbidden", "no"), object.Because("Forbidden", "no")} {
		l.ready = false
		tt.prove(tried{Try: plan.Try{Link: api.Pair{Source: "west", Target: "east"}, Print: "p"}, why: why})
		if !l.ready {
			t.Errorf("after trial %d nobody asks when the next one is", i+1)
		}
	}
}
