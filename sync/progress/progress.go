// Package progress answers: what does work under way wait for, since when, and until when?
package progress

import (
	"cmp"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
)

// View is what reports of work under way have said so far. Next makes it of the last one, so that it follows from the sequence of reports.
type View struct {
	Title   string        // of the work, such as "sync"
	Began   time.Time     // when the work began
	Timeout time.Duration // of one request to a cluster; zero: not known
	// Awaited is what is waited for as long as no cluster is known, and since when.
	Awaited string
	Since   time.Time
	Until   time.Time // until when the work waits for what happens by itself; zero: it does not wait yet
	Rows    []Row     // clusters by name, and after each the links from it
}

// Row is how a cluster or a link is, and since when.
type Row struct {
	report.Standing
	Since time.Time
}

// key is what a row is about.
type key struct {
	cluster api.ClusterName
	link    api.Pair
}

func (r Row) key() key { return key{r.Cluster, r.Link} }

// code is the reason of a row in one word.
func (r Row) code() reason.Code {
	if r.Reason == nil {
		return ""
	}
	return r.Reason.Code
}

// same says that two rows are no transition.
func (r Row) same(o Row) bool { return r.Status == o.Status && r.code() == o.code() }

// done says that nothing is waited for, and no person has to act.
func (r Row) done() bool {
	switch r.Status {
	case report.Ready, report.Suspended, report.Removed, report.Released:
		return r.Asked.IsZero()
	}
	return false
}

// Wait begins to wait for something before clusters are known, such as the repository.
func (v View) Wait(what string, now time.Time) View {
	if v.Awaited != what {
		v.Awaited, v.Since = what, now
	}
	v.Rows = nil
	return v
}

// Next is the view after a report, and the rows that are a transition. A row that is seen for the first time, and is done, is none.
func (v View) Next(r report.Report, now time.Time) (View, []Row) {
	v.Until = r.Until
	if r.Clusters == nil {
		return v.Wait(before(r), now), nil
	}
	was := make(map[key]Row, len(v.Rows))
	for _, row := range v.Rows {
		was[row.key()] = row
	}
	v.Awaited, v.Rows = "", nil
	var moved []Row
	for _, s := range r.Standings() {
		row := Row{s, now}
		last, known := was[row.key()]
		switch {
		case known && last.same(row):
			row.Since = last.Since
		case row.Status != "" && (!row.done() || known && last.Status != ""):
			moved = append(moved, row)
		}
		v.Rows = append(v.Rows, row)
	}
	return v, moved
}

// before is what a report waits for that knows no clusters.
func before(r report.Report) string {
	if r.Head == "" {
		return "the repository"
	}
	return "the management cluster"
}

// worst orders rows by who needs attention first: what somebody must act on, what is waited for, what is done.
func worst(a, b Row) int { return cmp.Compare(weight(a), weight(b)) }

func weight(r Row) int {
	switch {
	case r.done():
		return 2
	case r.Status.Symbol() == report.Denied.Symbol():
		return 0
	}
	return 1
}
