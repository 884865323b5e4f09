package source_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkwright/linkwright/sync/source"
)

// TestPollInAChild is the process that TestTwoRealProcesses starts: it polls once and tells what it was given.
func TestPollInAChild(t *testing.T) {
	url := os.Getenv("LINKWRIGHT_CHILD_POLLS")
	if url == "" {
		t.Skip("started by TestTwoRealProcesses")
	}
	snap := poll(t, open(t, source.Options{Repo: url, Cache: os.Getenv("LINKWRIGHT_CHILD_CACHE")}))
	fmt.Printf("given %s %x\n", snap.Commit, sha256.Sum256([]byte(text(t, snap))))
}

// pair is this process and those that it starts, at one cache and one server, which can stop in the middle of a pack.
type pair struct {
	repo
	url, cache, temp string
	stop             atomic.Int32  // the part of a pack, in percent, after which it says no more; 0: it says all
	stopped          chan struct{} // it has said its part
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{repo: newRepo(t), cache: t.TempDir(), temp: t.TempDir(), stopped: make(chan struct{})}
	git := backend(p.repo)
	p.url = serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		part := int(p.stop.Load())
		if q.Method == http.MethodGet || part == 0 {
			git.ServeHTTP(w, q)
			return
		}
		whole := httptest.NewRecorder()
		git.ServeHTTP(whole, q)
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()*part/100])
		_ = http.NewResponseController(w).Flush()
		p.stopped <- struct{}{}
		<-q.Context().Done()
	})) + "/fleet.git"
	return p
}

// child starts another process, which writes what it was given to out.
func (p *pair) child(out *bytes.Buffer) *exec.Cmd {
	p.t.Helper()
	c := exec.CommandContext(p.t.Context(), os.Args[0], "-test.run", "^TestPollInAChild$")
	c.Env = append(os.Environ(), "LINKWRIGHT_CHILD_POLLS="+p.url, "LINKWRIGHT_CHILD_CACHE="+p.cache, "TMPDIR="+p.temp)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// other wants that another process is given the head.
func (p *pair) other() {
	p.t.Helper()
	var out bytes.Buffer
	err := p.child(&out).Wait()
	want := fmt.Sprintf("given %s %x\n", p.git("rev-parse", "HEAD"), sha256.Sum256([]byte(p.committed("HEAD"))))
	if err != nil || !strings.Contains(out.String(), want) {
		p.t.Fatalf("the other process: %v, want %s%s", err, want, out.String())
	}
}

// kill kills another process when part of a pack is in its store, which lies in dir.
func (p *pair) kill(part int, dir string) {
	p.t.Helper()
	p.stop.Store(int32(part)) //nolint:gosec // a percentage
	defer p.stop.Store(0)
	var out bytes.Buffer
	c := p.child(&out)
	<-p.stopped
	deadline := time.Now().Add(30 * time.Second)
	for coming := ""; coming == ""; runtime.Gosched() {
		found, err := filepath.Glob(dir + "/in-*/pack")
		if err != nil || time.Now().After(deadline) {
			p.t.Fatalf("no pack is coming in at %s: %v\n%s", dir, err, out.String())
		}
		if len(found) > 0 {
			coming = found[0]
		}
	}
	if err := c.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		p.t.Fatalf("it was killed and ended well:\n%s", out.String())
	}
}

func (p *pair) grow(i int) {
	p.t.Helper()
	p.write("fleet/noise", noise(300<<10))
	p.push(fmt.Sprint("grown ", i))
}

// The first process keeps its cache while others use a directory of their own, and are killed in the middle of a fetch. The next one takes away what
// they left.
func TestTwoRealProcesses(t *testing.T) {
	p := newPair(t)
	first := open(t, source.Options{Repo: p.url, Cache: p.cache})
	same(t, p.repo, first)
	p.other()
	if left := list(t, p.temp); len(left) != 0 {
		t.Errorf("the other process left %q", left)
	}
	for i, part := range []int{20, 50, 95} {
		p.grow(i)
		p.kill(part, p.temp+"/linkwright-git-*/*")
		same(t, p.repo, first)
		p.other()
		if left := list(t, p.temp); len(left) != 0 {
			t.Errorf("a process that was killed left %q", left)
		}
		whole(t, stored(t, p.cache))
	}
}

// Whoever is killed leaves the cache, its lock and half a pack to the next one.
func TestCacheOfAKilledProcess(t *testing.T) {
	p := newPair(t)
	for i, part := range []int{20, 50, 95, 30} {
		p.grow(i)
		p.kill(part, p.cache+"/*")
		if i%2 == 0 {
			p.other()
		}
		s := open(t, source.Options{Repo: p.url, Cache: p.cache})
		same(t, p.repo, s)
		if left, _ := filepath.Glob(p.cache + "/*/in-*"); len(left) != 0 {
			t.Errorf("left in the cache: %q", left)
		}
		if left, want := list(t, p.cache), 2; len(left) != want {
			t.Errorf("the cache holds %q, want a store and its lock", left)
		}
		whole(t, stored(t, p.cache))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if left := list(t, p.temp); len(left) != 0 {
		t.Errorf("nobody else had the cache, and these directories were made: %q", left)
	}
}
