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

// Cluster is one cluster: its last step, and the outcome of every write of the sync.
type Cluster struct {
	Name     api.ClusterName
	Step     plan.Step
	Outcomes []object.Outcome
	Cleanup  []state.Pending // what it still holds of removed links, sorted by link
	Applied  api.Commit      // the revision that its base carried when it was read last; empty: none
	Paused   bool            // somebody paused it from inside
	Activity Activity
}

// Activity is what goes on in a cluster while a sync is under way.
type Activity struct {
	Asked time.Time // since when linkwright waits for an answer of the cluster; zero: it does not
	Read  bool      // it was read, or could not be
}

// Report is one sync of a fleet, clusters in name order. No body in it is ever shown.
type Report struct {
	Commit   api.Commit // the applied revision
	Head     api.Commit // the observed revision, applied or not; empty: none could be read
	Problems []api.Problem
	Clusters []Cluster
	Err      string // why there was no sync, or why the observed revision is not applied
	ReadOnly bool
	At       time.Time // when it was made, which ages are counted to; zero: none is shown
	When     When
	Since    time.Time     // when Commit was applied, as far as this process knows
	Polled   time.Time     // when the repository was read; zero: it could not be
	Took     time.Duration // of the sync; zero: not measured
	Until    time.Time     // until when a sync that is under way waits for what happens by itself; zero: it does not wait yet
	Installation
}

// Installation is what the record, the leases and the inventories of an installation say beside what was read; zero: they were not read for
// this report.
type Installation struct {
	Opening *Opening // what Status opens with; nil: with nothing
	// Recorded are conditions that inventories record; nil: they were not read.
	Recorded []LinkConditions
	// RecordedIn are the clusters whose inventories Recorded has.
	RecordedIn []api.ClusterName
	// Suspensions are those of an Overview; nil: the record was not read.
	Suspensions []Decision
	// NeverApplied says that the installation has no record, so it never applied anything, and that no process is about to.
	NeverApplied bool
}

// Uninstall is one that began and has not ended, as far as the record was read.
func (i Installation) Uninstall() Uninstall {
	if i.Opening == nil {
		return Uninstall{}
	}
	return i.Opening.Revision.Uninstall
}

// idle says that no process syncs a cluster now; false: one does, or nobody knows.
func (i Installation) idle(name api.ClusterName) bool {
	return i.Opening != nil && i.Opening.idle(name)
}

// unrecorded says of a link without inventories that it has none, since both clusters were asked, and that no process is about to write them.
func (i Installation) unrecorded(l LinkRow) bool {
	return i.idle(l.Pair.Source) && slices.Contains(i.RecordedIn, l.Source.End.Cluster) && slices.Contains(i.RecordedIn, l.Target.End.Cluster)
}

// LinkConditions are the conditions of one link as the inventories of both its ends record them, the source's first. Failed is that by which an end
// that leaves records which write failed; nil: none does.
type LinkConditions struct {
	Link       api.Pair
	Conditions []object.Condition
	Failed     *object.Condition
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

// Partial says that a sync has not read every cluster yet.
func (r Report) Partial() bool {
	return r.When == Syncing && (len(r.Clusters) == 0 || slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return !c.known() }))
}

// Write writes what the sync did in a format. No format shows a body, or a value of a Secret in any message.
func (r Report) Write(w io.Writer, f Format) error { return r.Answer().Write(w, f) }

// HasWrites says that the report has bodies of objects, which were or would be written.
func (r Report) HasWrites() bool { return len(bodiesOf(r)) > 0 }

// AsDeclared says that Clean is true, that no end is to be written or removed, and that Opening is clean: also of a sync that writes
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
			if !row.End.IsBase() || !row.HasNothingToReport() && row.Phase != plan.Removed && row.Phase != plan.Released && cl.Step.Denied == nil {
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
	case plan.Changing, plan.Removed, plan.Released:
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

// Clean says that everything is as declared, or suspended as declared, and nothing failed. While a sync is under way
// it is false.
func (r Report) Clean() bool {
	c := r.Counts()
	return r.Err == "" && r.When != Syncing && c.Failed+c.Blocked+c.Waiting+c.Denied+c.ClustersUnknown+c.ClustersDenied+c.Cleanup == 0
}
