package sync

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

// sofar returns the reports of syncs under way since this was asked last.
func (r *memoryEnv) sofar() []report.Report {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.meanwhile
	r.meanwhile = nil
	return out
}

// Two seconds after a start there is a report, whatever the first sync waits for: it says that nothing was read yet.
func TestReportWithinTwoSeconds(t *testing.T) {
	hang := func(r *memoryEnv) {
		for _, name := range r.Names() {
			if name != "home" {
				r.Cluster(name).Fault(func(f *memcluster.Faults) { f.Hanging = true })
			}
		}
	}
	begun(t, memcluster.Options{Timeout: 30 * time.Second}, memoryLink("west", "east"), hang, func(r *memoryEnv) {
		time.Sleep(2 * time.Second)
		all := r.sofar()
		if len(all) == 0 || len(r.reported()) > 0 {
			r.t.Fatalf("%d reports of the pass under way", len(all))
		}
		last := all[len(all)-1]
		if len(last.Clusters) != 3 || last.Clean() || last.Head != "c1" || last.Counts().Ready > 0 {
			r.t.Errorf("commit %q, head %q, clean %t, %+v", last.Commit, last.Head, last.Clean(), last.Counts())
		}
		for _, c := range last.Clusters {
			if why := c.Why(); c.Status() != report.Unknown || !strings.Contains(why.Message, "has not read cluster") {
				r.t.Errorf("%s is %s: %v", c.Name, c.Status(), why)
			}
		}
		if links := report.Links(last); len(links) != 1 || links[0].Phase != report.Unseen {
			r.t.Errorf("links: %+v", links)
		}
	})
}

// While a sync waits, reports say which revision it applies and what it waits for, once a second at most, and only if something changed.
func TestReportsWhileASyncWaits(t *testing.T) {
	turns(t, memcluster.Options{TokenAfter: 40 * time.Second}, memoryLink("west", "east"), func(r *memoryEnv) {
		r.clean(2*time.Minute, 2)
		r.sofar()
		r.declare("c2", memoryLink("west", "east")+memoryLink("west", "north"))
		time.Sleep(2 * time.Second)
		all := r.sofar()
		if len(all) == 0 || len(all) > 2 {
			r.t.Fatalf("%d reports in 2 s", len(all))
		}
		last := all[len(all)-1]
		phases := map[string]plan.Phase{}
		for _, l := range report.Links(last) {
			phases[l.Pair.String()] = l.Phase
		}
		if last.Commit != "c2" || last.When != report.Syncing || last.Clean() || phases["west→east"] != plan.Ready || phases["west→north"] == plan.Ready {
			r.t.Errorf("commit %s, syncing %t, clean %t, links %v", last.Commit, last.When == report.Syncing, last.Clean(), phases)
		}
		if last.Counts().Written == 0 {
			r.t.Error("what was written so far is not told")
		}
		time.Sleep(30 * time.Second)
		if all := r.sofar(); len(all) > 5 {
			r.t.Errorf("%d reports in 30 s in which little changes", len(all))
		}
	})
}

// A missing right is named with the command that grants it, also if it is one of the dry runs, which read first.
func TestExplainedRight(t *testing.T) {
	const grant = "linkwright cluster add --all PATH"
	l := &Loop{Options: Options{Owner: "linkwright"}, Management: record.ManagementCluster{Namespace: "linkwright"}}
	l.Explain = func(err error) object.Reason { return object.Reason{Code: reason.Forbidden, Message: err.Error()} }
	for message, want := range map[string]string{
		`services "web-east" is forbidden: cannot delete resource "services"`:   grant + " --sweep",
		`services "web-east" is forbidden: cannot get resource "services"`:      grant + " --sweep",
		`endpoints "web-east" is forbidden: cannot get resource "endpoints"`:    grant + " --sweep",
		`services "probe-east" is forbidden: cannot delete resource "services"`: grant,
		`secrets "a" is forbidden: cannot get resource "secrets"`:               grant,
	} {
		if got := l.Explained(errors.New(message)).Message; got != message+": "+want {
			t.Errorf("%s: %s", message, got)
		}
	}
}

// What takes long is called less often, so that it takes at most a tenth of the time.
func TestRegularly(t *testing.T) {
	for took, want := range map[time.Duration]int{0: 60, 2 * time.Second: 4} { // in a minute, with a second between calls
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			stop := regularly(time.Second, func() {
				calls++
				time.Sleep(took)
			})
			time.Sleep(time.Minute + time.Millisecond)
			stop()
			if calls < want-1 || calls > want {
				t.Errorf("of %s: %d calls in a minute, want %d", took, calls, want)
			}
		})
	}
}

// Of one end the first failure counts, unless it is a Conflict and another one is none.
func TestFailedWrites(t *testing.T) {
	east, west := object.End{Cluster: "east"}, object.End{Cluster: "west"}
	conflict, forbidden := errors.New("Conflict"), errors.New("Forbidden")
	explain := func(err error) *object.Reason { return &object.Reason{Code: reason.Code(err.Error())} }
	got := failedWrites([]object.Outcome{
		{Change: object.Change{End: west}, Err: conflict},
		{Change: object.Change{End: west}, Err: forbidden},
		{Change: object.Change{End: west}, Err: conflict},
		{Change: object.Change{End: west}, Err: apply.ErrSkipped},
		{Change: object.Change{End: east}, Err: apply.ErrSkipped},
		{Change: object.Change{End: east}},
	}, explain)
	if len(got) != 1 || got[west].why.Code != reason.Forbidden {
		t.Errorf("%+v", got)
	}
}
