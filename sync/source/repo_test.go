package source_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// repo is a bare repository, as on a server, and a work tree whose commits it gets. Both have the same objects, so a commit is there
// without a push.
type repo struct {
	t          *testing.T
	bare, work string
}

// newRepo has one commit on main, with fleet/east.yaml and a file beside fleet.
func newRepo(t *testing.T) repo {
	t.Helper()
	firstOnce.Do(func() { makeFirst(t) })
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(firstDir)); err != nil {
		t.Fatal(err)
	}
	r := repo{t: t, bare: filepath.Join(dir, "fleet.git"), work: filepath.Join(dir, "work")}
	r.shareObjects()
	r.git("remote", "add", "origin", r.bare)
	return r
}

// firstDir has the repositories that newRepo copies, until TestMain ends: to make them takes Git ten processes.
var (
	firstOnce sync.Once
	firstDir  string
)

func makeFirst(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "source-first-") //nolint:usetesting // it is for all tests
	if err != nil {
		t.Fatal(err)
	}
	firstDir = dir
	r := repo{t: t, bare: filepath.Join(dir, "fleet.git"), work: filepath.Join(dir, "work")}
	if err := os.Mkdir(r.work, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "--template=", "-b", "main", ".")
	r.git("init", "-q", "--template=", "--bare", "-b", "main", r.bare)
	r.shareObjects()
	r.write("fleet/east.yaml", "kind: Cluster\n")
	r.write("README.md", "beside\n")
	r.push("first")
	if err := os.Remove(filepath.Join(r.bare, "objects")); err != nil { // each copy has a link of its own
		t.Fatal(err)
	}
}

// shareObjects makes the objects of the work tree those of the bare repository.
func (r repo) shareObjects() {
	r.t.Helper()
	objects := filepath.Join(r.bare, "objects")
	if err := os.RemoveAll(objects); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(r.work, ".git", "objects"), objects); err != nil {
		r.t.Fatal(err)
	}
}

// git runs in the work tree.
func (r repo) git(args ...string) string {
	r.t.Helper()
	return r.gitWith("", args...)
}

// gitWith gives git something to read. It is away from this machine's and the developer's configuration, and starts no maintenance after a commit.
func (r repo) gitWith(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Stdin = r.work, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (r repo) write(name, text string) {
	r.t.Helper()
	name = filepath.Join(r.work, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// push commits all there is, makes that the head of the branch at the server, and returns the commit's hash.
func (r repo) push(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
	hash, branch, _ := strings.Cut(r.git("rev-parse", "HEAD", "--symbolic-full-name", "HEAD"), "\n")
	r.git("-C", r.bare, "update-ref", branch, hash)
	return hash
}

// commits puts commits without changes on the branch, one for each message, in one process.
func (r repo) commits(messages ...string) {
	r.t.Helper()
	branch := r.git("symbolic-ref", "HEAD")
	var in strings.Builder
	now := time.Now().Unix()
	for i, message := range messages {
		fmt.Fprintf(&in, "commit %s\ncommitter a <a@example.com> %d +0000\ndata %d\n%s\n", branch, now, len(message), message)
		if i == 0 {
			fmt.Fprintf(&in, "from %s^0\n", branch)
		}
	}
	r.gitWith(in.String(), "fast-import", "--quiet")
}
