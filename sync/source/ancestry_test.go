package source_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

// lineage tries a history with a merge, a force-push and a commit that the server forgets, on whatever way s goes.
func lineage(t *testing.T, r repo, s *source.Source) {
	t.Helper()
	base := api.Commit(r.git("rev-parse", "HEAD"))
	r.git("checkout", "-q", "-b", "side")
	r.write("side.txt", "began before last")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "side")
	side := api.Commit(r.git("rev-parse", "HEAD"))
	r.git("checkout", "-q", "main")
	var chain []api.Commit
	for i := range 5 {
		r.write("main.txt", fmt.Sprint(i))
		chain = append(chain, api.Commit(r.push("on main")))
	}
	r.git("merge", "-q", "-m", "merge", "side")
	r.git("push", "-q", "origin", "HEAD")
	merge := api.Commit(r.git("rev-parse", "HEAD"))
	poll(t, s)
	for _, last := range append(chain, base, side, merge) {
		if err := s.Follows(t.Context(), merge, last); err != nil {
			t.Errorf("Follows(the merge, %s): %v", last.Short(), err)
		}
	}
	r.git("reset", "-q", "--hard", string(chain[1]))
	r.write("main.txt", "another way")
	forced := api.Commit(r.push("forced"))
	poll(t, s)
	if err := s.Follows(t.Context(), forced, chain[0]); err != nil {
		t.Errorf("Follows(the forced one, an ancestor): %v", err)
	}
	for _, last := range []api.Commit{merge, side, chain[2]} {
		err := s.Follows(t.Context(), forced, last)
		if !errors.Is(err, source.ErrNonFastForward) {
			t.Errorf("Follows(the forced one, %s): %v is not %v", last.Short(), err, source.ErrNonFastForward)
		}
		refuse(t, err, string(forced), string(last))
	}
	r.git("push", "-q", "-f", "origin", string(base)+":main")
	if err := s.Follows(t.Context(), base, forced); !errors.Is(err, source.ErrNonFastForward) {
		t.Errorf("Follows(an ancestor, its descendant): %v is not %v", err, source.ErrNonFastForward)
	}
	r.forget()
	if err := s.Follows(t.Context(), base, chain[2]); !errors.Is(err, source.ErrUnknownCommit) {
		t.Errorf("Follows(the head, a forgotten one): %v is not %v", err, source.ErrUnknownCommit)
	}
	if err := s.Follows(t.Context(), merge, base); err != nil {
		t.Errorf("an answer that cannot change was not remembered: %v", err)
	}
}

// forget takes away from the bare repository what no ref reaches.
func (r repo) forget() {
	r.git("-C", r.bare, "reflog", "expire", "--expire=now", "--all")
	r.git("-C", r.bare, "gc", "-q", "--prune=now")
}

func TestFollows(t *testing.T) {
	r := newRepo(t)
	s := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}})
	err := s.Follows(t.Context(), "main", "HEAD~1")
	refuse(t, err, "want two hashes")
	lineage(t, r, s)
}

// With a filter, without one, with and without commits as deltas: the answers are the same.
func TestFollowsOverHTTP(t *testing.T) {
	for name, config := range map[string][]string{
		"plain":    nil,
		"filtered": {"uploadpack.allowFilter=true"},
		"packed":   {"uploadpack.allowFilter=true", "pack.depth=50", "pack.window=50"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			for _, c := range config {
				k, v, _ := strings.Cut(c, "=")
				r.git("-C", r.bare, "config", k, v)
			}
			srv := serve(t, r, func(*http.Request) bool { return true })
			lineage(t, r, open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)}))
		})
	}
}

// A history of many commits whose messages are alike is sent as deltas of one another.
func TestFollowsThroughDeltas(t *testing.T) {
	r := newRepo(t)
	base := api.Commit(r.git("rev-parse", "HEAD"))
	messages := make([]string, 50)
	for i := range messages {
		messages[i] = strings.Repeat("the same long text\n", 100) + fmt.Sprint(i)
	}
	r.commits(messages...)
	r.git("push", "-q", "origin", "HEAD")
	head := api.Commit(r.git("rev-parse", "HEAD"))
	r.git("-C", r.bare, "repack", "-q", "-a", "-d", "-f")
	srv := serve(t, r, func(*http.Request) bool { return true })
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	if err := s.Follows(t.Context(), head, base); err != nil {
		t.Errorf("Follows: %v", err)
	}
	if err := s.Follows(t.Context(), base, head); !errors.Is(err, source.ErrNonFastForward) {
		t.Errorf("Follows the other way: %v is not %v", err, source.ErrNonFastForward)
	}
}

// Azure DevOps answers nobody who does not ask for multi_ack.
func TestPollOfAServerThatInsistsOnMultiAck(t *testing.T) {
	r := newRepo(t)
	refused := 0
	srv := serve(t, r, func(*http.Request) bool { return true })
	srv.before = func(w http.ResponseWriter, q *http.Request, body string) bool {
		if q.Method == http.MethodPost && !strings.Contains(body, "multi_ack") {
			refused++
			http.Error(w, "TF401041: The Git protocol sent is not as expected (Clients must support multi-ack.).", http.StatusBadRequest)
			return true
		}
		return false
	}
	s := open(t, source.Options{Repo: srv.URL + "/fleet.git", Keys: with("ca.crt", srv.ca)})
	poll(t, s)
	lineage(t, r, s)
	if refused != 1 {
		t.Errorf("the server refused %d requests, want 1: what it wants is remembered", refused)
	}
}
