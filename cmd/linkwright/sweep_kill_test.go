package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	strike "github.com/linkwright/linkwright/hack/fault"
)

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

// kill runs the program until it comes to a request. The connection is reset, too, so that of a request before which it is
// killed the server hears nothing.
func (s *sweep) kill(d *deed, at point) (fate string) {
	s.t.Helper()
	process := make(chan *os.Process, 1)
	end := func(strike.Request) { _ = (<-process).Kill() }
	rule := at.rule
	if rule.Fault = (strike.Fault{Kind: strike.ResetBefore, Before: end}); at.after {
		rule.Fault = strike.Fault{Kind: strike.ResetAfter, After: end}
	}
	s.set(at.proxy, rule)
	switch r := s.work(d, process); {
	case overslept(r.stderr):
		return "overslept"
	case r.code == cli.ExitDone:
		return "missed"
	case r.code == -1 && len(process) == 0:
		return "killed"
	default:
		s.t.Fatalf("%s, to be killed %s: exit code %d\n%s%s", d.name, at, r.code, r.out, r.stderr)
		return "FAILED"
	}
}

// work runs the program until it has done a deed, or is killed. The one that kills it gets its process.
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
		_ = c.Wait() // its state has how it ended
	}()
	for tip, tick := s.tip(), time.NewTicker(50*time.Millisecond); ; {
		select {
		case <-ended:
			tick.Stop()
			return result{c.ProcessState.ExitCode(), out.String(), stderr.String()}
		case <-tick.C:
			var shown struct {
				Commit     string `json:"appliedRevision"`
				AsDeclared bool
			}
			if d.daemon && json.Unmarshal([]byte(get("http://"+s.listen+"/").body), &shown) == nil && shown.Commit == tip && shown.AsDeclared {
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
	if d.args != nil && !d.alone {
		s.clean(what + ", and sync")
	}
}

// again has a run find nothing to do.
func (s *sweep) again(what string, d *deed) {
	s.t.Helper()
	if d.alone {
		s.must(cli.ExitDone, nil, d.args...)
		return
	}
	s.clean(what)
}

// done has a deed done by a process that nobody kills.
func (s *sweep) done(what string, d *deed) {
	s.t.Helper()
	if !d.daemon && d.args == nil {
		s.clean(what)
		return
	}
	r := s.work(d, make(chan *os.Process, 1))
	for try := 0; try < 3 && overslept(r.stderr); try++ {
		s.abandon()
		r = s.work(d, make(chan *os.Process, 1))
	}
	if r.code != cli.ExitDone {
		s.t.Fatalf("%s: exit code %d\n%s%s", what, r.code, r.out, r.stderr)
	}
}

// abandon takes its leases from a process that is dead, as time would: without waiting for it.
func (s *sweep) abandon() {
	s.t.Helper()
	s.leases(func(leases coordination.LeaseInterface, name string) error {
		_, err := leases.Patch(s.t.Context(), name, types.MergePatchType, []byte(`{"spec":{"holderIdentity":""}}`), metav1.PatchOptions{FieldManager: "hand"})
		return err
	})
}

// leases does something to each of the installation's: its own, and those of single clusters.
func (s *sweep) leases(do func(leases coordination.LeaseInterface, name string) error) {
	s.t.Helper()
	leases := s.client("west").CoordinationV1().Leases("linkwright")
	all, err := leases.List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, l := range all.Items {
		if err := do(leases, l.Name); err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
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
	var shown struct {
		AsDeclared bool
		Summary    struct{ Failed, Planned int }
	}
	if err := json.Unmarshal([]byte(r.out), &shown); err != nil || r.code != cli.ExitDone || !shown.AsDeclared || shown.Summary.Failed > 0 {
		s.t.Fatalf("%s: exit code %d, %v\n%s%s", what, r.code, err, r.out, r.stderr)
	}
}

// same compares what is there with what an undisturbed run left. What linkwright left is so at once; Linkerd's controller
// takes its time to make mirrors.
func (s *sweep) same(what string, d *deed) {
	s.t.Helper()
	diff := cmp.Diff(d.end, s.snapshot())
	for deadline := time.Now().Add(patience); d.mirrors && diff != "" && time.Now().Before(deadline); {
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
				if !serversOwn(o) {
					out[c.Name+" "+kind.Resource+" "+o.GetNamespace()+"/"+o.GetName()] = lasting(o)
				}
			}
		}
	}
	return out
}

// serversOwn is what stands in any cluster, and in any namespace soon after it was made; and leases of the management cluster, which stay from one deed
// to the next.
func serversOwn(o unstructured.Unstructured) bool {
	if o.GetKind() == "Lease" && o.GetNamespace() == "linkwright" {
		return true
	}
	return slices.Contains([]string{"kube-system", "kube-public", "kube-node-lease"}, o.GetNamespace()) ||
		o.GetKind() == "ConfigMap" && o.GetName() == "kube-root-ca.crt" || o.GetKind() == "ServiceAccount" && o.GetName() == "default"
}
