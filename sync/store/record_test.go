package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/prune/inventory"
)

// Overrides count before the record; what cannot be acted upon, or is over, does not count.
func TestDecide(t *testing.T) {
	o := Overrides{Accepted: map[api.ClusterName]string{"east": "flag"}, Abandoned: map[api.ClusterName]bool{"north": true}, Allowed: []api.Commit{"0123456"}}
	commit := api.Commit("0123456789012345678901234567890123456789")
	got := decide(o, []inventory.Decision{
		{Kind: inventory.AcceptCluster, Cluster: "east", UID: "record"},
		{Kind: inventory.AcceptCluster, Cluster: "west", UID: "w"},
		{Kind: inventory.AcceptCluster, Cluster: "south"},
		{Kind: inventory.AbandonCluster, Cluster: "south"},
		{Kind: inventory.AllowNonFastForward, Revision: commit},
		{Kind: inventory.AllowNonFastForward, Revision: "main"},
		{Kind: inventory.Suspend, Cluster: "east", Until: time.Now().Add(-time.Second)},
		{Kind: inventory.Suspend, Cluster: "west"},
		{Kind: inventory.Reconcile, Cluster: "west"},
	})
	want := decided{
		accepted:  map[api.ClusterName]string{"east": "flag", "west": "w"},
		abandoned: map[api.ClusterName]bool{"north": true, "south": true},
		allowed:   []api.Commit{"0123456", commit},
		suspended: []inventory.Decision{{Kind: inventory.Suspend, Cluster: "west"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(decided{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
