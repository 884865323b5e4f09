package main

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
)

// An adoption of a base is about that of one cluster, and one of a link about both ends of it.
func TestProofBlocks(t *testing.T) {
	link := api.Pair{Source: "west", Target: "east"}
	blocked := func(end object.End) plan.Step {
		return plan.Step{Rows: []plan.Row{{End: end, Phase: plan.Blocked, Why: object.Because(reason.ObjectExists, "it exists")}}}
	}
	for name, tt := range map[string]struct {
		adopted, blocked object.End
		want             bool
	}{
		"the base":               {object.End{Cluster: "west"}, object.End{Cluster: "west"}, true},
		"another cluster's base": {object.End{Cluster: "west"}, object.End{Cluster: "north"}, false},
		"the link's other end":   {object.End{Cluster: "west", Link: link}, object.End{Cluster: "east", Link: link}, true},
		"another link":           {object.End{Cluster: "west", Link: link}, object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}, false},
	} {
		p := &proof{blocked: map[object.End]*object.Reason{}}
		p.block([]plan.Step{blocked(tt.blocked)}, map[object.End]bool{about(tt.adopted): true})
		if got := p.blocked[tt.blocked] != nil; got != tt.want {
			t.Errorf("%s is blocked: %t, want %t", name, got, tt.want)
		}
	}
}
