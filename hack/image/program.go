package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Program is linkwright built for one platform.
type Program struct {
	Platform v1.Platform
	Path     string
	Info     *buildinfo.BuildInfo
	// Revision is the commit it was built from, and Time is when that was committed, in UTC. Modified reports that files of
	// the checkout differed from the commit.
	Revision string
	Time     time.Time
	Modified bool
}

func buildAll(ctx context.Context, platforms []v1.Platform, dir string) ([]Program, error) {
	var out []Program
	for _, p := range platforms {
		program, err := build(ctx, p, dir)
		if err != nil {
			return nil, err
		}
		out = append(out, program)
	}
	return out, nil
}

// build builds ./cmd/linkwright into a directory of its own under dir. Without its symbol table, the program is a third smaller; panics still
// show functions and lines.
func build(ctx context.Context, p v1.Platform, dir string) (Program, error) {
	path := filepath.Join(dir, p.OS+"-"+p.Architecture, "linkwright")
	c := exec.CommandContext(ctx, "go", "build", "-buildvcs=true", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/linkwright")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Architecture)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		return Program{}, fmt.Errorf("build linkwright for %s: %w\n%s", p, err, stderr.Bytes())
	}
	return read(p, path)
}

// read reads what Go recorded in a program about its build. A program that was not built from a Git checkout is an error: its image
// would not say what is in it.
func read(p v1.Platform, path string) (Program, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return Program{}, fmt.Errorf("read build information: %w", err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	at, err := time.Parse(time.RFC3339, settings["vcs.time"])
	if err != nil {
		return Program{}, fmt.Errorf("%s does not record the time of its commit: build it in a Git checkout, with -buildvcs=true", path)
	}
	return Program{
		Platform: p, Path: path, Info: info, Revision: settings["vcs.revision"], Time: at.UTC(), Modified: settings["vcs.modified"] == "true",
	}, nil
}
