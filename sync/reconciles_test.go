package sync

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/apply"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/store"
)

// An unchanged fleet costs no request, sync after sync, and its rows are told again.
func TestSettled(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		time.Sleep(6 * time.Minute) // nothing leads here, and each source says so once
		r.asked()
		r.reported()
		time.Sleep(5 * time.Minute)
		all := r.reported()
		if len(all) < 4 || len(all) > 6 {
			t.Errorf("%d reports in five minutes", len(all))
		}
		for _, p := range all {
			if c := p.Counts(); !p.Clean() || c.Ready != 12 || c.Written > 0 || p.When != report.AtEnd {
				t.Errorf("a pass over what is settled: %+v %s", c, rows(p))
			}
		}
		if got := r.asked(); len(got) > 0 {
			t.Errorf("it asked %q", got)
		}
	})
}

// What somebody changes or deletes is repaired from the watch, by one write, and told.
func TestDriftIsRepaired(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		for what, move := range map[string]func(){
			"an edit":    func() { r.edit("west", probe, 1) },
			"a deletion": func() { _ = r.Cluster("west").Remove(probe) },
		} {
			r.asked()
			r.reported()
			move()
			time.Sleep(100 * time.Millisecond)
			if got := r.asked(); len(got) != 1 || !strings.HasPrefix(got[0], "west: ") || !strings.HasSuffix(got[0], probe.String()) {
				t.Errorf("%s: it asked %q", what, got)
			}
			time.Sleep(2 * time.Second)
			if all := r.reported(); len(all) != 1 || all[0].When == report.AtEnd || all[0].Counts().Written != 1 || !all[0].Clean() {
				t.Errorf("%s: told %+v", what, all)
			}
			time.Sleep(time.Second)
		}
		if got := r.asked(); len(got) > 0 {
			t.Errorf("afterwards it asked %q", got)
		}
	})
}

// A daemon follows what facts are read from, also where something of linkwright is edited at that moment: the sources of links are written again.
func TestFactsAreFollowed(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		for i, address := range []string{"192.0.2.77", "192.0.2.78"} {
			if i > 0 {
				edited := probe
				edited.Name = "probe-west"
				r.edit("east", edited, i)
			}
			if err := r.Cluster("east").SetGateway(address); err != nil {
				t.Fatal(err)
			}
			r.clean(30*time.Second, 12)
			for _, source := range []api.ClusterName{"north", "west"} {
				k := object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: probe.Namespace, Name: "east"}
				spec, _ := r.Cluster(source).Object(k)["spec"].(map[string]any)
				if spec["gatewayAddress"] != address {
					t.Errorf("%s in %s has the gateway %v, want %s", k, source, spec["gatewayAddress"], address)
				}
			}
		}
	})
}

// Where another cluster answers under a name, what differs there from ours is no drift: nothing is written to it.
func TestAnotherClusterIsNoDrift(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		r.asked()
		r.reported()
		if err := r.Cluster("west").Recreate("kubectl", object.Key{Kind: "Namespace", Name: "kube-system"}); err != nil {
			t.Fatal(err)
		}
		r.edit("west", probe, 1)
		time.Sleep(2 * time.Minute)
		for _, q := range memcluster.Written(r.asked()) {
			if strings.HasPrefix(q, "west: ") && q != "west: observe" {
				t.Errorf("it asked %s", q)
			}
		}
		all := r.reported()
		if len(all) == 0 {
			t.Fatal("no report")
		}
		if last := rows(all[len(all)-1]); !strings.Contains(last, "ClusterChanged") {
			t.Errorf("told: %s", last)
		}
	})
}

// Many edits are repaired each within a quarter of a second, and told at most every second.
func TestManyEdits(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(50*time.Second, 12)
		for _, name := range r.Names() {
			r.Cluster(name).Fault(func(f *memcluster.Faults) { f.Slow = 5 * time.Millisecond })
		}
		r.asked()
		keys := r.ours("west")
		for i := range 50 {
			r.edit("west", keys[i%len(keys)], i)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		writes := 0
		for _, q := range r.asked() {
			if strings.Contains(q, " update ") {
				writes++
			}
			if strings.Contains(q, "observe") {
				t.Errorf("it asked %s", q)
			}
		}
		if writes != 50 {
			t.Errorf("%d writes for 50 edits", writes)
		}
		if n := len(r.reported()); n > 5 {
			t.Errorf("%d reports in 2 s", n)
		}
	})
}

