package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/linkwright/linkwright/api"
)

//go:embed declarations
var declarations embed.FS

// repository is a bare Git repository, as on a server, and a clone to commit in.
type repository struct {
	Bare, Clone string
}

// templateData fills in the templates of the declarations.
type templateData struct {
	Clusters []*cluster
	Links    []api.Pair
}

func newRepository(ctx context.Context, dir string) (repository, error) {
	r := repository{Bare: filepath.Join(dir, "fleet.git"), Clone: filepath.Join(dir, "fleet")}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", r.Bare},
		{"init", "--quiet", "--initial-branch=main", r.Clone},
		{"-C", r.Clone, "remote", "add", "origin", r.Bare},
		{"-C", r.Clone, "config", "user.name", "linkwright demo"},
		{"-C", r.Clone, "config", "user.email", "demo@linkwright.invalid"},
		{"-C", r.Clone, "config", "commit.gpgSign", "false"},
	} {
		if _, err := git(ctx, args...); err != nil {
			return r, err
		}
	}
	return r, nil
}

// declare writes files of package declarations into the clone.
func (r repository) declare(data templateData, names ...string) error {
	for _, name := range names {
		t, err := template.ParseFS(declarations, "declarations/"+name)
		if err != nil {
			return fmt.Errorf("declare %s: %w", name, err)
		}
		var text strings.Builder
		if err := t.Execute(&text, data); err != nil {
			return fmt.Errorf("declare %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(r.Clone, name), []byte(text.String()), 0o644); err != nil {
			return fmt.Errorf("declare: %w", err)
		}
	}
	return nil
}

// push commits everything in the clone, pushes it, and returns the commit.
func (r repository) push(ctx context.Context, message string) (api.Commit, error) {
	var hash string
	for _, args := range [][]string{
		{"add", "--all"},
		{"commit", "--quiet", "--message", message},
		{"push", "--quiet", "--set-upstream", "origin", "main"},
		{"rev-parse", "HEAD"},
	} {
		out, err := git(ctx, append([]string{"-C", r.Clone}, args...)...)
		if err != nil {
			return "", err
		}
		hash = strings.TrimSpace(out)
	}
	return api.Commit(hash), nil
}

// git runs the program git without the settings of the user who runs the demo.
func git(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "GIT_") {
			c.Env = append(c.Env, entry)
		}
	}
	c.Env = append(c.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
