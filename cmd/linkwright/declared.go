package main

import (
	"context"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/source"
)

// declared is what a branch of a repository declares. An unchanged commit is loaded once, unless it gave no fleet: a build
// that took too long may be quicker the next time.
type declared struct {
	poll     func(context.Context) (source.Snapshot, error)
	load     func(context.Context, origin) (*fleet.Fleet, []api.Problem, error)
	dir      string // of the tree in its repository
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
		f, problems, err := d.load(ctx, origin{s, d.dir})
		if err != nil {
			return nil, nil, err // of this machine: the next pass tries again
		}
		d.fleet, d.problems, d.last, d.loaded = f, problems, s.Commit, f != nil
	}
	return d.fleet, d.problems, nil
}
