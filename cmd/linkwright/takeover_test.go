package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/hack/testbed"
)

// replica is one of several daemons of the same installation.
type replica struct {
	*exec.Cmd
	at, log string
}

// takeovers are a leader and a standby over real clusters.
type takeovers struct {
	*lab
	edits int
}

// TestTakeover: a standby continues as soon as it leads. The leader is asked to stop in the middle of
// writes, killed, or paused, and Git that is down.
func TestTakeover(t *testing.T) {
	t.Parallel()
	l := &takeovers{lab: newLab(t, "east", "north", "west")}
	l.commit(l.clusters() + l.cluster("north") + link("west", "east", "") + link("east", "west", "") + link("north", "east", "") + policy("interval: 1h"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	first := l.replica(ctx)
	defer func() {
		if t.Failed() {
			t.Log(l.file(first.log), get(first.at+"/").body)
		}
	}()
	l.eventually("the first leads, and all is in place", func() bool { return l.inPlace(first) })
	second := l.standby(ctx)
	holder := fmt.Sprintf("_%d", first.Process.Pid)
	if log := l.file(second.log); !strings.Contains(log, `"standing by" holder=`) || !strings.Contains(log, holder+" lease=linkwright/linkwright-linkwright ") {
		t.Errorf("the log of the standby does not say that %s leads:\n%s", holder, log)
	}

	t.Run("asked to stop", func(t *testing.T) {
		l.within(t, "an orderly hand-over", 10*time.Second, func() { l.signal(first, syscall.SIGTERM) })
	})
	_ = first.Wait()
	l.t = t
	first = l.standby(ctx)
	back := l.awayWithGit()
	t.Run("killed, and Git is down", func(t *testing.T) {
		l.within(t, "a leader that was killed", 45*time.Second, func() { l.signal(second, syscall.SIGKILL) })
	})
	back()
	_ = second.Wait()
	l.t = t
	second = l.standby(ctx)
	t.Run("paused", func(t *testing.T) {
		l.within(t, "a leader that was paused", 45*time.Second, func() { l.signal(first, syscall.SIGSTOP) })
		l.rests()
		before := l.writes()
		l.signal(first, syscall.SIGCONT)
		l.eventually("the former leader knows", func() bool { return strings.Contains(l.file(first.log), "leadership ends") })
		if n := l.writes() - before; n > 0 {
			t.Errorf("it wrote %d times, though another one leads", n)
		}
	})
	stop()
	_, _ = first.Wait(), second.Wait()
}

func (l *takeovers) replica(ctx context.Context) *replica {
	l.t.Helper()
	r := &replica{log: l.t.TempDir() + "/log"}
	r.Cmd, r.at = l.daemonAt(ctx, r.log)
	return r
}

func (l *takeovers) signal(r *replica, s syscall.Signal) {
	l.t.Helper()
	if err := r.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
}

func (l *takeovers) inPlace(r *replica) bool {
	return written(r.at) == 3
}

// standby starts one more process, and waits until it watches every cluster, for which it has read Git.
func (l *takeovers) standby(ctx context.Context) *replica {
	l.t.Helper()
	before := l.watches()
	r := l.replica(ctx)
	l.eventually("a standby watches", func() bool { //nolint:contextcheck // the lab has its own
		for name, n := range l.watches() {
			if n <= before[name] {
				return false
			}
		}
		return true
	})
	return r
}

// watches are how many watches of Links were ever opened, by cluster.
func (l *takeovers) watches() map[string]int {
	l.t.Helper()
	out := map[string]int{}
	for _, c := range l.Clusters {
		out[c.Name] = len(slices.DeleteFunc(l.asked(c.Name), func(r testbed.Request) bool { return r.Verb != "watch" || r.Resource != "links" }))
	}
	return out
}

func (l *takeovers) asked(name string) []testbed.Request {
	l.t.Helper()
	all, err := l.Cluster(name).Requests("linkwright/")
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}

// awayWithGit makes the repository one that cannot be read, until the function that it gives is called.
func (l *takeovers) awayWithGit() (back func()) {
	l.t.Helper()
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			l.t.Fatal(err)
		}
	}
	move(l.repo, l.repo+".away")
	return func() { move(l.repo+".away", l.repo) }
}

// within ends a leadership while somebody changes one of our Services, and says when that was repaired, and what was asked for meanwhile.
func (l *takeovers) within(t *testing.T, what string, limit time.Duration, end func()) {
	t.Helper()
	l.t = t
	began, before := time.Now(), l.count()
	end()
	if what != "an orderly hand-over" {
		time.Sleep(time.Second) // the leader would have repaired it at once
	}
	l.edits++
	services := l.client("west").CoreV1().Services("linkerd-multicluster")
	patch := []byte(`{"metadata": {"labels": {"mirror.linkerd.io/mirrored-gateway": "theirs"}}}`)
	if _, err := services.Patch(t.Context(), "probe-east", types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "hand"}); err != nil {
		t.Fatal(err)
	}
	for {
		s, err := services.Get(t.Context(), "probe-east", metav1.GetOptions{})
		if err == nil && s.Labels["mirror.linkerd.io/mirrored-gateway"] != "theirs" {
			break
		}
		if time.Since(began) > 2*limit {
			t.Fatalf("%s: not repaired after %v", what, time.Since(began))
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	t.Logf("%s: repaired %.2f s after its end, %d requests meanwhile, leases apart", what, took.Seconds(), l.count()-before)
	if took > limit {
		t.Errorf("%s: repaired after %v, want %v", what, took, limit)
	}
}

// count is how many requests clusters had of us, but for leases.
func (l *takeovers) count() (n int) {
	l.t.Helper()
	for _, c := range l.Clusters {
		for _, r := range l.asked(c.Name) {
			if r.Resource != "leases" {
				n++
			}
		}
	}
	return n
}
