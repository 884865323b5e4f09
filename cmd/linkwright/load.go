package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/source"
)

// origin is a tree of declarations as it was read. dir is where it lies, seen from the root of its repository or, of a
// plain directory, from the working directory; empty where that is the same.
type origin struct {
	source.Snapshot
	dir string
}

// place names the files of problems as they are seen from where people are.
func (o origin) place(problems []api.Problem) []api.Problem {
	for i := range problems {
		p := &problems[i]
		p.Pos.File = path.Join(o.dir, p.Pos.File)
		if p.See.File != "" {
			p.See.File = path.Join(o.dir, p.See.File)
		}
	}
	return problems
}

// loadOr tells the problems on stderr, and turns a tree without a fleet into an exit code.
func (k *kustomize) loadOr(ctx context.Context, stderr io.Writer, o origin) (*fleet.Fleet, error) {
	f, problems, err := k.load(ctx, o)
	for _, p := range problems {
		say(stderr, report.Line(p))
	}
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, exit{exitInvalid, nil}
	}
	return f, nil
}

// find reads what an argument names: REPO@REV, a directory, or one file; without one --repo, else the working directory.
func (g *gitFlags) find(ctx context.Context, args []string) (origin, error) {
	switch {
	case g.options.Repo != "" && len(args) > 0:
		return origin{}, usage("--repo and %s: name one of the two", args[0])
	case g.options.Repo != "":
		return g.head(ctx)
	case g.options.Ref != "":
		return origin{}, usage("--ref goes with --repo: else write REPO@REV")
	case len(args) == 0:
		return g.directory(".")
	}
	return g.named(ctx, args[0])
}

// head is what --repo and --ref name.
func (g *gitFlags) head(ctx context.Context) (origin, error) {
	s, err := g.open()
	if err != nil {
		return origin{}, err
	}
	defer s.Close() //nolint:errcheck // a snapshot is in memory
	snap, err := s.Poll(ctx)
	return origin{snap, g.dir()}, err
}

func (g *gitFlags) named(ctx context.Context, arg string) (origin, error) {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return g.file(arg)
	} else if err == nil || !strings.Contains(arg, "@") {
		return g.directory(arg)
	}
	at := strings.LastIndex(arg, "@")
	if rev := arg[at+1:]; strings.Contains(rev, ":") && !strings.HasPrefix(rev, "semver:") { // no name holds a colon
		return origin{}, usage("%s: of which revision? write %s@REV", arg, arg)
	}
	g.options.Repo, g.options.Ref = arg[:at], arg[at+1:]
	s, err := g.open()
	if err != nil {
		return origin{}, err
	}
	defer s.Close() //nolint:errcheck // a snapshot is in memory
	snap, err := s.At(ctx, arg[at+1:])
	return origin{snap, g.dir()}, err
}

// dir is --path as a prefix of the names of files.
func (g *gitFlags) dir() string { return prefix(g.options.Path) }

// prefix is what a path adds to the names below it: nothing, where it is the place itself.
func prefix(dir string) string {
	if dir = filepath.ToSlash(filepath.Clean(dir)); dir != "." {
		return dir
	}
	return ""
}

func (g *gitFlags) directory(dir string) (origin, error) {
	if err := g.plain(dir); err != nil {
		return origin{}, err
	}
	if strings.Contains(dir, "://") {
		return origin{}, usage("%s: of which revision? write REPO@REV", dir)
	}
	if !fs.ValidPath(cmp.Or(g.dir(), ".")) {
		return origin{}, usage("--path %q: must be relative to %s and stay inside it", g.options.Path, dir)
	}
	o := g.options
	o.Path = g.dir()
	s, err := source.Dir(dir, o)
	if errors.Is(err, source.ErrPathGone) {
		err = fmt.Errorf("--path: %w", err)
	}
	return origin{s, prefix(filepath.Join(dir, g.options.Path))}, err
}

// file is a tree of one file alone: what it refers to must stand in it.
func (g *gitFlags) file(name string) (origin, error) {
	if err := g.plain(name); err != nil {
		return origin{}, err
	}
	if g.options.Path != "" {
		return origin{}, usage("--path: %s is a file", name)
	}
	s, err := source.File(name, g.options)
	return origin{s, prefix(filepath.Dir(name))}, err
}
