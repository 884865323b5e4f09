// Package source answers: what does Git say now?
//
// It gives one commit as a tree of files, complete and in memory, or an error; never part of a commit, and never a work
// tree on disk. It knows files and nothing of what they declare.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/linkwright/linkwright/api"
)

// What a caller may have to tell apart, because it guards against deleting what is only out of sight.
var (
	// ErrPathGone says that the commit, or the directory, is there and the path is no directory in it.
	ErrPathGone = errors.New("the path is no directory")
	// ErrRefGone says that the repository answers and has no such branch, tag or commit.
	ErrRefGone = errors.New("no such branch, tag or commit")
	// ErrRewound says that the branch went back to an ancestor of the commit that Poll gave last.
	ErrRewound = errors.New("the history was rewound")
)

// DefaultTimeout bounds one Poll or At, from the first packet to the last file.
const DefaultTimeout = 30 * time.Second

// Snapshot is one commit, whole. Commit is empty for a plain directory. Tree implements fs.ReadDirFS, fs.ReadFileFS and
// fs.StatFS, never changes, and may be read from many goroutines.
//
// Tree holds directories and regular files only. A symbolic link, a submodule or a device anywhere under Path, whether
// anything would use it or not, gives an error that names it instead of a snapshot; so no reader of a Tree has to ask
// whether a name leads elsewhere. (A reader that takes trees from elsewhere, too, sees a link in the type of its
// fs.DirEntry, and refuses it.) Beside Path nothing is looked at. MaxFiles, MaxBytes, MaxDepth and MaxName are its bounds.
type Snapshot struct {
	Commit api.Commit
	Tree   fs.FS
}

// Source polls one ref of one repository. It may be used from several goroutines; polls take turns.
type Source struct {
	options Options
	remote  remote

	mu   sync.Mutex
	last Snapshot // what Poll gave; mu
}

// New checks the options and connects to nothing. Its errors never hold the URL's credentials.
func New(o Options) (*Source, error) {
	at, err := parse(o)
	if err != nil {
		return nil, fmt.Errorf("repository: %w", err)
	}
	if o.Auth.PasswordFile != "" && o.Auth.TokenFile != "" {
		return nil, errors.New("credentials: a password file and a token file exclude each other")
	}
	o.Path = path.Clean(cmp.Or(o.Path, "."))
	if !fs.ValidPath(o.Path) {
		return nil, fmt.Errorf("path %q: must be relative to the repository and stay inside it", o.Path)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Repo = at.name
	return &Source{options: o, remote: at}, nil
}

// String names the repository without its credentials.
func (s *Source) String() string { return s.remote.name }

// GoString keeps %#v from spelling out what the URL held.
func (s *Source) GoString() string { return s.String() }

// Poll gives the snapshot at the ref's head. While the head stands still the very same Snapshot comes back, for the price
// of one ref listing. A head that moved by force is a new snapshot, unless it went back (ErrRewound): then, as with every
// other error, nothing new is given until the branch moves on. A new process does not know what an older one was given.
func (s *Source) Poll(ctx context.Context) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap, err := s.read(ctx, s.options.Ref, s.last)
	if err != nil {
		return Snapshot{}, err
	}
	s.last = snap
	return snap, nil
}

// At gives the snapshot of a branch, a tag, or a commit that a branch or tag reaches, by its hash or four digits of it and
// more. Neighbours like main~1 are not understood. A commit that no ref names may cost fetching the whole history.
func (s *Source) At(ctx context.Context, rev string) (Snapshot, error) {
	return s.read(ctx, rev, Snapshot{})
}

// read visits the server once.
func (s *Source) read(ctx context.Context, rev string, last Snapshot) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	who, err := s.options.credentials(s.remote)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read %s: %w", s.remote.name, err)
	}
	v := visit{remote: s.remote, who: who, path: s.options.Path}
	defer v.leave()
	snap, err := v.snapshot(ctx, rev, last)
	if err != nil {
		return Snapshot{}, s.explain(who, rev, err)
	}
	return snap, nil
}
