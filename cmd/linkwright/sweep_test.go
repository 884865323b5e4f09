package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	strike "github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
	"github.com/linkwright/linkwright/hack/testbed"
)

var (
	sweepRounds = flag.Int("sweep", 2, "kill the program at so many requests of each deed; 0: at each of them")
	sweepSeed   = flag.Uint64("sweep-seed", 1, "which of them")
)

// sweep is a lab in which every request of the program passes a proxy, which can kill it. A stand-in for Linkerd's
// controller mirrors east's services into west.
type sweep struct {
	*lab
	proxies map[string]*faultproxy.Proxy // east, west, and home, which is west's server
	deeds   []*deed
	missed  int // points that a run did not come to
	killed  int
}

// deed is one change of what is declared, from what the one before it left.
type deed struct {
	name, fleet string
	end         map[string]string // undisturbed
	points      []point
}

// point is one request of the undisturbed run.
type point struct {
	proxy string
	rule  strike.Rule
	after bool // the server has answered, and the program has not heard of it
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
			s.commit(d.fleet) // for the deeds that have more requests
			s.set("")
			s.clean(d.name)
		}
	}
	t.Logf("killed %d times; %d times it did not come to the request", s.killed, s.missed)
	if s.missed > s.killed/4 {
		t.Errorf("killed %d times only, %d times the request was not made: the runs are not alike", s.killed, s.missed)
	}
}

func newSweep(t *testing.T) *sweep {
	t.Helper()
	s := &sweep{lab: labOf(t, []string{"east", "west"}), proxies: map[string]*faultproxy.Proxy{}}
	for name, at := range map[string]string{"east": "east", "west": "west", "home": "west"} {
		s.proxies[name] = s.through(name, at)
	}
	if err := testbed.Export(t.Context(), s.Cluster("east").Config, testbed.Exported{Namespace: "default", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	s.secondNode()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- testbed.RunMirrors(ctx, s.Cluster("west").Config, testbed.MirrorOptions{Period: 100 * time.Millisecond})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	clusters := strings.NewReplacer("kubeconfigSecret: {name: east}", "kubeconfigSecret: {name: east-by-proxy}",
		"kubeconfigSecret: {name: west}", "kubeconfigSecret: {name: west-by-proxy}").Replace(s.clusters())
	full := ", remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}, controller: {podAntiAffinity: true}"
	s.deeds = []*deed{
		{name: "apply", fleet: clusters + link("west", "east", full)},
		{name: "prune", fleet: clusters + link("west", "east", "")},
		{name: "unlink", fleet: clusters},
	}
	s.commit(clusters)
	s.must(exitDone, nil, "sync")
	return s
}

// secondNode gives the replicas that must not share one another place to go to, while they are replaced.
func (s *sweep) secondNode() {
	s.t.Helper()
	nodes := s.client("west").CoreV1().Nodes()
	list, err := nodes.List(s.t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		s.t.Fatalf("nodes: %v, %v", list, err)
	}
	first := list.Items[0]
	second := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "second", Labels: map[string]string{"kubernetes.io/os": "linux", "kubernetes.io/hostname": "second"}},
		Status:     corev1.NodeStatus{Capacity: first.Status.Capacity, Allocatable: first.Status.Allocatable},
	}
	if _, err := nodes.Create(s.t.Context(), second, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// through puts a proxy in front of a cluster, and gives the program access by it.
func (s *sweep) through(name, at string) *faultproxy.Proxy {
	s.t.Helper()
	p, err := faultproxy.New(s.Cluster(at).Config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close() })
	raw, err := p.Kubeconfig("")
	if err != nil {
		s.t.Fatal(err)
	}
	if name == "home" {
		s.home = filepath.Join(s.t.TempDir(), "home")
		if err := os.WriteFile(s.home, raw, 0o600); err != nil {
			s.t.Fatal(err)
		}
		return p
	}
	s.access(name+"-by-proxy", string(raw))
	return p
}

// undisturbed notes every request of a run, and what it leaves.
func (s *sweep) undisturbed(d *deed) {
	s.t.Helper()
	s.commit(d.fleet)
	s.set("")
	s.clean(d.name)
	for _, name := range []string{"east", "home", "west"} {
		d.points = append(d.points, pointsOf(name, s.proxies[name].Log())...)
	}
	if d.name != "unlink" {
		s.eventually("the mirror is there", func() bool {
			_, err := s.client("west").CoreV1().Services("default").Get(s.t.Context(), "web-east", metav1.GetOptions{})
			return err == nil
		})
	}
	d.end = s.snapshot()
}

// pointsOf numbers what was asked among what was asked alike: whatever order requests arrive in, it is the same one.
func pointsOf(proxy string, asked []faultproxy.Request) (out []point) {
	seen := map[strike.Request]int{}
	for _, r := range asked {
		seen[r.Request]++
		p := point{proxy: proxy, rule: strike.Rule{Verb: r.Verb, Path: r.Path, Name: r.Name, Continued: r.Continued, Nth: seen[r.Request]}}
		out = append(out, p)
		p.after = true
		out = append(out, p)
	}
	return out
}

func (s *sweep) shuffle() {
	seeded := rand.New(rand.NewPCG(*sweepSeed, 0)) //nolint:gosec // to be had again
	for _, d := range s.deeds {
		seeded.Shuffle(len(d.points), func(i, j int) { d.points[i], d.points[j] = d.points[j], d.points[i] })
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
	defer func() { s.t.Logf("%s, killed %s: %v", d.name, at, time.Since(began).Round(10*time.Millisecond)) }()
	s.commit(d.fleet)
	s.kill(at)
	s.set("")
	s.abandon()
	what := fmt.Sprintf("%s, killed %s", d.name, at)
	s.clean(what)
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
}

// kill runs the program until it comes to a request. The connection is reset, too, so that of a request before which it is
// killed the server hears nothing.
func (s *sweep) kill(at point) {
	s.t.Helper()
	process := make(chan *os.Process, 1)
	end := func(strike.Request) { _ = (<-process).Kill() }
	rule := at.rule
	if rule.Fault = (strike.Fault{Kind: strike.ResetBefore, Before: end}); at.after {
		rule.Fault = strike.Fault{Kind: strike.ResetAfter, After: end}
	}
	s.set(at.proxy, rule)
	c, out, stderr := s.start(s.t.Context(), "sync")
	process <- c.Process
	_ = c.Wait() // how it ended, its state tells
	switch code := c.ProcessState.ExitCode(); {
	case code == exitDone, overslept(stderr.String()):
		s.missed++
	case code == -1 && len(process) == 0:
		s.killed++
	default:
		s.t.Errorf("to be killed %s: exit code %d\n%s%s", at, code, out, stderr)
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
	for deadline := time.Now().Add(20 * time.Second); d.name != "unlink" && diff != "" && time.Now().Before(deadline); {
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
