package record

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/plan"
)

// A step replaces only the denial that it was planned from: another process may have written its own meanwhile. Whose removal was let
// through, and who is declared again, is remembered.
func TestJudgedIsWrittenDown(t *testing.T) {
	denial := func(name api.ClusterName) *inventory.Denial {
		units := []inventory.Unit{{Kind: inventory.UnitCluster, Cluster: name}}
		return &inventory.Denial{Hash: inventory.HashOf(units), Units: units}
	}
	a, b := denial("a"), denial("b")
	for _, tt := range []struct{ there, was, denied, want *inventory.Denial }{
		{nil, nil, a, a}, {a, a, nil, nil}, {a, a, b, b}, {b, a, nil, b}, {b, nil, a, b},
	} {
		r := inventory.Record{Denied: tt.there}
		if news := addJudged(&r, plan.RemovalChanges{Changed: true, Was: tt.was, Denied: tt.denied}); !r.Denied.Same(tt.want) || news != !tt.there.Same(tt.want) {
			t.Errorf("%+v: %+v, news %t", tt, r.Denied, news)
		}
	}
	r := inventory.Record{Clusters: map[api.ClusterName]inventory.KnownCluster{"a": {}, "b": {Leaving: true}}}
	if news := addJudged(&r, plan.RemovalChanges{Changed: true, Retire: []api.ClusterName{"a", "unknown"}, Stay: []api.ClusterName{"b"}}); !news {
		t.Error("no news")
	}
	if !r.Clusters["a"].Leaving || r.Clusters["b"].Leaving || len(r.Clusters) != 2 {
		t.Errorf("%+v", r.Clusters)
	}
}
