package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

// The server packs again, and throws away what nothing reaches, while we ask.
func TestPollWhileRepacked(t *testing.T) {
	r := newRepo(t)
	for i := range 20 {
		r.write(fmt.Sprintf("fleet/%d.yaml", i), strings.Repeat(fmt.Sprintln("line", i), 50))
	}
	r.push("many")
	srv := serve(t, r, func(*http.Request) bool { return true })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	same(t, r, s)
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { repack(t, r, stop) })
	last := poll(t, s)
	for i := range 10 {
		r.write("fleet/7.yaml", fmt.Sprint("round ", i))
		r.git("commit", "-q", "-a", "-m", "round")
		for exec.CommandContext(t.Context(), "git", "-C", r.work, "push", "-q", "origin", "HEAD").Run() != nil {
			continue // it met gc
		}
		patiently(t, s)
		snap := same(t, r, s)
		if err := s.Follows(t.Context(), snap.Commit, last.Commit); errors.Is(err, source.ErrNonFastForward) || errors.Is(err, source.ErrUnknownCommit) {
			t.Errorf("Follows: %v", err)
		}
		last = snap
	}
	close(stop)
	group.Wait()
}

// repack does it until it is told to stop; each git runs to its end, since it would not end what it started itself.
func repack(t *testing.T, r repo, stop <-chan struct{}) {
	for {
		for _, args := range [][]string{{"repack", "-q", "-a", "-d"}, {"gc", "-q"}} {
			_ = exec.CommandContext(t.Context(), "git", append([]string{"-C", r.bare}, args...)...).Run() // what fails is tried again
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// patiently polls until it succeeds: what gc takes away under a server's feet is an error, never part of a commit.
func patiently(t *testing.T, s *source.Source) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if _, err = s.Poll(t.Context()); err == nil {
			return
		}
		if waiting, ok := errors.AsType[*source.Waiting](err); ok {
			time.Sleep(time.Until(waiting.Until))
		}
	}
	t.Fatalf("Poll: %v", err)
}

// A revert brings back a file that the last commit's ancestors have, and the last commit has not: whoever takes ancestors for
// granted does not send it.
func TestPollOfARevert(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/west.yaml", "kind: Cluster # west\n")
	r.push("west")
	r.git("rm", "-q", "fleet/west.yaml")
	r.push("without")
	for name, repo := range map[string]func() source.Options{
		"file": func() source.Options { return source.Options{Repo: r.bare, Allow: source.Allow{File: true}} },
		"http": func() source.Options {
			srv := serve(t, r, func(*http.Request) bool { return true })
			return source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, repo())
			same(t, r, s)
			r.git("revert", "--no-edit", "HEAD")
			r.git("push", "-q", "origin", "HEAD")
			same(t, r, s)
		})
	}
}

// Branches that began before the last commit and were merged after it cost what is on them, and not what came before.
func TestFollowsAMerge(t *testing.T) {
	r := newRepo(t)
	r.git("-C", r.bare, "config", "uploadpack.allowFilter", "true")
	r.git("checkout", "-q", "-b", "side")
	r.commits(slices.Repeat([]string{"side"}, 5)...)
	r.git("checkout", "-q", "main")
	r.commits(slices.Repeat([]string{"main"}, 300)...)
	r.write("last", "last")
	last := api.Commit(r.push("last"))
	srv := serve(t, r, func(*http.Request) bool { return true })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	poll(t, s)
	r.write("a", strings.Repeat("text\n", 10_000))
	r.push("on main")
	r.git("merge", "-q", "-m", "merge", "side")
	r.git("push", "-q", "origin", "HEAD")
	head := poll(t, s)
	srv.requests.Store(0)
	srv.sent.Store(0)
	if err := s.Follows(t.Context(), head.Commit, last); err != nil {
		t.Errorf("Follows: %v", err)
	}
	if n, sent := srv.requests.Load(), srv.sent.Load(); n != 2 || sent > 4<<10 {
		t.Errorf("it took %d requests and %d bytes, want 2 and a few commits", n, sent)
	}
	if err := s.Follows(t.Context(), last, head.Commit); !errors.Is(err, source.ErrNonFastForward) && !errors.Is(err, source.ErrRefGone) {
		t.Errorf("Follows the other way: %v", err)
	}
}

// A tag that is created again for a commit that we hold is another object to fetch, and brings nothing else.
func TestPollOfAMovedTag(t *testing.T) {
	r := newRepo(t)
	cache := t.TempDir()
	o := source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Cache: cache, Ref: "v1"}
	r.git("push", "-q", "origin", "HEAD:refs/tags/v1")
	s := open(t, o)
	first := same(t, r, s)
	r.git("tag", "-a", "-m", "annotated", "v1")
	r.git("push", "-q", "-f", "origin", "v1")
	again, err := s.At(t.Context(), "v1")
	if err != nil || again.Commit != first.Commit {
		t.Fatalf("At(v1) = %s, %v", again.Commit, err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", stored(t, cache), "cat-file", "-t", r.git("rev-parse", "v1"))
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "tag" {
		t.Errorf("the store does not hold the tag: %s, %v", out, err)
	}
}

// What one commit has in common with the one before is the very same memory.
func TestSnapshotsShare(t *testing.T) {
	r := newRepo(t)
	r.write("fleet/deep/a.yaml", "a\n")
	r.write("moved/b.yaml", "b\n")
	r.push("more")
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	first := same(t, r, s)
	r.write("fleet/east.yaml", "changed\n")
	r.git("mv", "moved", "elsewhere")
	r.push("changed")
	next := same(t, r, s)
	info := func(s source.Snapshot, name string) fs.FileInfo {
		t.Helper()
		i, err := fs.Stat(s.Tree, name)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	if info(first, "fleet/deep") != info(next, "fleet/deep") {
		t.Error("a directory that did not change was read again")
	}
	if info(first, "fleet") == info(next, "fleet") {
		t.Error("a directory that changed is the same")
	}
}

// A turn is waited for no longer than the caller does.
func TestPollWaitsForItsTurn(t *testing.T) {
	addr := silentListener(t)
	s := open(t, source.Options{Repo: "http://" + addr.String() + "/fleet.git", Timeout: time.Second})
	done := make(chan error)
	go func() {
		_, err := s.Poll(t.Context())
		done <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.At(ctx, "main")
	refuse(t, err, "not done within")
	refuse(t, <-done, "not done within")
}
