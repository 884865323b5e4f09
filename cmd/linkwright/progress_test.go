package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	gosync "sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	strike "github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
)

// slow is a lab whose clusters are behind proxies that can delay and hang. Only the management cluster is reached directly.
type slow struct {
	*lab
	east, west *faultproxy.Proxy
}

func newSlow(t *testing.T) *slow {
	t.Helper()
	s := &slow{lab: newLab(t, "east", "west")}
	s.east, s.west = s.behind("east"), s.behind("west")
	s.commit(s.clusters() + link("west", "east", ""))
	return s
}

// behind puts a proxy in front of a cluster.
func (s *slow) behind(name string) *faultproxy.Proxy {
	s.t.Helper()
	p, err := faultproxy.New(s.Cluster(name).Config)
	if err != nil {
		s.t.Fatal(err)
	}
	t := s.t
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig, err := p.Kubeconfig("")
	if err != nil {
		t.Fatal(err)
	}
	s.patchAccess(name, string(kubeconfig))
	return p
}

// TestProgress: long work shows itself, and a signal ends it as it says.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := newSlow(t)
	t.Run("interrupted", func(t *testing.T) { s.t = t; s.interrupted() })
	t.Run("interrupted twice", func(t *testing.T) { s.t = t; s.interruptedTwice() })
	s.t = t
	s.must(cli.ExitDone, []string{"1 link: "}, "sync")
	t.Run("a cluster that does not answer", func(t *testing.T) { s.t = t; s.silentCluster() })
	t.Run("a terminal", func(t *testing.T) { s.t = t; s.onTerminal() })
	t.Run("every command", func(t *testing.T) { s.t = t; s.everyCommand() })
}

// lines is what a program writes, which a test reads meanwhile.
type lines struct {
	mu  gosync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// silentCluster: without a terminal, work says before long which cluster it waits for; with -o json it says so as JSON.
func (s *slow) silentCluster() {
	s.east.Set(strike.Rule{Times: strike.Always, Fault: strike.Fault{Kind: strike.Hang}})
	defer s.east.Set()
	var both gosync.WaitGroup
	defer both.Wait()
	both.Go(func() { s.waitsForEast("sync", "-o", "text") })
	both.Go(func() { s.waitsForEast("status", "-o", "json") }) // which needs no Lease
}

func (s *slow) waitsForEast(args ...string) {
	var out, said lines
	c := s.startTo(s.t.Context(), &out, &said, append(args, "--cluster-timeout", "8s")...)
	_ = c.Wait() // with an exit code, of which below
	text := said.String()
	if c.ProcessState.ExitCode() != cli.ExitPartial || !strings.Contains(text, "cluster east does not answer (") || !strings.Contains(text, "a request may take 8s") {
		s.t.Errorf("%v: exit code %d\n%s%s", args, c.ProcessState.ExitCode(), out.String(), text)
	}
	asJSON := args[2] == "json"
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "linkwright: ") && json.Valid([]byte(line)) != asJSON {
			s.t.Errorf("%v: %s", args, line)
		}
	}
	if at := strings.Index(text, "waiting"); at < 0 || at > strings.LastIndex(text, "cluster east does not answer (") { // before the request has timed out
		s.t.Errorf("%v: does not say that it waits:\n%s", args, text)
	}
	if strings.Contains(text+out.String(), "\x1b") {
		s.t.Errorf("sequences of a terminal:\n%q", text)
	}
}

// interrupted: after Ctrl-C the write under way ends, nothing else begins, the report comes once, and the Lease is free.
func (s *slow) interrupted() {
	r := s.hang(s.east, strike.Rule{Verb: "patch", Nth: 2}, "sync").once()
	if strings.Count(r.out, "error: interrupted before the end: interrupt signal received") != 1 || strings.Count(r.out, "east: 2 written, ") != 1 ||
		!strings.Contains(r.out, "run linkwright sync --repo URL again\n") {
		s.t.Errorf("the report is\n%s", r.out)
	}
	lease, err := s.client("west").CoordinationV1().Leases("linkwright").Get(s.t.Context(), "linkwright-linkwright", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
		s.t.Errorf("the Lease is held: %v, %v", lease.Spec.HolderIdentity, err)
	}
	n := 0
	for _, q := range s.east.Log() {
		if q.Verb == "patch" {
			n++
		}
	}
	if n != 2 {
		s.t.Errorf("%d writes were sent to east, want 2", n)
	}
}

// interruptedTwice: a second Ctrl-C ends the process at once.
func (s *slow) interruptedTwice() {
	s.hang(s.east, strike.Rule{Verb: "patch", Nth: 2}, "sync").twice()
	s.freed()
}

// freed takes away the Leases that a killed process had, which would run out by themselves.
func (s *slow) freed() {
	s.t.Helper()
	err := s.client("west").CoordinationV1().Leases("linkwright").DeleteCollection(context.WithoutCancel(s.t.Context()), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}
