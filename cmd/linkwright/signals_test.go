package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	gosync "sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	strike "github.com/linkwright/linkwright/hack/fault"
	"github.com/linkwright/linkwright/hack/faultproxy"
)

// hung is a program that waits for a cluster which does not answer.
type hung struct {
	*slow
	proxy    *faultproxy.Proxy
	program  *exec.Cmd
	out, err lines
	release  func() // has the cluster answer from now on
	ended    chan struct{}
}

// hang starts the program, and waits until the cluster leaves a request without an answer that the rule matches: without a verb any write, and
// never a dry run.
func (s *slow) hang(proxy *faultproxy.Proxy, rule strike.Rule, args ...string) *hung {
	s.t.Helper()
	h := &hung{slow: s, proxy: proxy, ended: make(chan struct{})}
	asked, answers := make(chan struct{}, 1), make(chan struct{})
	h.release = gosync.OnceFunc(func() { close(answers) })
	s.t.Cleanup(h.release)
	rule.Times, rule.Fault = strike.Always, strike.Fault{Before: func(q strike.Request) {
		if q.DryRun || rule.Verb == "" && slices.Contains([]string{"get", "list", "watch"}, q.Verb) {
			return
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		<-answers
	}}
	proxy.Set(rule)
	h.program = s.startTo(s.t.Context(), &h.out, &h.err, args...)
	go func() {
		_ = h.program.Wait() // with an exit code, of which later
		close(h.ended)
	}()
	select {
	case <-asked:
	case <-h.ended:
		s.t.Fatalf("%v has ended before the cluster was asked:\n%s%s", args, h.out.String(), h.err.String())
	case <-time.After(patience):
		s.t.Fatalf("%v does not ask the cluster:\n%s", args, h.err.String())
	}
	return h
}

func (h *hung) signal() {
	h.t.Helper()
	if err := h.program.Process.Signal(os.Interrupt); err != nil {
		h.t.Fatal(err)
	}
}

// atOnce is a moment, on a machine that does much else, and less than a request may take.
const atOnce = 10 * time.Second

const finishing = "finishing what has begun; press Ctrl-C again to stop now\n"

// stopping interrupts the program, which then finishes what the cluster has not answered yet.
func (h *hung) stopping() {
	h.t.Helper()
	h.signal()
	h.eventually("it finishes what has begun", func() bool { return strings.Contains(h.err.String(), finishing) })
	select {
	case <-h.ended:
		h.t.Errorf("it did not wait for the cluster:\n%s%s", h.out.String(), h.err.String())
	default:
	}
}

// end waits for the end of the program.
func (h *hung) end(within time.Duration) {
	h.t.Helper()
	select {
	case <-h.ended:
	case <-time.After(within):
		h.t.Fatalf("it does not end within %s:\n%s%s", within, h.out.String(), h.err.String())
	}
}

// once: after Ctrl-C the program finishes what has begun, reports, and says once that it was interrupted.
func (h *hung) once() result {
	h.t.Helper()
	h.stopping()
	h.release()
	h.end(patience)
	return h.interruptedOnce(1)
}

// reading: a program that only reads ends at once.
func (h *hung) reading() {
	h.t.Helper()
	h.signal()
	h.end(atOnce)
	h.interruptedOnce(0)
	h.release()
	h.proxy.Set()
}

func (h *hung) interruptedOnce(finishes int) result {
	h.t.Helper()
	r := result{h.program.ProcessState.ExitCode(), h.out.String(), h.err.String()}
	const why = "interrupted before the end: interrupt signal received"
	if r.code != cli.ExitPartial || strings.Count(r.stderr, finishing) != finishes || strings.Count(r.stderr, "linkwright: "+why) != 1 ||
		strings.Count(r.out, why) > 1 || strings.Count(r.stderr, why) > 1 {
		h.t.Errorf("%v: exit code %d\n%s%s", h.program.Args[1:], r.code, r.out, r.stderr)
	}
	return r
}

// twice: a second Ctrl-C ends the program at once, without a report.
func (h *hung) twice() {
	h.t.Helper()
	h.stopping()
	shown := h.out.String()
	h.signal()
	h.end(atOnce)
	if code := h.program.ProcessState.ExitCode(); code != live.ExitKilled || h.out.String() != shown || !strings.HasSuffix(h.err.String(), "\nlinkwright: stopped before the end\n") {
		h.t.Errorf("%v: exit code %d\n%s%s", h.program.Args[1:], code, h.out.String(), h.err.String())
	}
	h.release()
	h.proxy.Set()
}

// everyCommand: a command that reads ends at once. One that writes finishes what has begun; after a second Ctrl-C it ends at once. The same
// command then does the rest.
func (s *slow) everyCommand() {
	s.byHand("east", "west", false)
	s.commit(s.clusters() + link("west", "east", "") + link("east", "west", full))
	for _, command := range []string{"check", "diff", "status"} {
		s.hang(s.east, strike.Rule{Verb: "list"}, command).reading()
	}
	for _, tt := range []struct {
		args          []string
		first, second *faultproxy.Proxy // that hang
		lease         bool              // it takes the Lease
		cut           string            // what it says when it is interrupted
		rest          []string          // what it says when it does the rest
		then          []string          // a command after it
	}{
		{args: []string{"adopt", "--all", "--yes"}, first: s.east, second: s.east, lease: true, rest: []string{"adopted"}, then: []string{"sync"}},
		{args: []string{"rotate"}, first: s.west, second: s.east, rest: []string{"east→west: another token is already requested", "west→east: another token is requested"}},
		{args: []string{"release", "east-west", "--yes"}, first: s.east, second: s.east, lease: true, rest: []string{"Blocked (ObjectExists)"}},
		{args: []string{"uninstall", "--yes"}, first: s.east, second: s.west, lease: true, cut: "run linkwright uninstall --yes again", rest: []string{"stays in every cluster"}},
		{args: s.addAll(), first: s.east, second: s.west, rest: []string{"Secret linkwright/west written"}},
	} {
		if got := s.hang(tt.first, strike.Rule{}, tt.args...).once(); !strings.Contains(got.out+got.stderr, tt.cut) {
			s.t.Errorf("%v, interrupted, does not say %q:\n%s%s", tt.args, tt.cut, got.out, got.stderr)
		}
		s.hang(tt.second, strike.Rule{}, tt.args...).twice()
		if tt.lease {
			s.freed()
		}
		s.must(cli.ExitDone, tt.rest, tt.args...)
		if tt.then != nil {
			s.must(cli.ExitDone, nil, tt.then...)
		}
	}
}

// addAll gives linkwright access to both clusters, through their proxies.
func (s *slow) addAll() []string {
	s.t.Helper()
	all := clientcmdapi.NewConfig()
	for name, p := range map[string]*faultproxy.Proxy{"east": s.east, "west": s.west} {
		raw, err := p.Kubeconfig("")
		if err != nil {
			s.t.Fatal(err)
		}
		one, err := clientcmd.Load(raw)
		if err != nil {
			s.t.Fatal(err)
		}
		all.Clusters[name], all.AuthInfos[name] = one.Clusters["proxy"], one.AuthInfos["proxy"]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*all, file); err != nil {
		s.t.Fatal(err)
	}
	return []string{"cluster", "add", "--all", s.repo, "--force", "--kubeconfig", file}
}
