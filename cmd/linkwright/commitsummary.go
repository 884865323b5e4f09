package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/forge"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// commitSummary says in a few words what became of the newest commit:
//
//	success   it is applied, and everything is as declared
//	pending   something is still to be written, or must happen by itself first
//	failure   it is not applied; or something is blocked, denied, could not be read or failed
//	error     Git, or this process, is in trouble
func commitSummary(r report.Report) (forge.State, string) {
	state, text := forge.Success, counted(r)
	switch {
	case r.Head != "" && r.Head != r.Commit:
		state, text = forge.Failure, notApplied(r)
	case r.Err != "":
		state, text = forge.Error, "the last sync failed: see linkwright's report"
	case failed(r):
		state = forge.Failure
	case underWay(r):
		state = forge.Pending
	}
	if runes := []rune(text); len(runes) > forge.MaxDescription {
		text = string(runes[:forge.MaxDescription-1]) + "…"
	}
	return state, text
}

func notApplied(r report.Report) string {
	text := "not applied: see linkwright's report"
	if wrong := wrongs(r.Problems); wrong > 0 {
		text = "not applied: " + object.Count(wrong, "error") + " in the declarations"
	}
	if r.Commit != "" {
		text += "; the applied revision is " + r.Commit.Short()
	}
	return text
}

func wrongs(problems []api.Problem) int {
	n := 0
	for _, p := range problems {
		if !p.Warning {
			n++
		}
	}
	return n
}

func failed(r report.Report) bool {
	c := r.Counts()
	if c.Failed+c.Blocked+c.Denied+c.ClustersUnknown+c.ClustersDenied > 0 {
		return true
	}
	return slices.ContainsFunc(r.Clusters, func(cl report.Cluster) bool { return cl.Status() != report.Ready })
}

// underWay says that a write is planned and not done, or linkwright waits for something.
func underWay(r report.Report) bool {
	for _, c := range r.Clusters {
		if c.Step.Writes() > 0 && len(c.Outcomes) == 0 {
			return true
		}
		for _, row := range c.Step.Rows {
			if row.Phase == plan.Waiting || row.Phase == plan.Changing {
				return true
			}
		}
	}
	return false
}

// counted is the report in figures: clusters, links by status, failed writes.
func counted(r report.Report) string {
	links := report.Links(r)
	statuses := map[report.Status]int{}
	for _, l := range links {
		statuses[l.Status()]++
	}
	var counts []string
	for _, s := range report.Statuses() {
		if statuses[s] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", statuses[s], s))
		}
	}
	parts := []string{object.Count(len(r.Clusters), "cluster") + ", " + object.Count(len(links), "link")}
	if len(counts) > 0 {
		parts[0] += ": " + strings.Join(counts, ", ")
	}
	clusters := map[report.Status]int{}
	for _, c := range r.Clusters {
		clusters[c.Status()]++
	}
	for _, s := range []report.Status{report.Unknown, report.Denied} {
		if clusters[s] > 0 {
			parts = append(parts, object.Count(clusters[s], "cluster")+" "+string(s))
		}
	}
	if n := r.Counts().Failed; n > 0 {
		parts = append(parts, object.Count(n, "write")+" failed")
	}
	return strings.Join(parts, "; ")
}
