package report

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
)

// A suspended link that was written before does not stand for one that was never written.
func TestUnwritten(t *testing.T) {
	ready := []object.Condition{{Type: object.Ready, Status: object.True, Reason: "Healthy"}}
	pair := func(a, b api.ClusterName) api.Pair { return api.Pair{Source: a, Target: b} }
	overview := func(r Revision, links ...api.Pair) Overview {
		r.Applied, r.Observed = "x", "x"
		out := Overview{Opening: Opening{Revision: r}}
		for _, l := range links {
			out.Links = append(out.Links, RecordedLink{Pair: l, Source: RecordedEnd, Target: RecordedEnd, Conditions: ready})
		}
		for _, name := range []api.ClusterName{"a", "b", "c"} {
			out.Clusters = append(out.Clusters, RecordedCluster{Name: name, Applied: "x"})
		}
		return out
	}
	for name, tt := range map[string]struct {
		overview Overview
		want     int
	}{
		"all are written":                   {overview(Revision{Links: 2}, pair("a", "b"), pair("a", "c")), 0},
		"one is not":                        {overview(Revision{Links: 2}, pair("a", "b")), 1},
		"a suspended one is, another not":   {overview(Revision{Links: 2, SuspendedLinks: []api.Pair{pair("b", "a")}}, pair("a", "b"), pair("b", "a")), 1},
		"one of a suspended cluster is":     {overview(Revision{Links: 1, Suspended: []api.ClusterName{"c"}}, pair("a", "c")), 1},
		"a suspended one was never written": {overview(Revision{Links: 1, SuspendedLinks: []api.Pair{pair("b", "a")}}, pair("a", "b")), 0},
	} {
		if got := tt.overview.unwritten(); got != tt.want || tt.overview.AsDeclared() != (tt.want == 0) {
			t.Errorf("%s: %d are not written, want %d; clean %t", name, got, tt.want, tt.overview.AsDeclared())
		}
	}
}
