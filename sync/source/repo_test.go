package source_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
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
	dir := t.TempDir()
	if err := os.CopyFS(dir, firstCommit(t)); err != nil {
		t.Fatal(err)
	}
	r := repo{t: t, bare: filepath.Join(dir, "fleet.git"), work: filepath.Join(dir, "work")}
	r.shareObjects()
	r.git("remote", "add", "origin", r.bare)
	return r
}

// firstCommit are the files of newRepo's repositories. They are made once: a repository takes Git ten processes.
func firstCommit(t *testing.T) fs.FS {
	t.Helper()
	firstOnce.Do(func() {
		dir := t.TempDir()
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
		if err := os.Remove(filepath.Join(r.bare, "objects")); err != nil {
			t.Fatal(err)
		}
		first = files(t, dir)
	})
	return first
}

var (
	firstOnce sync.Once
	first     fs.FS
)

// files reads a directory into memory.
func files(t *testing.T, dir string) fs.FS {
	t.Helper()
	tree, out := os.DirFS(dir), fstest.MapFS{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode()}
		if !d.IsDir() {
			if file.Data, err = fs.ReadFile(tree, name); err != nil {
				return err
			}
		}
		out[name] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

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

// gitEnv keeps git away from this machine's and the developer's configuration, and from starting more processes after each commit.
func gitEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
}

// git runs in the work tree.
func (r repo) git(args ...string) string {
	r.t.Helper()
	return r.gitWith("", args...)
}

// gitWith gives git something to read.
func (r repo) gitWith(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.work, gitEnv(), strings.NewReader(stdin)
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
