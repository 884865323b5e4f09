package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/declared"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/source"
)

// loadOr tells the problems on stderr, and turns a tree without a fleet into an exit code.
func (k *kustomize) loadOr(ctx context.Context, stderr io.Writer, o declared.Origin) (*fleet.Fleet, error) {
	f, problems, err := k.Load(ctx, o)
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
func (g *gitFlags) find(ctx context.Context, args []string) (declared.Origin, error) {
	switch {
	case g.options.Repo != "" && len(args) > 0:
		return declared.Origin{}, usage("--repo and %s: name one of the two", args[0])
	case g.options.Repo != "":
		return g.head(ctx)
	case g.options.Ref != "":
		return declared.Origin{}, usage("--ref goes with --repo: else write REPO@REV")
	case len(args) == 0:
		return g.directory(".")
	}
	return g.named(ctx, args[0])
}

// head is what --repo and --ref name.
func (g *gitFlags) head(ctx context.Context) (declared.Origin, error) {
	s, err := g.open()
	if err != nil {
		return declared.Origin{}, err
	}
	defer s.Close() //nolint:errcheck // a snapshot is in memory
	snap, err := s.Poll(ctx)
	return declared.Origin{Snapshot: snap, Dir: g.dir()}, err
}

func (g *gitFlags) named(ctx context.Context, arg string) (declared.Origin, error) {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return g.file(arg)
	} else if err == nil || !strings.Contains(arg, "@") {
		return g.directory(arg)
	}
	at := strings.LastIndex(arg, "@")
	if rev := arg[at+1:]; strings.Contains(rev, ":") && !strings.HasPrefix(rev, "semver:") { // no name holds a colon
		return declared.Origin{}, usage("%s: of which revision? write %s@REV", arg, arg)
	}
	g.options.Repo, g.options.Ref = arg[:at], arg[at+1:]
	s, err := g.open()
	if err != nil {
		return declared.Origin{}, err
	}
	defer s.Close() //nolint:errcheck // a snapshot is in memory
	snap, err := s.At(ctx, arg[at+1:])
	return declared.Origin{Snapshot: snap, Dir: g.dir()}, err
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

func (g *gitFlags) directory(dir string) (declared.Origin, error) {
	if err := g.plain(dir); err != nil {
		return declared.Origin{}, err
	}
	if strings.Contains(dir, "://") {
		return declared.Origin{}, usage("%s: of which revision? write REPO@REV", dir)
	}
	if !fs.ValidPath(cmp.Or(g.dir(), ".")) {
		return declared.Origin{}, usage("--path %q: must be relative to %s and stay inside it", g.options.Path, dir)
	}
	o := g.options
	o.Path = g.dir()
	s, err := source.Dir(dir, o)
	if errors.Is(err, source.ErrPathGone) {
		err = fmt.Errorf("--path: %w", err)
	}
	return declared.Origin{Snapshot: s, Dir: prefix(filepath.Join(dir, g.options.Path))}, err
}

// file is a tree of one file alone: what it refers to must stand in it.
func (g *gitFlags) file(name string) (declared.Origin, error) {
	if err := g.plain(name); err != nil {
		return declared.Origin{}, err
	}
	if g.options.Path != "" {
		return declared.Origin{}, usage("--path: %s is a file", name)
	}
	s, err := source.File(name, g.options)
	return declared.Origin{Snapshot: s, Dir: prefix(filepath.Dir(name))}, err
}