// A cluster that hangs delays neither links nor drift of the others, nor their reports; it is reconciled when it answers.
func TestHanging(t *testing.T) {
	turns(t, memcluster.Options{Timeout: 30 * time.Second}, memoryLink("west", "north"), func(r *memoryEnv) {
		r.clean(30*time.Second, 2)
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = true })
		r.declare("c2", memoryLink("west", "north")+memoryLink("north", "west"))
		time.Sleep(4 * time.Second)
		all := r.reported()
		if len(all) != 1 || all[0].Commit != "c2" || all[0].Counts().Ready != 4 || all[0].When != report.AtEnd {
			t.Fatalf("told of the commit: %d reports %s", len(all), rows(all[0]))
		}
		k := probe
		k.Name = "probe-north"
		r.asked()
		r.edit("west", k, 1)
		time.Sleep(50 * time.Millisecond)
		if got := r.asked(); len(got) != 1 || !strings.HasPrefix(got[0], "west: update") {
			t.Errorf("while east hangs, for an edit in west it asked %q", got)
		}
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = false })
		r.clean(3*time.Minute, 4)
	})
}

// At its beginning a term reads all clusters before it writes to any, but does not wait for long for one that hangs.
func TestHangingFromTheBeginning(t *testing.T) {
	hang := func(r *memoryEnv) { r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = true }) }
	begun(t, memcluster.Options{Timeout: 30 * time.Second}, memoryLink("west", "north"), hang, func(r *memoryEnv) {
		time.Sleep(1900 * time.Millisecond)
		for _, q := range r.asked() {
			if strings.Contains(q, " ") && !strings.HasSuffix(q, ": observe") && !strings.HasPrefix(q, "home") {
				t.Errorf("before it is known who is who: %s", q)
			}
		}
		time.Sleep(10 * time.Second)
		all := r.reported()
		if len(all) == 0 {
			t.Fatal("no report")
		}
		if all[0].Counts().Ready != 2 || all[0].Clusters[0].Status() != report.Unknown {
			t.Fatalf("told %d times: %s", len(all), rows(all[0]))
		}
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = false })
		r.declare("c2", memoryMesh)
		r.clean(3*time.Minute, 12)
	})
}

// Told to stop in the middle, a term ends once the writes under way have, and begins no others.
func TestStopped(t *testing.T) {
	slow := func(r *memoryEnv) {
		for _, name := range []api.ClusterName{"east", "north", "west"} {
			r.Cluster(name).Fault(func(f *memcluster.Faults) { f.Slow = time.Second })
		}
	}
	var set *memcluster.Clusters
	var stopped time.Time
	begun(t, memcluster.Options{}, memoryMesh, slow, func(r *memoryEnv) {
		set = r.Clusters
		time.Sleep(2500 * time.Millisecond)
		if writes := memcluster.Written(r.asked()); len(writes) == 0 {
			t.Error("nothing was written yet: the test proves nothing")
		}
		stopped = time.Now()
		r.ended = func() {
			if took := time.Since(stopped); took > 2*time.Second {
				t.Errorf("it took %v to end", took)
			}
			for _, name := range set.Names() {
				for _, q := range memcluster.Written(set.Cluster(name).Requests()) {
					t.Errorf("%s: %s, although it was told to stop", name, q)
				}
			}
		}
	})
}

// What takes something away is done only on what requests showed in the same sync.
func TestRequestedReadsHappen(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		r.asked()
		r.declare("c2", memoryLink("west", "north")+memoryLink("north", "west")+memoryLink("east", "north")+memoryLink("north", "east")+memoryLink("east", "west"))
		time.Sleep(50 * time.Second)
		observed := map[string]bool{}
		for _, q := range r.asked() {
			name, what, _ := strings.Cut(q, ": ")
			observed[name] = observed[name] || what == "observe"
			if strings.HasPrefix(what, "delete") && !observed[name] {
				t.Errorf("%s before it was read by requests", q)
			}
		}
		if got := slices.Sorted(maps.Keys(observed)); !observed["west"] || !observed["east"] {
			t.Errorf("read by requests: %v", got)
		}
		r.clean(time.Minute, 10)
	})
}

