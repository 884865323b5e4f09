// Package declared loads what a repository declares: it makes a fleet of a commit's tree, built by kustomize if the tree asks for that, and applies
// the clusters' overlays to what is rendered.
package declared

import (
	"context"
	"errors"
	"fmt"
	gosync "sync"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/source"
)

// Repository is what is asked of a source.
type Repository interface {
	Poll(ctx context.Context) (source.Snapshot, error)
	At(ctx context.Context, rev string) (source.Snapshot, error)
	Follows(ctx context.Context, commit, last api.Commit) error
}

// Pinned has one revision for its head.
type Pinned struct {
	Repository
	Rev string
}

// Poll implements Repository.
func (p Pinned) Poll(ctx context.Context) (source.Snapshot, error) { return p.At(ctx, p.Rev) }

// Branch is what a branch of a repository declares. An unchanged commit is loaded once, unless it gave no fleet: a build
// that took too long may be quicker the next time.
type Branch struct {
	Source Repository
	Loader *Loader
	Dir    string              // of the tree in its repository
	In     object.Installation // whose commands errors name
	last   sync.Declaration

	mu         gosync.Mutex
	fullHashes map[api.Commit]api.Commit // of commits that are allowed by their first digits; mu
}

// Next implements sync.Declared.
func (d *Branch) Next(ctx context.Context) (sync.Declaration, error) {
	s, err := d.Source.Poll(ctx)
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
func (d *Branch) At(ctx context.Context, commit api.Commit) (sync.Declaration, error) {
	s, err := d.Source.At(ctx, string(commit))
	if err != nil {
		return sync.Declaration{}, err
	}
	return d.read(ctx, s)
}

// Follows implements sync.Declared.
func (d *Branch) Follows(ctx context.Context, commit, last api.Commit, allowed []api.Commit) error {
	if last == "" {
		return d.mayApplyUnknown(ctx, commit, allowed)
	}
	follows := func(commit, last api.Commit) error {
		return d.allowable(d.Source.Follows(ctx, commit, last), commit, last)
	}
	why := follows(commit, last)
	if why == nil {
		return nil
	}
	for _, one := range allowed {
		one, err := d.fullHash(ctx, one, commit, last)
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

// read makes a declaration of a tree. Its errors are of this machine: the next sync tries again.
func (d *Branch) read(ctx context.Context, s source.Snapshot) (sync.Declaration, error) {
	f, problems, err := d.Loader.Load(ctx, Origin{Snapshot: s, Dir: d.Dir})
	if err != nil {
		return sync.Declaration{Commit: s.Commit}, err
	}
	return sync.Declaration{Commit: s.Commit, Fleet: f, Problems: problems}, nil
}
