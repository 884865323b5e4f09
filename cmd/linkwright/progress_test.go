package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	gosync "sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	strike "github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
)

// slow is a lab whose cluster east is behind a proxy that can delay and hang.
type slow struct {
	*lab
	east *faultproxy.Proxy
}

func newSlow(t *testing.T) *slow {
	t.Helper()
	s := &slow{lab: newLab(t, "east", "west")}
	var err error
	if s.east, err = faultproxy.New(s.Cluster("east").Config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.east.Close(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig, err := s.east.Kubeconfig("")
	if err != nil {
		t.Fatal(err)
	}
	s.patchAccess("east", string(kubeconfig))
	s.commit(s.clusters() + link("west", "east", ""))
	return s
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
}

// lines notes when each line is written.
type lines struct {
	mu  gosync.Mutex
	all bytes.Buffer
	at  []time.Time
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = append(l.at, time.Now())
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// silentCluster: without a terminal, a sync says within two seconds which cluster it waits for; with -o json it says so as JSON.
func (s *slow) silentCluster() {
	s.east.Set(strike.Rule{Times: strike.Always, Fault: strike.Fault{Kind: strike.Hang}})
	defer s.east.Set()
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		var said lines
		began := time.Now()
		c := s.startTo(s.t.Context(), &out, &said, "sync", "--cluster-timeout", "8s", "-o", format)
		_ = c.Wait() // with an exit code, of which below
		text := said.String()
		if c.ProcessState.ExitCode() != cli.ExitPartial || !strings.Contains(text, "cluster east does not answer (") || !strings.Contains(text, "a request may take 8s") {
			s.t.Errorf("%s: exit code %d\n%s%s", format, c.ProcessState.ExitCode(), out.String(), text)
		}
		if len(said.at) == 0 {
			s.t.Fatalf("%s: nothing is shown", format)
		}
		if first := said.at[0].Sub(began); first > 3*time.Second { // a second more than there is: the machine may be busy
			s.t.Errorf("%s: the first line came after %s", format, first)
		}
		for line := range strings.Lines(text) {
			if is := json.Valid([]byte(line)); is != (format == "json") && !strings.HasPrefix(line, "linkwright: ") {
				s.t.Errorf("-o %s: %s", format, line)
			}
		}
		if strings.Contains(text+out.String(), "\x1b") {
			s.t.Errorf("sequences of a terminal:\n%q", text)
		}
	}
}

// begun starts a sync whose writes to east take long, and waits until one is under way.
func (s *slow) begun(ctx context.Context, takes time.Duration) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	s.t.Helper()
	writes := make(chan struct{}, 100)
	s.east.Set(strike.Rule{Verb: "patch", Times: strike.Always, Fault: strike.Fault{Delay: takes, Before: func(strike.Request) { writes <- struct{}{} }}})
	c, out, stderr := s.start(ctx, "sync")
	// Before is called after the delay: the first write has ended then, and the second is under way.
	select {
	case <-writes:
	case <-time.After(time.Minute):
		s.t.Fatalf("nothing is written: %s", stderr)
	}
	time.Sleep(takes / 2)
	return c, out, stderr
}

func (s *slow) signal(c *exec.Cmd) {
	s.t.Helper()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
}

// interrupted: after Ctrl-C the write under way ends, nothing else begins, the report comes once, and the Lease is free.
func (s *slow) interrupted() {
	c, out, stderr := s.begun(s.t.Context(), 2*time.Second)
	s.signal(c)
	_ = c.Wait() // with an exit code, of which below
	text := stderr.String()
	if code := c.ProcessState.ExitCode(); code != cli.ExitPartial || strings.Count(text, "finishing what has begun; press Ctrl-C again to stop now\n") != 1 {
		s.t.Errorf("exit code %d, it says\n%s", code, text)
	}
	if report := out.String(); strings.Count(report, "error: interrupted before the end: interrupt signal received") != 1 || strings.Count(report, "east: 2 written, ") != 1 {
		s.t.Errorf("the report is\n%s", report)
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
	c, out, stderr := s.begun(s.t.Context(), 3*time.Second)
	s.signal(c)
	time.Sleep(500 * time.Millisecond) // until the process has handled the first: what it writes may be read once it has ended
	began := time.Now()
	s.signal(c)
	_ = c.Wait() // with an exit code, of which below
	if code, took := c.ProcessState.ExitCode(), time.Since(began); code != live.ExitKilled || took > time.Second || out.Len() > 0 {
		s.t.Errorf("exit code %d after %s\n%s%s", code, took, out, stderr)
	}
	s.freed()
}

// freed waits until nobody holds the Lease that a killed process had.
func (s *slow) freed() {
	s.t.Helper()
	err := s.client("west").CoordinationV1().Leases("linkwright").Delete(context.WithoutCancel(s.t.Context()), "linkwright-linkwright", metav1.DeleteOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}