// What somebody deletes again and again is created each time, at once.
func TestDeletedAgainAndAgain(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		r.asked()
		for i := range 12 {
			if err := r.Cluster("west").Remove(probe); err != nil {
				r.t.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond)
			if n := len(memcluster.Written(r.asked())); n != 1 {
				t.Errorf("deletion %d: %d writes, want one", i, n)
			}
		}
	})
}

// What somebody changes again and again is left alone for a while, and then corrected once more.
func TestContested(t *testing.T) {
	turns(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.clean(30*time.Second, 12)
		r.asked()
		fight := func(times int) (writes int) {
			for i := range times {
				r.edit("west", probe, i)
				time.Sleep(500 * time.Millisecond)
			}
			return len(memcluster.Written(r.asked()))
		}
		if n := fight(12); n != store.MaxCorrections+1 {
			t.Errorf("%d writes for 12 edits, want %d", n, store.MaxCorrections+1)
		}
		last := r.reported()
		if c := last[len(last)-1].Counts(); c.Ready == 12 {
			t.Errorf("nothing is told of it: %s", rows(last[len(last)-1]))
		}
		time.Sleep(2 * time.Minute)
		if n := len(memcluster.Written(r.asked())); n != 1 {
			t.Errorf("%d writes in two minutes, want one once it was left alone", n)
		}
		if n := fight(6); n != 0 {
			t.Logf("%d writes afterwards", n)
		}
	})
}

// A cluster that people abandoned is given up if its account may do no write any more: by its rights, or because a policy denies it, or because values
// of Linkerd's installation are invalid there, which no declaration corrects. What failed otherwise may be done yet.
func TestRefusedWrites(t *testing.T) {
	code := func(c reason.Code) error { return errors.New(string(c)) }
	loop := &Loop{Errors: Errors{Explain: func(err error) object.Reason { return object.Reason{Code: reason.Code(err.Error())} }}}
	for _, tt := range []struct {
		action object.Action
		errs   []error
		want   bool
	}{
		{object.Delete, []error{code(reason.Forbidden), apply.ErrSkipped}, true},
		{object.Delete, []error{code(reason.AdmissionDenied)}, true},
		{object.Delete, []error{code(reason.Forbidden), code(reason.AdmissionDenied)}, true},
		{object.Delete, []error{code(reason.AdmissionDenied), code(reason.Invalid)}, false},
		{object.Patch, []error{code(reason.AdmissionDenied), code(reason.Invalid)}, true},
		{object.Patch, []error{code(reason.Invalid), nil}, false},
		{object.Patch, []error{code(reason.Conflict)}, false},
		{object.Delete, []error{code(reason.Forbidden), nil}, false},
		{object.Delete, []error{apply.ErrSkipped}, false},
		{object.Delete, nil, false},
	} {
		u := &reconcile{reader: reader{shared: shared{loop: loop}}}
		for _, err := range tt.errs {
			u.outcomes = append(u.outcomes, object.Outcome{Change: object.Change{Action: tt.action}, Err: err})
		}
		if got := u.refused(); got != tt.want {
			t.Errorf("%v: %t, want %t", tt.errs, got, tt.want)
		}
	}
}

// While a target hangs, a commit reaches the sources of links to it all the same: what is known of the target stays as it was.
func TestCommitBesideAHangingTarget(t *testing.T) {
	link := func(commit string) string {
		return strings.Replace(memoryLink("west", "east"), "target: east}", "target: east, excludedLabels: [commit-"+commit+"]}", 1) + memoryLink("east", "north")
	}
	turns(t, memcluster.Options{Timeout: 30 * time.Second}, link("1"), func(r *memoryEnv) {
		r.clean(30*time.Second, 4)
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = true })
		k := object.Key{Group: "multicluster.linkerd.io", Kind: "Link", Namespace: probe.Namespace, Name: "east"}
		for i := range 2 {
			commit := fmt.Sprint(i + 2)
			r.declare("c"+commit, link(commit))
			time.Sleep(3 * time.Second)
			spec, _ := r.Cluster("west").Object(k)["spec"].(map[string]any)
			if got := fmt.Sprint(spec["excludedLabels"]); !strings.Contains(got, "commit-"+commit) {
				t.Errorf("commit %s: the Link excludes %s", commit, got)
				for _, p := range r.reported() {
					t.Log(p.Commit, p.When, p.Counts(), rows(p))
				}
			}
		}
		r.Cluster("east").Fault(func(f *memcluster.Faults) { f.Hanging = false })
		r.clean(3*time.Minute, 4)
	})
}
