package sync_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
)

// history is a real repository that people push to, with a mirror of it on linkwright's side, as package source keeps one.
type history struct {
	t                   *testing.T
	remote, work, cache string
	down                bool // the remote does not answer
	asked               int  // whether one commit follows another
}

func newHistory(t *testing.T) *history {
	t.Helper()
	dir := t.TempDir()
	h := &history{t: t, remote: filepath.Join(dir, "remote"), work: filepath.Join(dir, "work"), cache: filepath.Join(dir, "cache")}
	h.git(dir, "init", "-q", "--bare", "-b", "main", h.remote)
	h.git(dir, "init", "-q", "-b", "main", h.work)
	h.git(h.work, "remote", "add", "origin", h.remote)
	return h
}

func (h *history) git(dir string, args ...string) string {
	h.t.Helper()
	out, err := h.try(dir, args...)
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (h *history) try(dir string, args ...string) (string, error) {
	args = append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "maintenance.auto=false"}, args...)
	out, err := exec.Command("git", args...).CombinedOutput() //nolint:noctx // it ends by itself
	return strings.TrimSpace(string(out)), err
}

// push commits a text on top of a commit, of none with "", and makes that the remote's head, by force.
func (h *history) push(on api.Commit, yaml string) api.Commit {
	h.t.Helper()
	if on == "" {
		h.git(h.work, "checkout", "-q", "--orphan", "new")
	} else {
		h.git(h.work, "checkout", "-q", "--detach", string(on))
	}
	if err := os.WriteFile(filepath.Join(h.work, "f.yaml"), []byte(yaml), 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.git(h.work, "add", ".")
	h.git(h.work, "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("change %d", h.asked))
	commit := api.Commit(h.git(h.work, "rev-parse", "HEAD"))
	if on == "" {
		h.git(h.work, "checkout", "-q", "--detach")
		h.git(h.work, "branch", "-D", "-q", "new")
	}
	h.force(commit)
	return commit
}

// force makes a commit the remote's head.
func (h *history) force(commit api.Commit) {
	h.t.Helper()
	h.git(h.work, "push", "-q", "--force", "origin", string(commit)+":refs/heads/main")
}

// collect lets the remote forget what no ref names.
func (h *history) collect() {
	h.t.Helper()
	h.git(h.remote, "reflog", "expire", "--expire=now", "--all")
	h.git(h.remote, "gc", "-q", "--prune=now")
}

var errDown = errors.New("connect to the repository: connection refused")

// Next implements sync.Declared.
func (h *history) Next(ctx context.Context) (sync.Declaration, error) {
	if h.down {
		return sync.Declaration{}, errDown
	}
	if _, err := os.Stat(h.cache); err != nil {
		h.git(h.work, "init", "-q", "--bare", h.cache)
	}
	h.git(h.cache, "fetch", "-q", h.remote, "+refs/heads/main:refs/heads/main")
	return h.At(ctx, api.Commit(h.git(h.cache, "rev-parse", "refs/heads/main")))
}

// At implements sync.Declared.
func (h *history) At(_ context.Context, commit api.Commit) (sync.Declaration, error) {
	text, err := h.try(h.cache, "show", string(commit)+":f.yaml")
	if err != nil && !h.down {
		text, err = h.try(h.remote, "show", string(commit)+":f.yaml")
	}
	if err != nil {
		return sync.Declaration{}, fmt.Errorf("no commit %s: %w", commit, err)
	}
	f, problems := fleet.Load(commit, fstest.MapFS{"f.yaml": {Data: []byte(text)}})
	return sync.Declaration{Commit: commit, Fleet: f, Problems: problems}, nil
}

// Follows implements sync.Declared.
func (h *history) Follows(_ context.Context, commit, last api.Commit, allowed []api.Commit) error {
	h.asked++
	if slices.Contains(allowed, commit) {
		return nil
	}
	if h.down {
		return errDown
	}
	if last == "" {
		return fmt.Errorf("linkwright cannot check whether %s descends from it: linkwright allow non-fast-forward %[1]s", commit)
	}
	if _, err := h.try(h.remote, "cat-file", "-e", string(last)); err != nil {
		return fmt.Errorf("the repository no longer has %s: linkwright allow non-fast-forward %s", last, commit)
	}
	if _, err := h.try(h.remote, "merge-base", "--is-ancestor", string(last), string(commit)); err != nil {
		return fmt.Errorf("%s does not descend from %s: linkwright allow non-fast-forward %[1]s", commit, last)
	}
	return nil
}
