package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/sync/source"
)

// refusal is a commit that gives no snapshot.
type refusal struct {
	change func(repo)
	path   string
	is     error
	words  []string
}

func TestPollRefusesPaths(t *testing.T) {
	refuses(t, map[string]refusal{
		"a path that vanished": {
			change: func(r repo) { r.git("rm", "-q", "-r", "fleet") }, path: "fleet",
			is: source.ErrPathGone, words: []string{"fleet"},
		},
		"a path that is a file": {
			change: func(repo) {}, path: "fleet/east.yaml",
			is: source.ErrPathGone, words: []string{"fleet/east.yaml"},
		},
		"a path through a symbolic link": {
			change: func(r repo) {
				if err := os.Symlink("fleet", filepath.Join(r.work, "other")); err != nil {
					r.t.Fatal(err)
				}
				r.git("add", "-A")
			}, path: "other/sub",
			is: source.ErrPathGone, words: []string{"other is a symbolic link"},
		},
		"a path that is a submodule": {
			change: func(r repo) {
				r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",other")
			}, path: "other",
			is: source.ErrPathGone, words: []string{"other is a submodule"},
		},
	})
}

func TestPollRefusesWhatIsNoFile(t *testing.T) {
	refuses(t, map[string]refusal{
		"a symbolic link": {
			change: func(r repo) { link(r, "fleet/sub/up.yaml") }, path: "fleet",
			words: []string{"sub/up.yaml: is a symbolic link"},
		},
		"a symbolic link that nothing uses": {
			change: func(r repo) { link(r, "fleet/README") }, path: "fleet",
			words: []string{"README: is a symbolic link", "commit the file itself"},
		},
		"a symbolic link in an overlay": {
			change: func(r repo) {
				r.write("fleet/overlays/east/kustomization.yaml", "kind: Component\n")
				link(r, "fleet/overlays/east/secret.txt")
			}, path: "fleet",
			words: []string{"overlays/east/secret.txt: is a symbolic link"},
		},
		"a dangling symbolic link to a directory": {
			change: func(r repo) {
				if err := os.Symlink("/etc/", filepath.Join(r.work, "fleet", ".hidden")); err != nil {
					r.t.Fatal(err)
				}
				r.git("add", "-A")
			}, path: "fleet",
			words: []string{".hidden: is a symbolic link"},
		},
		"directories without end": {
			change: func(r repo) {
				r.write("fleet"+strings.Repeat("/d", source.MaxDepth+1)+"/a.yaml", "")
				r.git("add", "-A")
			},
			path: "fleet", words: []string{"lies in more than 64 directories"},
		},
		"a submodule": {
			change: func(r repo) {
				r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",fleet/other")
			},
			path: "fleet", words: []string{"other: is a submodule"},
		},
	})
}

func refuses(t *testing.T, all map[string]refusal) {
	t.Helper()
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			tt.change(r)
			r.git("commit", "-q", "--allow-empty", "-m", "change")
			r.git("push", "-q", "origin", "HEAD")
			_, err := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Path: tt.path}).Poll(t.Context())
			refuse(t, err, append(tt.words, r.bare)...)
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%v is not %v", err, tt.is)
			}
		})
	}
}

func link(r repo, name string) {
	r.t.Helper()
	r.write(filepath.Dir(name)+"/beside.yaml", "")
	if err := os.Symlink("../../README.md", filepath.Join(r.work, name)); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", "-A")
}

// Ten levels of directories, each ten times the next: a few objects that unfold to ten thousand million files.
func TestPollRefusesABomb(t *testing.T) {
	r := newRepo(t)
	tree := r.git("rev-parse", "HEAD^{tree}")
	for range 10 {
		var b strings.Builder
		for name := range strings.SplitSeq("abcdefghij", "") {
			b.WriteString("040000 tree " + tree + "\t" + name + "\n")
		}
		tree = r.gitWith(b.String(), "mktree")
	}
	r.git("push", "-q", "origin", r.git("commit-tree", "-m", "bomb", tree)+":refs/heads/bomb")
	_, err := open(t, source.Options{Repo: r.bare, Allow: source.Allow{File: true}, Ref: "bomb"}).Poll(t.Context())
	refuse(t, err, "more than 20000 files and directories")
}
