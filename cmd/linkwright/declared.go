package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/source"
)

// declared is what a branch of a repository declares; an unchanged commit is loaded once.
type declared struct {
	poll     func(context.Context) (source.Snapshot, error)
	last     api.Commit
	loaded   bool
	fleet    *fleet.Fleet
	problems []api.Problem
}

// Next implements sync.Declared.
func (d *declared) Next(ctx context.Context) (*fleet.Fleet, []api.Problem, error) {
	s, err := d.poll(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !d.loaded || s.Commit != d.last {
		d.fleet, d.problems = fleet.Load(s.Commit, s.Tree)
		d.last, d.loaded = s.Commit, true
	}
	return d.fleet, d.problems, nil
}

// snapshot reads what an argument names: REPO@REV, or a directory.
func snapshot(ctx context.Context, arg string, g *gitFlags) (source.Snapshot, error) {
	repo, rev, ok := strings.Cut(arg, "@")
	if at := strings.LastIndex(arg, "@"); at >= 0 {
		repo, rev = arg[:at], arg[at+1:]
	}
	if info, err := os.Stat(arg); err == nil && info.IsDir() || !ok {
		return directory(arg, g.options.Path)
	}
	g.options.Repo = repo
	s, err := g.open()
	if err != nil {
		return source.Snapshot{}, err
	}
	return s.At(ctx, rev)
}

func directory(dir, path string) (source.Snapshot, error) {
	s, err := source.Dir(dir)
	if err != nil || path == "" {
		return s, err
	}
	sub, err := fs.Sub(s.Tree, path)
	if err != nil {
		return s, fmt.Errorf("open --path: %w", err)
	}
	if _, err := fs.Stat(sub, "."); err != nil {
		return s, fmt.Errorf("open --path: %w", err)
	}
	return source.Snapshot{Commit: s.Commit, Tree: sub}, nil
}
