// Package program builds linkwright for tests that start it as people do.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const path = "github.com/linkwright/linkwright/cmd/linkwright"

// Build builds the program as make build does, without the race detector, and returns its path in dir. The go command leaves a file alone
// that is what it would build: Build begins with a copy of the repository's bin/linkwright, so right after make build nothing is linked.
func Build(ctx context.Context, dir string) (string, error) {
	file := filepath.Join(dir, "linkwright")
	if err := copyBuilt(ctx, file); err != nil {
		return "", fmt.Errorf("copy bin/linkwright: %w", err)
	}
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", file, path) //nolint:gosec // our own
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build linkwright: %w\n%s", err, out)
	}
	return file, nil
}

// copyBuilt copies what make build left, if anything.
func copyBuilt(ctx context.Context, file string) error {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	built, err := os.ReadFile(filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "bin", "linkwright"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, built, 0o700) //nolint:gosec // a program
}
