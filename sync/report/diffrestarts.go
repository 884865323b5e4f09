package report

import (
	"fmt"
	"strconv"

	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report/output"
)

// followingOf returns the restarts that may follow a change, in their order.
func followingOf(all []plan.Restarts) (out []output.FollowingRestarts) {
	for _, r := range all {
		one := output.FollowingRestarts{
			Cluster: string(r.Cluster), Rollout: r.Declared.From, Wave: r.Declared.Wave + 1,
			AtOnce: *r.Declared.MaxUnavailableWorkloads, PerNamespace: *r.Declared.PerNamespace,
		}
		if r.Workloads >= 0 {
			one.Workloads = new(r.Workloads)
		}
		out = append(out, one)
	}
	return out
}

// followingHead says what the table of restarts is about.
const followingHead = "Workloads that opt in restart after that if their proxies are outdated, wave by wave:\n"

func followingRows(all []output.FollowingRestarts) [][]string {
	rows := [][]string{{"wave", "cluster", "workloads", "at once", "rollout"}}
	for _, r := range all {
		workloads := "not counted yet"
		if r.Workloads != nil {
			workloads = fmt.Sprintf("%d at most", *r.Workloads)
		}
		rows = append(rows, []string{strconv.Itoa(r.Wave), r.Cluster, workloads, fmt.Sprintf("%d, %d of a namespace", r.AtOnce, r.PerNamespace), r.Rollout})
	}
	return rows
}

func (d diffDoc) followingText() string {
	if len(d.Restarts) == 0 {
		return ""
	}
	return followingHead + table(followingRows(d.Restarts))
}

func (d diffDoc) followingMarkdown() string {
	if len(d.Restarts) == 0 {
		return ""
	}
	return followingHead + "\n" + markdownTable(followingRows(d.Restarts))
}
