package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	strike "github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
)

var (
	sweepRounds = flag.Int("sweep", 1, "kill the program at so many requests of each deed; 0: at each of them")
	sweepSeed   = flag.Uint64("sweep-seed", 1, "which of them")
)

// sweep is a lab in which every request of the program passes a proxy, which can kill it. A stand-in for Linkerd's
// controller mirrors east's services into west.
type sweep struct {
	*lab
	proxies map[string]*faultproxy.Proxy // east, west, and home, which is west's server
	deeds   []*deed
	listen  string // address of the daemon
	missed  int    // points that a run did not come to
	killed  int
}

// deed is one change of what is declared, from what the one before it left.
type deed struct {
	name, fleet string
	daemon      bool              // done by run, else by sync
	args        []string          // of another command that does it, which sync follows
	before      func()            // what somebody else does first
	end         map[string]string // undisturbed
	points      []point
}

// point is one request of the undisturbed run.
type point struct {
	proxy string
	rule  strike.Rule
	after bool // the server has answered, and the program has not heard of it
	write bool
}

func (p point) String() string {
	when := "before"
	if p.after {
		when = "after"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s %s %s", when, p.proxy, p.rule.Verb, p.rule.Path, p.rule.Name)) + fmt.Sprintf(" no. %d", p.rule.Nth)
}

// TestSweep kills the program before and after requests to API servers, at any of them, and starts it again: it comes to
// where an undisturbed one comes to, says so, and has nothing left to write.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := newSweep(t)
	t.Run("disasters", func(t *testing.T) { s.t = t; s.disasters(s.clustersByProxy()) })
	if s.t = t; t.Failed() {
		return // where things stand, nobody knows
	}
	for _, d := range s.deeds {
		s.undisturbed(d)
	}
	rounds, longest := *sweepRounds, 0
	for _, d := range s.deeds {
		longest = max(longest, len(d.points))
		t.Logf("%s: %d points", d.name, len(d.points))
	}
	if rounds == 0 {
		rounds = longest
	} else {
		s.shuffle()
	}
	for i := range rounds {
		for _, d := range s.deeds {
			if i < len(d.points) {
				s.disturbed(d, d.points[i])
				continue
			}
			s.begin(d) // for the deeds that have more requests
			s.set("")
			s.done(d.name, d)
			s.follow(d.name, d)
		}
	}
	t.Logf("killed %d times; %d times it did not come to the request", s.killed, s.missed)
	if s.missed > s.killed/4 {
		t.Errorf("killed %d times only, %d times the request was not made: the runs are not alike", s.killed, s.missed)
	}
}

// undisturbed notes every request of a run, and what it leaves.
func (s *sweep) undisturbed(d *deed) {
	s.t.Helper()
	s.begin(d)
	s.set("")
	s.done(d.name, d)
	for _, name := range []string{"east", "home", "west"} {
		d.points = append(d.points, pointsOf(name, s.proxies[name].Log())...)
	}
	s.follow(d.name, d)
	if d.mirrors() {
		s.eventually("the mirror is there", func() bool {
			_, err := s.client("west").CoreV1().Services("default").Get(s.t.Context(), "web-east", metav1.GetOptions{})
			return err == nil
		})
	}
	d.end = s.snapshot()
}

// mirrors says that the link is declared.
func (d *deed) mirrors() bool { return strings.Contains(d.fleet, "kind: Link") }

// pointsOf numbers what was asked among what was asked alike: whatever order requests arrive in, it is the same one.
func pointsOf(proxy string, asked []faultproxy.Request) (out []point) {
	seen := map[strike.Request]int{}
	for _, r := range asked {
		seen[r.Request]++
		p := point{proxy: proxy, write: r.Writes() && r.Resource != "leases", rule: strike.Rule{Verb: r.Verb, Path: r.Path, Name: r.Name, Continued: r.Continued, Nth: seen[r.Request]}}
		out = append(out, p)
		p.after = true
		out = append(out, p)
	}
	return out
}

// shuffle has writes come first: they are what may be half done.
func (s *sweep) shuffle() {
	seeded := rand.New(rand.NewPCG(*sweepSeed, 0)) //nolint:gosec // to be had again
	for _, d := range s.deeds {
		seeded.Shuffle(len(d.points), func(i, j int) { d.points[i], d.points[j] = d.points[j], d.points[i] })
		slices.SortStableFunc(d.points, func(a, b point) int {
			switch {
			case a.write == b.write:
				return 0
			case a.write:
				return -1
			}
			return 1
		})
	}
}

// set has one proxy follow rules, and all count anew.
func (s *sweep) set(proxy string, rules ...strike.Rule) {
	for name, p := range s.proxies {
		if name == proxy {
			p.Set(rules...)
		} else {
			p.Set()
		}
	}
}

// disturbed does a deed with a process that is killed at a point, and then with one that is not.
func (s *sweep) disturbed(d *deed, at point) {
	s.t.Helper()
	began := time.Now()
	s.begin(d)
	s.kill(d, at)
	s.set("")
	s.abandon()
	what := fmt.Sprintf("%s, killed %s", d.name, at)
	s.done(what, d)
	s.follow(what, d)
	s.same(what, d)
	s.set("")
	s.clean(what + ", and again")
	for name, p := range s.proxies {
		for _, r := range p.Log() {
			if r.Writes() && r.Resource != "leases" {
				s.t.Errorf("%s: a further run sent to %s: %s %s", what, name, r.Verb, r.Path)
			}
		}
	}
	if s.t.Failed() {
		s.t.FailNow() // what follows would begin from elsewhere
	}
	s.t.Logf("%s: %v", what, time.Since(began).Round(10*time.Millisecond))
}

