package declared

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/sync/source"
)

// What is allowed is a commit: a branch or a tag that somebody calls like its digits changes nothing.
func TestAllowedTakesNoName(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "allowed")
	allowed := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "not allowed")
	git("update-ref", "refs/heads/"+allowed[:7], "HEAD")
	s, err := source.New(source.Options{Repo: dir, Allow: source.Allow{File: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	d := &Branch{Source: s}
	if got, err := d.fullHash(t.Context(), api.Commit(allowed[:7])); err != nil || string(got) != allowed {
		t.Errorf("--allow-non-fast-forward %s is %s, %v; want %s", allowed[:7], got, err, allowed)
	}
}
