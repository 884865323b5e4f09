package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/credential"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// fleet returns a report of so many clusters and of links from cluster to cluster, each with all that a metric can show of it.
func fleetOf(clusters, links int) report.Report {
	r := report.Report{Commit: "0123", Head: "0123"}
	for i := range clusters {
		r.Clusters = append(r.Clusters, report.Cluster{Name: api.ClusterName(fmt.Sprint("c", i)), Step: plan.Step{Cluster: api.ClusterName(fmt.Sprint("c", i))}})
	}
	at := time.Unix(1_700_000_000, 0)
	for i := range links {
		c := &r.Clusters[i%clusters]
		end := object.End{Cluster: c.Name, Link: api.Pair{Source: c.Name, Target: api.ClusterName(fmt.Sprint("t", i))}}
		c.Step.Rows = append(c.Step.Rows, plan.Row{End: end, Phase: plan.Ready, Times: plan.LinkTimes{Ready: at, Credential: credential.Validity{Issued: at, Expires: at}}})
		c.Cleanup = append(c.Cleanup, state.Pending{Link: end.Link, Since: at})
		c.Outcomes = append(c.Outcomes, object.Outcome{Change: object.Change{End: end, Why: object.Reason{Code: reason.Drift}}})
	}
	return r
}

// series counts what one scrape takes in of linkwright, histograms with all of their series.
func series(t *testing.T, s *Server) (n int) {
	t.Helper()
	for line := range strings.Lines(ask(s, "GET", "/metrics").Body.String()) {
		if strings.HasPrefix(line, "linkwright_") {
			n++
		}
	}
	return n
}

// published returns how many series a server has that shows a report, after each cluster was reconciled.
func published(t *testing.T, s *Server, r report.Report) int {
	t.Helper()
	for _, c := range r.Clusters {
		s.Reconciled(c.Name, time.Second)
	}
	s.Publish(r)
	return series(t, s)
}

// The page of metrics says how many series each link and each cluster adds.
func TestSeries(t *testing.T) {
	empty := published(t, New(Options{}), fleetOf(2, 0))
	if got := published(t, New(Options{}), fleetOf(2, 10)) - empty; got != 10*SeriesOfLink() {
		t.Errorf("10 links add %d series, want %d", got, 10*SeriesOfLink())
	}
	if got := published(t, New(Options{}), fleetOf(5, 0)) - empty; got != 3*SeriesOfCluster() {
		t.Errorf("3 clusters add %d series, want %d", got, 3*SeriesOfCluster())
	}
}

// What is gone leaves no series behind, also what drift was corrected of it.
func TestSeriesEnd(t *testing.T) {
	s := New(Options{})
	before := published(t, s, fleetOf(1, 0))
	published(t, s, fleetOf(4, 40))
	if got := published(t, s, fleetOf(1, 0)); got != before {
		t.Errorf("%d series once 40 links and 3 clusters are gone, want %d", got, before)
	}
	last := fleetOf(1, 1)
	last.When, last.Clusters[0].Step.Rows[0].Leaving, last.Clusters[0].Cleanup = report.Between, true, nil
	published(t, s, last)
	if got := published(t, s, fleetOf(1, 0)); got != before {
		t.Errorf("%d series after a link that was corrected while it left, want %d", got, before)
	}
}
