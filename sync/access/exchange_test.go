package access

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	gosync "sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/leaks"
	"github.com/linkwright/linkwright/hack/silent"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/cluster"
)

// answering returns an API server that serves no kind, and counts what it is asked.
func answering(t *testing.T) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": []}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// patience bounds what tests wait for.
const patience = 2 * time.Minute

// watching is connections of which the first is at an address, is watched, and answers.
func watching(t *testing.T, address string) (c *Clusters, want []fleet.Cluster) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := leaks.Left(before); err != nil {
			t.Error(err)
		}
	})
	c, want = byFiles(t, 2)
	moveTo(t, want[0], address)
	if failed := c.Follow(t.Context(), want); len(failed) > 0 {
		t.Fatal(failed)
	}
	if err := c.lives(t.Context(), "c0"); err != nil {
		t.Fatal(err)
	}
	return c, want
}

func moveTo(t *testing.T, c fleet.Cluster, address string) {
	t.Helper()
	write(t, c.Spec.Access.Kubeconfig.Path, kubeconfig(address, "token: x"))
}

// lives asks a cluster as a reconcile does.
func (c *Clusters) lives(ctx context.Context, name api.ClusterName) error {
	return c.WithCluster(ctx, name, func(open object.Cluster) error {
		_, err := open.Live(ctx, []object.Watch{{Version: "v1", Kind: "ConfigMap", Namespace: "x"}})
		return err
	})
}

// promptly fails where f takes as long as somebody who waits for a server that does not answer.
func promptly(t *testing.T, what string, f func()) {
	t.Helper()
	start := time.Now()
	if f(); time.Since(start) > 10*time.Second {
		t.Errorf("%s took %v", what, time.Since(start))
	}
}

// untilMoved waits until a cluster has moved as a whole.
func (c *Clusters) untilMoved(t *testing.T, name api.ClusterName) {
	t.Helper()
	for soon := time.After(patience); !c.Take()[name].All; {
		select {
		case <-c.Moved():
		case <-c.registry.Moved():
		case <-soon:
			t.Fatalf("%s has not moved", name)
		}
	}
}

// TestFollowHanging: a changed access that leads to a server that does not answer delays a sync no longer than grace, and the cluster is used as
// before meanwhile. What is found next wins, and nothing is left behind.
func TestFollowHanging(t *testing.T) {
	good, asked := answering(t)
	better, askedBetter := answering(t)
	c, want := watching(t, good)
	nowhere, called := silent.Listen(t)

	moveTo(t, want[0], nowhere)
	promptly(t, "a pass", func() {
		if failed := c.Follow(t.Context(), want); len(failed) > 0 {
			t.Error(failed)
		}
	})
	silent.Called(t, called)
	if err := c.lives(t.Context(), "c0"); err != nil {
		t.Errorf("the connection in use: %v", err)
	}
	promptly(t, "a pass in which nothing changed", func() { c.Follow(t.Context(), want) })
	before, beforeBetter := asked.Load(), askedBetter.Load()

	moveTo(t, want[0], better)
	promptly(t, "a pass after another change", func() { c.Follow(t.Context(), want) })
	if err := c.lives(t.Context(), "c0"); err != nil || askedBetter.Load() == beforeBetter || asked.Load() != before {
		t.Errorf("the last access: %v, the former was asked %d times", err, asked.Load()-before)
	}
	moveTo(t, want[0], nowhere)
	c.Follow(t.Context(), want)
	promptly(t, "a cluster that leaves", func() {
		c.Follow(t.Context(), want[1:])
		c.exchanges.Wait()
	})
	if names := c.registry.Names(); len(names) != 1 {
		t.Errorf("open are %v", names)
	}
}

// TestFollowLate: what takes longer than grace has moved once it is done, as between syncs, also where it failed.
func TestFollowLate(t *testing.T) {
	good, _ := answering(t)
	c, want := watching(t, good)
	c.grace = 0
	better, asked := answering(t)
	moveTo(t, want[0], better)
	c.Follow(t.Context(), want)
	c.untilMoved(t, "c0")
	c.exchanges.Wait()
	if err := c.lives(t.Context(), "c0"); err != nil || asked.Load() == 0 {
		t.Errorf("a connection that came late: %v, was asked %d times", err, asked.Load())
	}
	c.Take()
	write(t, want[0].Spec.Access.Kubeconfig.Path, "{")
	c.Follow(t.Context(), want)
	c.exchanges.Wait()
	if failed := c.Follow(t.Context(), want); failed["c0"] == nil || c.lives(t.Context(), "c0") == nil {
		t.Errorf("an access that became wrong: %v", failed)
	}
	moveTo(t, want[0], good)
	c.Follow(t.Context(), want)
	c.exchanges.Wait()
	if err := c.lives(t.Context(), "c0"); err != nil {
		t.Errorf("an access that is mended: %v", err)
	}
	moveTo(t, want[0], "http://127.0.0.1:1")
	c.Take()
	c.Follow(t.Context(), want)
	c.untilMoved(t, "c0")
	if failed := c.Follow(t.Context(), want); len(failed) > 0 || c.lives(t.Context(), "c0") == nil {
		t.Errorf("a server that is down is asked: %v", failed)
	}
}

