package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// What left the repository is declared to leave, but for a cluster that people abandon and that cannot be read, or not all of it, or whose values are
// still to be put back: only one that is not declared is given up.
func TestUninstallRemembers(t *testing.T) {
	base, err := inventory.Inventory{End: object.End{Cluster: "set"}, Values: []inventory.Value{{Path: "proxy.await", Set: "false"}}}.Object("")
	if err != nil {
		t.Fatal(err)
	}
	set := object.Observation{}.Edit()
	set.Put(base.Key, object.Written(base), base.Body)
	abandoned := map[api.ClusterName]bool{"dead": true, "hiding": true, "set": true, "sound": true}
	w := state.Snapshot{Record: state.Record{Abandoned: abandoned}, Clusters: map[api.ClusterName]state.Cluster{
		"dead":   {},
		"hiding": {Reading: state.Read, Live: object.Observation{Hidden: []object.Hidden{{Key: object.Key{Kind: "Secret"}}}}},
		"set":    {Reading: state.Read, Live: set.Observation()},
		"sound":  {Reading: state.Read},
		"other":  {},
	}}
	for _, name := range []api.ClusterName{"dead", "hiding", "other", "set", "sound"} {
		w.Departed = append(w.Departed, fleet.Cluster{Name: name})
	}
	got := engine{}.remembered(w)
	if len(got) != 2 || got[0].Name != "other" || got[1].Name != "sound" {
		t.Errorf("declared to leave: %v", got)
	}
}

// An uninstall warns of clusters and links that are still declared: the next sync writes them again.
func TestUninstallWarns(t *testing.T) {
	const clusters = `
apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: west}
spec: {access: {kubeconfigSecret: {name: west}}}
---
apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: east}
spec: {access: {kubeconfigSecret: {name: east}}}
`
	const link = `---
apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: west-east}
spec: {source: west, target: east}
`
	for declared, want := range map[string]string{
		strings.ReplaceAll(clusters, "spec: {", "spec: {state: Leaving, "): "", clusters: "still declares 2 clusters. The next sync",
		clusters + link: "still declares 2 clusters and 1 link. The next sync writes that again: remove the declarations, or keep the daemon stopped and run no sync.",
	} {
		f, problems := fleet.Load("", fstest.MapFS{"fleet.yaml": {Data: []byte(declared)}})
		if f == nil {
			t.Fatal(problems)
		}
		if got := stillDeclared(f); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("warns %q, want %q", got, want)
		}
	}
}

// Why a cluster was not read stands above what is left, and is not said again.
func TestSayLeftUnread(t *testing.T) {
	var notes strings.Builder
	why := object.Because(reason.Timeout, "the API server does not answer")
	sayLeft(printer{notes: &notes}, []plan.LeftOver{{Cluster: "east", Unread: why}}, "left")
	if got, want := notes.String(), "east: linkwright does not know what is left there: it was not read (Timeout)\n"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}