// kill runs the program until it comes to a request. The connection is reset, too, so that of a request before which it is
// killed the server hears nothing.
func (s *sweep) kill(d *deed, at point) {
	s.t.Helper()
	process := make(chan *os.Process, 1)
	end := func(strike.Request) { _ = (<-process).Kill() }
	rule := at.rule
	if rule.Fault = (strike.Fault{Kind: strike.ResetBefore, Before: end}); at.after {
		rule.Fault = strike.Fault{Kind: strike.ResetAfter, After: end}
	}
	s.set(at.proxy, rule)
	switch r := s.work(d, process); {
	case r.code == exitDone, overslept(r.stderr):
		s.missed++
	case r.code == -1 && len(process) == 0:
		s.killed++
	default:
		s.t.Errorf("%s, to be killed %s: exit code %d\n%s%s", d.name, at, r.code, r.out, r.stderr)
	}
}

// work runs the program until it has done a deed, or is killed. Who kills it is told whom to kill.
func (s *sweep) work(d *deed, process chan<- *os.Process) result {
	s.t.Helper()
	args := []string{"sync", "-o", "json"}
	switch {
	case d.daemon:
		args = []string{"run", "--listen", s.listen}
	case d.args != nil:
		args = d.args
	}
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	c, out, stderr := s.start(ctx, args...)
	process <- c.Process
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // how it ended, its state tells
	}()
	for tip, tick := s.tip(), time.NewTicker(50*time.Millisecond); ; {
		select {
		case <-ended:
			tick.Stop()
			return result{c.ProcessState.ExitCode(), out.String(), stderr.String()}
		case <-tick.C:
			var told struct {
				Commit string
				Clean  bool
			}
			if d.daemon && json.Unmarshal([]byte(get("http://"+s.listen+"/").body), &told) == nil && told.Commit == tip && told.Clean {
				stop()
			}
		}
	}
}

// begin declares what a deed is about.
func (s *sweep) begin(d *deed) {
	s.t.Helper()
	if d.before != nil {
		d.before()
	}
	s.commit(d.fleet)
}

// follow has sync end what another command did its part of.
func (s *sweep) follow(what string, d *deed) {
	s.t.Helper()
	if d.args != nil {
		s.clean(what + ", and sync")
	}
}

// done has a deed done by a process that nobody kills.
func (s *sweep) done(what string, d *deed) {
	s.t.Helper()
	if !d.daemon && d.args == nil {
		s.clean(what)
		return
	}
	if r := s.work(d, make(chan *os.Process, 1)); r.code != exitDone {
		s.t.Fatalf("%s: exit code %d\n%s%s", what, r.code, r.out, r.stderr)
	}
}

// abandon takes the lease from a process that is dead, as time would: without waiting for it.
func (s *sweep) abandon() {
	s.t.Helper()
	_, err := s.client("west").CoordinationV1().Leases("linkwright").Patch(s.t.Context(), "linkwright-linkwright", types.MergePatchType,
		[]byte(`{"spec":{"holderIdentity":""}}`), metav1.PatchOptions{FieldManager: "hand"})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
}

// overslept says that a machine with too much to do let a process sleep for longer than it holds the lease.
func overslept(stderr string) bool { return strings.Contains(stderr, "the lease is lost") }

// clean runs the program once, which must say that all is as declared.
func (s *sweep) clean(what string) {
	s.t.Helper()
	r := s.run("sync", "-o", "json")
	for range 3 {
		if !overslept(r.stderr) {
			break
		}
		s.abandon()
		r = s.run("sync", "-o", "json")
	}
	var told struct {
		Clean   bool
		Summary struct{ Failed, Planned int }
	}
	if err := json.Unmarshal([]byte(r.out), &told); err != nil || r.code != exitDone || !told.Clean || told.Summary.Failed > 0 {
		s.t.Fatalf("%s: exit code %d, %v\n%s%s", what, r.code, err, r.out, r.stderr)
	}
}

// same compares what is there with what an undisturbed run left. What linkwright left is so at once; Linkerd's controller
// takes its time to make mirrors.
func (s *sweep) same(what string, d *deed) {
	s.t.Helper()
	diff := cmp.Diff(d.end, s.snapshot())
	for deadline := time.Now().Add(20 * time.Second); d.mirrors() && diff != "" && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond) // until the stand-in has looked again
		diff = cmp.Diff(d.end, s.snapshot())
	}
	if diff != "" {
		s.t.Errorf("%s: -undisturbed +got\n%s", what, diff)
	}
}

// snapshot is every object of both clusters that the program or Linkerd's controller could have to do with, without what
// differs from one making to the next.
func (s *sweep) snapshot() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, c := range s.Clusters {
		for _, kind := range sweptKinds() {
			for _, o := range s.list(c, kind) {
				if name := o.GetNamespace() + "/" + o.GetName(); !slices.Contains([]string{"kube-system", "kube-public", "kube-node-lease"}, o.GetNamespace()) {
					out[c.Name+" "+kind.Resource+" "+name] = lasting(o)
				}
			}
		}
	}
	return out
}
