// Package report answers: how is it shown, to people at a terminal or on a pull request, and to programs?
package report

import (
	"io"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// Cluster is one cluster: its last step, and what became of every write of the pass.
type Cluster struct {
	Name     api.ClusterName
	Step     plan.Step
	Outcomes []object.Outcome
	Cleanup  []state.Pending // what it still holds of removed links, sorted by link
	Applied  api.Commit      // the revision that its base carried when it was read last; empty: none
	Activity Activity
}

// Activity is what goes on in a cluster while a sync is under way.
type Activity struct {
	Asked time.Time // since when linkwright waits for an answer of the cluster; zero: it does not
	Read  bool      // it was read, or could not be
}

// Report is one pass over a fleet, clusters in name order. It holds no bodies that are ever shown.
type Report struct {
	Commit   api.Commit // in force
	Head     api.Commit // the newest that was seen, in force or not; empty: none could be read
	Problems []api.Problem
	Clusters []Cluster
	Err      string // why there was no pass, or only one of the last good commit
	ReadOnly bool
	At       time.Time // when it was made, which ages are counted to; zero: none is shown
	When     When
	Since    time.Time     // when Commit was put in force, as far as this process knows
	Polled   time.Time     // when the repository was read; zero: it could not be
	Took     time.Duration // of the pass; zero: not measured
	Opening  *Opening      // what Status opens with; nil: with nothing
	Until    time.Time     // until when a sync that is under way waits for what happens by itself; zero: it does not wait yet
	// Recorded are conditions that inventories record; nil: nobody read them for this report.
	Recorded []LinkConditions
}

// LinkConditions are the conditions of one link as the inventories of both its ends record them, the source's first.
type LinkConditions struct {
	Link       api.Pair
	Conditions []object.Condition
}

// When says when a report is made.
//
//	AtEnd    a sync has ended: what it did
//	Between  no sync is under way: what was done since the last report, and how all is now
//	Syncing  a sync is under way: how all is so far. What was done is in the next report, too
type When string

// When a report is made.
const (
	AtEnd   When = ""
	Between When = "Between"
	Syncing When = "Syncing"
)

// Partial says that a pass has not looked at every cluster yet.
func (r Report) Partial() bool {
	return r.When == Syncing && (len(r.Clusters) == 0 || slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return !c.looked() }))
}

// Write writes what the sync did in a format. No format shows a body, or a value of a Secret in any message.
func (r Report) Write(w io.Writer, f Format) error { return r.Answer().Write(w, f) }

// AsDeclared says that Clean is true, that no end is to be written or removed, and that Opening is clean: also of a pass that writes
// nothing.
func (r Report) AsDeclared() bool {
	c := r.Counts()
	return r.Clean() && c.Changing == 0 && (r.Opening == nil || r.Opening.current())
}

// Counts sums a report up. Ends are counted as they are after the sync, bases if there is anything to say of them.
type Counts struct {
	Written, Failed                                      int // writes
	Ready, Changing, Suspended, Blocked, Waiting, Denied int // ends
	ClustersUnknown, ClustersDenied                      int
	Cleanup                                              int // ends of removed links that wait in clusters that could not be read
}

// Counts sums a report up.
func (r Report) Counts() Counts {
	var c Counts
	for _, cl := range r.Clusters {
		for _, o := range cl.Outcomes {
			if o.Err != nil {
				c.Failed++
			} else {
				c.Written++
			}
		}
		switch cl.Status() {
		case Unknown:
			c.ClustersUnknown++
		case Denied:
			c.ClustersDenied++
		}
		c.Cleanup += len(cl.Cleanup)
		for _, row := range cl.Step.Rows {
			if !row.End.IsBase() || !row.HasNothingToReport() && row.Phase != plan.Removed && cl.Step.Denied == nil {
				c.count(row.Phase)
			}
		}
	}
	return c
}

func (c *Counts) count(s plan.Phase) {
	switch s {
	case plan.Ready:
		c.Ready++
	case plan.Changing, plan.Removed:
		c.Changing++
	case plan.Suspended:
		c.Suspended++
	case plan.Blocked:
		c.Blocked++
	case plan.Waiting:
		c.Waiting++
	case plan.Denied:
		c.Denied++
	}
}

// Clean says that everything declared is in place, or suspended as declared, and nothing failed. While a pass is under way
// nobody knows.
func (r Report) Clean() bool {
	c := r.Counts()
	return r.Err == "" && r.When != Syncing && c.Failed+c.Blocked+c.Waiting+c.Denied+c.ClustersUnknown+c.ClustersDenied+c.Cleanup == 0
}
