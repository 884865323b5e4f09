package enroll

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newCheckout is a repository with one commit on main.
func newCheckout(t *testing.T) checkout {
	t.Helper()
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "person")
		t.Setenv("GIT_"+who+"_EMAIL", "person@example.com")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	c := checkout{dir: t.TempDir()}
	c.must(t, "init", "--quiet", "--initial-branch=main")
	c.must(t, "commit", "--quiet", "--allow-empty", "--message", "begin")
	return c
}

func (c checkout) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.git(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (c checkout) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// What git would refuse to commit is known before anything is written.
func TestFree(t *testing.T) {
	files := map[string]string{"clusters/west.yaml": "kind: Cluster\n"}
	for name, tt := range map[string]struct {
		says    string
		prepare func(t *testing.T, c checkout)
	}{
		"a clean checkout": {"", func(*testing.T, checkout) {}},
		"an ignored path": {".gitignore", func(t *testing.T, c checkout) {
			c.write(t, ".gitignore", "clusters/\n", 0o600)
		}},
		"a merge": {"MERGE_HEAD", func(t *testing.T, c checkout) {
			c.must(t, "switch", "--quiet", "--create", "side")
			c.must(t, "commit", "--quiet", "--allow-empty", "--message", "side")
			c.must(t, "switch", "--quiet", "main")
			c.must(t, "merge", "--quiet", "--no-ff", "--no-commit", "side")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t)
			tt.prepare(t, c)
			err := c.free(t.Context(), files)
			if tt.says == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("free: %v, want %q", err, tt.says)
			}
			if _, failed := c.commit(t.Context(), files, "Declare west"); (failed == nil) != (err == nil) {
				t.Errorf("free: %v, but commit: %v", err, failed)
			}
		})
	}
}

// A rebase has no branch checked out.
func TestOpenCheckoutInRebase(t *testing.T) {
	c := newCheckout(t)
	c.must(t, "switch", "--quiet", "--detach")
	if _, err := openCheckout(t.Context(), c.dir); err == nil || !strings.Contains(err.Error(), "finish a rebase") {
		t.Errorf("openCheckout: %v", err)
	}
}
