package report

import (
	"fmt"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/report/output"
)

// Workload is a workload with proxies in a cluster.
type Workload struct {
	Cluster               api.ClusterName
	Kind, Namespace, Name string
	Reconcile             bool
	Pods, Outdated        int
	Differences           []string
	Unknown               *object.Reason // why nobody knows whether a restart would change it; nil: it is known
}

// Statuses of workloads.
const (
	workloadCurrent  = "Current"
	workloadOutdated = "Outdated"
	workloadUnknown  = "Unknown"
)

func (w Workload) status() string {
	switch {
	case w.Unknown != nil:
		return workloadUnknown
	case w.Outdated > 0:
		return workloadOutdated
	}
	return workloadCurrent
}

// Workloads lists workloads, in their order.
func Workloads(all []Workload) Listing {
	m, out := redacting(nil), make([]output.Workload, 0, len(all))
	for _, w := range all {
		out = append(out, output.Workload{
			TypeMeta: output.Of(output.KindWorkload), Cluster: string(w.Cluster), Namespace: w.Namespace, WorkloadKind: w.Kind, Name: w.Name, Status: w.status(),
			Reconcile: w.Reconcile, Pods: w.Pods, OutdatedPods: w.Outdated, Differences: w.Differences, Reason: m.reason(w.Unknown),
		})
	}
	return listing(output.KindWorkloadList, out, func(all []output.Workload, _ bool) [][]string { return workloadRows(all) })
}

func workloadRows(all []output.Workload) [][]string {
	rows := [][]string{{"cluster", "namespace", "workload", "status", "pods", "message"}}
	for _, w := range all {
		pods, message := fmt.Sprintf("%d/%d", w.Pods-w.OutdatedPods, w.Pods), sentence(w.Reason)
		if w.Status == workloadUnknown {
			pods = fmt.Sprintf("?/%d", w.Pods)
		}
		if len(w.Differences) > 0 {
			message = "a restart changes " + object.FirstNames(w.Differences, 3)
		}
		rows = append(rows, []string{w.Cluster, w.Namespace, w.WorkloadKind + "/" + w.Name, w.Status, pods, message})
	}
	return rows
}

// SumOfWorkloads is one line about all workloads.
func SumOfWorkloads(all []Workload) string {
	n := map[string]int{}
	for _, w := range all {
		n[w.status()]++
	}
	line := fmt.Sprintf("%s: %d %s, %d %s", object.Count(len(all), "workload"), n[workloadOutdated], workloadOutdated, n[workloadCurrent], workloadCurrent)
	if n[workloadUnknown] > 0 {
		line += fmt.Sprintf(", %d %s", n[workloadUnknown], workloadUnknown)
	}
	return line
}
