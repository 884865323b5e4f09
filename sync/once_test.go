package sync

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkwright/linkwright/hack/memcluster"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/state"
)

// single runs single passes over east, north and west, each of a process of its own.
func single(t *testing.T, o memcluster.Options, links string, f func(*memoryEnv)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newMemoryEnv(t, o, links)) })
}

// once makes one sync, after which so many ends must be in place.
func (r *memoryEnv) once(ends int) report.Report {
	r.t.Helper()
	got, err := r.loop().Once(r.t.Context(), 1)
	if c := got.Counts(); err != nil || !got.Clean() || c.Ready != ends {
		r.t.Fatalf("%+v, want %d in place: %v%s", c, ends, err, rows(got))
	}
	return got
}

// tallied counts what a cluster was asked: its reads, and each write.
func tallied(asked []string, name string) map[string]int {
	out := map[string]int{}
	for _, q := range asked {
		if of, what, _ := strings.Cut(q, ": "); of == name {
			out[what]++
		}
	}
	return out
}

// reads says how often clusters must have been looked at.
func (r *memoryEnv) reads(what string, asked []string, want map[string]int) {
	r.t.Helper()
	for name, n := range want {
		if got := tallied(asked, name)["observe"]; got != n {
			r.t.Errorf("%s: %d looks at %s, want %d", what, got, name, n)
		}
	}
}

// A sync reads each cluster whole once: that is two reads, of its inventories and of all else. What it writes is not read again, but for what goes
// on by itself: tokens in the target of a link, Deployments in its source.
func TestOnceReadsOnce(t *testing.T) {
	single(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
		r.once(2)
		first := r.asked()
		r.reads("first apply", first, map[string]int{"west": 3, "east": 3, "north": 2})
		for what, n := range tallied(first, "west") {
			if what != "observe" && n != 1 {
				t.Errorf("first apply: %d times %s", n, what)
			}
		}
		r.once(2)
		still := r.asked()
		r.reads("nothing changed", still, map[string]int{"west": 2, "east": 2, "north": 2})
		if wrote := memcluster.Written(still); slices.ContainsFunc(wrote, func(q string) bool { return !strings.HasSuffix(q, ": observe") }) {
			t.Errorf("nothing changed: %q", wrote)
		}
		r.declare("c2", strings.Replace(memoryLink("west", "east"), "target: east", "target: east, controller: {logLevel: debug}", 1))
		r.once(2)
		changed := r.asked()
		base := "update " + inventory.Key("linkwright", object.End{}).String()
		want := map[string]int{"observe": 3, base: 1, "update Deployment.apps linkerd-multicluster/controller-east": 1}
		if got := tallied(changed, "west"); !maps.Equal(got, want) {
			t.Errorf("one Deployment changed, west: %v, want %v", got, want)
		}
		r.reads("one Deployment changed", changed, map[string]int{"east": 2, "north": 2})
	})
}

// What a sync wrote is reported as the server holds it: what is not ready is waited for, and so is a token that comes late.
func TestOnceWaitsForWhatItWrote(t *testing.T) {
	single(t, memcluster.Options{TokenAfter: 700 * time.Millisecond, ReadyAfter: 3 * time.Second}, memoryMesh, func(r *memoryEnv) {
		began := time.Now()
		r.once(12)
		if took := time.Since(began); took < 3*time.Second || took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Without patience a sync tells what is not ready, and does not take a write for that.
func TestOnceWithoutPatience(t *testing.T) {
	single(t, memcluster.Options{ReadyAfter: time.Hour}, memoryLink("west", "east"), func(r *memoryEnv) {
		l := r.loop()
		l.Patience = 0
		got, err := l.Once(r.t.Context(), 1)
		if c := got.Counts(); err != nil || c.Waiting != 1 || c.Failed > 0 || !strings.Contains(rows(got), "NotReady") {
			t.Errorf("%+v %v%s", c, err, rows(got))
		}
	})
}

// A write that fails has its cluster read again, whole. It is tried again a second later, or as soon as a neighbour moved: whether
// that is before or after the second failure, which is at the same moment, is the machine's.
func TestOnceReadsWhatFailed(t *testing.T) {
	single(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
		west := r.Cluster("west")
		west.Fault(func(f *memcluster.Faults) { f.Refused = map[object.Key]string{probe: "for a while"} })
		time.AfterFunc(500*time.Millisecond, func() { west.Fault(func(f *memcluster.Faults) { f.Refused = nil }) })
		r.once(2)
		asked := r.asked()
		got := tallied(asked, "west")
		if fails := got["create "+probe.String()] - 1; fails < 2 || fails > maxFails || got["observe"] != 2+2*fails+1 {
			t.Errorf("west: %v, want two looks at first, two after each of two or three failures, and one at what was written", got)
		}
	})
}

// What is taken away goes by what was read by requests, not by what was written before in the same sync: when the source of a link is through, its
// target has the commit in its base, and is read once more.
func TestOnceRemovesByRequests(t *testing.T) {
	single(t, memcluster.Options{}, memoryMesh, func(r *memoryEnv) {
		r.once(12)
		r.asked()
		r.declare("c2", memoryLink("west", "north")+memoryLink("north", "west")+memoryLink("east", "north")+memoryLink("north", "east")+memoryLink("east", "west"))
		r.once(10)
		var east []string
		for _, q := range r.asked() {
			if what, ok := strings.CutPrefix(q, "east: "); ok {
				east = append(east, what)
			}
		}
		first := func(what string) int {
			return slices.IndexFunc(east, func(q string) bool { return strings.HasPrefix(q, what) })
		}
		base, taken := first("update "+inventory.Key("linkwright", object.End{}).String()), first("delete")
		if base < 0 || taken < base || !slices.Contains(east[base:taken], "observe") {
			t.Errorf("east was not read between its base and what was taken away: %q", east)
		}
	})
}

// A cluster that was read is read again where its neighbours show that more must be read than was: in a daemon, too, whose term begins by reading
// all at once.
func TestWatchesAll(t *testing.T) {
	single(t, memcluster.Options{}, memoryLink("west", "east"), func(r *memoryEnv) {
		l := r.loop()
		l.Changes = r
		u := &reconcile{reader: reader{shared: newShared(l, 1)}}
		s := u.store
		s.Enter(r.fleet, inventory.Record{})
		west, _ := r.fleet.Cluster("west")
		u.cluster = *west
		watches, err := plan.Watches(s.ForReading("west"), *west, u.loop.Renderer, object.Observation{})
		if err != nil {
			t.Fatal(err)
		}
		s.PutCluster("west", state.Cluster{Reading: state.Read, Watches: watches}, s.Declared.Epoch())
		s.PutCluster("east", state.Cluster{Reading: state.Read}, s.Declared.Epoch())
		if !u.watchesAll() {
			t.Error("nothing more is to be looked at")
		}
		token := object.Object{Key: object.Key{Kind: "Secret", Namespace: object.AccessNamespace, Name: "linkwright.west-1"}}
		e := object.Observation{}.Edit()
		e.Put(token.Key, object.Written(token), object.Body{})
		s.PutCluster("east", state.Cluster{Reading: state.Read, Live: e.Observation()}, s.Declared.Epoch())
		if u.watchesAll() {
			t.Error("the target has a token from a former mode: the source's Secret is to be looked at")
		}
	})
}
