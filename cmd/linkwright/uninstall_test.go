package main

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/state"
)

// What left the repository is declared to leave, but for a cluster that people abandon and that cannot be read, or not all of it: only one
// that is not declared is given up.
func TestUninstallRemembers(t *testing.T) {
	w := state.Snapshot{Record: state.Record{Abandoned: map[api.ClusterName]bool{"dead": true, "hiding": true, "sound": true}}, Clusters: map[api.ClusterName]state.Cluster{
		"dead":   {},
		"hiding": {Reading: state.Read, Live: object.Observation{Hidden: []object.Hidden{{Key: object.Key{Kind: "Secret"}}}}},
		"sound":  {Reading: state.Read},
		"other":  {},
	}}
	for _, name := range []api.ClusterName{"dead", "hiding", "other", "sound"} {
		w.Departed = append(w.Departed, fleet.Cluster{Name: name})
	}
	got := engine{}.remembered(w)
	if len(got) != 2 || got[0].Name != "other" || got[1].Name != "sound" {
		t.Errorf("declared to leave: %v", got)
	}
}
