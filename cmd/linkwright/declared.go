package main

import (
	"context"
	"errors"
	"fmt"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/source"
)

// repository is what is asked of a source.
type repository interface {
	Poll(ctx context.Context) (source.Snapshot, error)
	At(ctx context.Context, rev string) (source.Snapshot, error)
	Follows(ctx context.Context, commit, last api.Commit) error
}

// pinned has one revision for its head.
type pinned struct {
	repository
	rev string
}

// Poll implements repository.
func (p pinned) Poll(ctx context.Context) (source.Snapshot, error) { return p.At(ctx, p.rev) }

// declared is what a branch of a repository declares. An unchanged commit is loaded once, unless it gave no fleet: a build
// that took too long may be quicker the next time.
type declared struct {
	source repository
	load   func(context.Context, origin) (*fleet.Fleet, []api.Problem, error)
	dir    string // of the tree in its repository
	last   sync.Declaration
	in     object.Installation

	mu     gosync.Mutex
	wholes map[api.Commit]api.Commit // of commits that are allowed by their first digits; mu
}

// Next implements sync.Declared.
func (d *declared) Next(ctx context.Context) (sync.Declaration, error) {
	s, err := d.source.Poll(ctx)
	if untrusted, ok := errors.AsType[*source.Untrusted](err); ok {
		return sync.Declaration{Commit: untrusted.Commit}, err
	}
	if err != nil {
		return sync.Declaration{}, err
	}
	if d.last.Fleet != nil && d.last.Commit == s.Commit {
		return d.last, nil
	}
	next, err := d.read(ctx, s)
	if err == nil {
		d.last = next
	}
	return next, err
}

// At implements sync.Declared.
func (d *declared) At(ctx context.Context, commit api.Commit) (sync.Declaration, error) {
	s, err := d.source.At(ctx, string(commit))
	if err != nil {
		return sync.Declaration{}, err
	}
	return d.read(ctx, s)
}

// Follows implements sync.Declared.
func (d *declared) Follows(ctx context.Context, commit, last api.Commit, allowed []api.Commit) error {
	if last == "" {
		return d.blindly(ctx, commit, allowed)
	}
	follows := func(commit, last api.Commit) error { return d.allowable(d.source.Follows(ctx, commit, last), commit) }
	why := follows(commit, last)
	if why == nil {
		return nil
	}
	for _, one := range allowed {
		one, err := d.whole(ctx, one, commit, last)
		if err != nil {
			return fmt.Errorf("%w; %w", why, err)
		}
		if err = mayFollow(commit, last, one, follows); err == nil {
			return nil
		}
		why = err // which says more
	}
	return why
}

// read makes a declaration of a tree. Its errors are of this machine: the next pass tries again.
func (d *declared) read(ctx context.Context, s source.Snapshot) (sync.Declaration, error) {
	f, problems, err := d.load(ctx, origin{s, d.dir})
	if err != nil {
		return sync.Declaration{Commit: s.Commit}, err
	}
	return sync.Declaration{Commit: s.Commit, Fleet: f, Problems: problems}, nil
}
