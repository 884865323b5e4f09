package report

import (
	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/rollout"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Restarts is what a person decided about restarts in a cluster.
type Restarts struct {
	Cluster api.ClusterName
	Paused  bool
	Undone  []rollout.Ref
}

// RestartsList lists decisions about restarts, in their order.
func RestartsList(all []Restarts) Listing {
	out := make([]output.Restarts, 0, len(all))
	for _, r := range all {
		one := output.Restarts{TypeMeta: output.Of(output.KindRestarts), Cluster: string(r.Cluster), Status: "Resumed"}
		if r.Paused {
			one.Status = "Paused"
		}
		for _, u := range r.Undone {
			one.Undone = append(one.Undone, object.Key{Group: "apps", Kind: u.Kind, Namespace: u.Namespace, Name: u.Name})
		}
		out = append(out, one)
	}
	return listing(output.KindRestartsList, out, func(all []output.Restarts, _ bool) [][]string { return restartsRows(all) })
}

func restartsRows(all []output.Restarts) [][]string {
	rows := [][]string{{"cluster", "restarts", "undone"}}
	for _, r := range all {
		names := make([]string, len(r.Undone))
		for i, k := range r.Undone {
			names[i] = k.Kind + " " + k.Namespace + "/" + k.Name
		}
		rows = append(rows, []string{r.Cluster, r.Status, object.FirstNames(names, max(len(names), 1))})
	}
	return rows
}