// TestFollowInterrupted: a term that ends takes what it exchanges with it, and the next one begins that again.
func TestFollowInterrupted(t *testing.T) {
	good, _ := answering(t)
	c, want := watching(t, good)
	c.grace = 0
	nowhere, called := silent.Listen(t)
	moveTo(t, want[0], nowhere)
	leadership, end := context.WithCancel(t.Context())
	c.Follow(leadership, want)
	silent.Called(t, called)
	end()
	promptly(t, "the end of a term", c.exchanges.Wait)
	if err := c.lives(t.Context(), "c0"); err != nil {
		t.Errorf("the connection in use: %v", err)
	}
	c.Follow(t.Context(), want)
	silent.Called(t, called)
	promptly(t, "the end of the process", func() { c.Close(t.Context()) })
}

// TestFollowInMidLook: a term that ends while the access is read once more has left word that its exchange is not done.
func TestFollowInMidLook(t *testing.T) {
	good, _ := answering(t)
	c, want := watching(t, good)
	c.grace = 0
	nowhere, called := silent.Listen(t)
	path := want[0].Spec.Access.Kubeconfig.Path
	moveTo(t, want[0], nowhere)
	leadership, end := context.WithCancel(t.Context())
	c.Follow(leadership, want)
	silent.Called(t, called)
	text, err := os.ReadFile(path)
	if err = errors.Join(err, os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	var looking gosync.WaitGroup
	looking.Go(func() { c.Follow(t.Context(), want) })
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0) // it is open once somebody reads
	if err != nil {
		t.Fatal(err)
	}
	end()
	c.exchanges.Wait()
	if _, err = pipe.Write(text); errors.Join(err, pipe.Close()) != nil {
		t.Fatal(err)
	}
	looking.Wait()
	silent.Called(t, called)
}

// TestFollowBack: an exchange of a cluster that left, and came back meanwhile, leaves the new connection alone.
func TestFollowBack(t *testing.T) {
	good, _ := answering(t)
	c, want := watching(t, good)
	c.grace = 0
	e, _ := c.entry("c0")
	e.exchanging.Lock()
	write(t, want[0].Spec.Access.Kubeconfig.Path, "{")
	c.Follow(t.Context(), want)
	moveTo(t, want[0], good)
	c.Follow(t.Context(), want[1:])
	c.grace = time.Hour
	c.Follow(t.Context(), want)
	e.exchanging.Unlock()
	c.exchanges.Wait()
	if err := c.lives(t.Context(), "c0"); err != nil {
		t.Error(err)
	}
}

// TestFollowUnusable: nothing is watched any more by way of an access that nobody can connect by now.
func TestFollowUnusable(t *testing.T) {
	good, _ := answering(t)
	c, want := watching(t, good)
	bad := strings.Replace(kubeconfig("https://east.example.com", "token: x"), "cluster: {", "cluster: {certificate-authority-data: eA==, ", 1)
	write(t, want[0].Spec.Access.Kubeconfig.Path, bad)
	if failed := c.Follow(t.Context(), want); failed["c0"] == nil || len(c.registry.Names()) != 1 {
		t.Errorf("%v, open are %v", failed, c.registry.Names())
	}
}

// TestOneConnection: what was begun in one cluster goes on there, though another one has its name by now; not where none has.
func TestOneConnection(t *testing.T) {
	good, asked := answering(t)
	c, want := watching(t, good)
	other, askedOther := answering(t)
	err := c.WithCluster(t.Context(), "c0", func(open object.Cluster) error {
		moveTo(t, want[0], other)
		c.Follow(t.Context(), want)
		before, beforeOther := asked.Load(), askedOther.Load()
		unknown := []object.Watch{{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "x"}}
		if _, err := open.Observe(t.Context(), unknown); asked.Load() == before || askedOther.Load() != beforeOther {
			t.Errorf("%v, the first was asked %d times, the other %d", err, asked.Load()-before, askedOther.Load()-beforeOther)
		}
		c.Follow(t.Context(), want[1:])
		_, err := open.Observe(t.Context(), nil)
		return err
	})
	if !errors.Is(err, cluster.ErrNotExist) {
		t.Errorf("once the cluster left: %v", err)
	}
}

// TestFollowFirst: nothing waits for a first connection, and one without watches is exchanged at once: a command that runs
// once waits for nothing here.
func TestFollowFirst(t *testing.T) {
	c, want := byFiles(t, 2)
	nowhere, _ := silent.Listen(t)
	c.grace = time.Hour
	moveTo(t, want[0], nowhere)
	promptly(t, "a first connection", func() { c.Follow(t.Context(), want) })
	other, _ := silent.Listen(t)
	moveTo(t, want[0], other)
	promptly(t, "a connection without watches", func() { c.Follow(t.Context(), want) })
	if at := c.addressOf(t, "c0"); at != other {
		t.Errorf("it is at %s, want %s", at, other)
	}
	if err := os.Remove(want[0].Spec.Access.Kubeconfig.Path); err != nil {
		t.Fatal(err)
	}
	if failed := c.Follow(t.Context(), want); failed["c0"] == nil {
		t.Error("an access that is gone has no error")
	}
}
