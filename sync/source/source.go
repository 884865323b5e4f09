// Package source reads Git.
//
// It returns one commit as a complete tree of files in memory, or an error. It never returns part of a commit, and never writes a work tree. It
// knows files, and nothing of what they declare.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/linkwright/linkwright/api"
)

// What a caller may have to tell apart, because it guards against deleting what is only out of sight.
var (
	// ErrPathGone says that the commit, or the directory, is there and the path is not a directory in it.
	ErrPathGone = errors.New("the path is not a directory")
	// ErrRefGone says that the repository answers and has no such branch, tag or commit.
	ErrRefGone = errors.New("the repository has no such branch, tag or commit")
	// ErrEmpty says that the repository answers and has no commit at all.
	ErrEmpty = transport.ErrEmptyRemoteRepository
	// ErrNonFastForward says that a commit does not descend from another one that it should follow.
	ErrNonFastForward = errors.New("not a fast-forward")
	// ErrUnknownCommit says that the repository does not have the commit any more that another one should follow.
	ErrUnknownCommit = errors.New("the repository does not have the last commit any more")
)

// DefaultTimeout bounds one Poll or At, from the first packet to the last file.
const DefaultTimeout = 30 * time.Second

// Snapshot is one commit, whole. Commit is empty for a plain directory. Tree implements fs.ReadDirFS, fs.ReadFileFS and
// fs.StatFS, never changes, and may be read from many goroutines.
//
// Tree holds directories and regular files only. A symbolic link, a submodule or a device anywhere under Path, whether anything would use it or not,
// gives an error that names it instead of a snapshot; so no reader of a Tree has to ask whether a name leads elsewhere. (A reader that takes trees
// from elsewhere, too, sees a link in the type of its fs.DirEntry, and refuses it.) Beside Path nothing is read. MaxFiles, MaxBytes, MaxDepth and
// MaxName are its bounds.
type Snapshot struct {
	Commit api.Commit
	Tree   fs.FS
}

// Source polls one ref of one repository. It may be used from several goroutines; they take turns.
type Source struct {
	options Options
	remote  remote
	choice  choice

	slot     chan struct{} // holds one token; who has it may use what follows
	store    *store
	last     Snapshot // what Poll gave
	before   *files   // the tree that was built last
	lineages lineages
	multiAck bool
	apps     appCache
	own      Hosts // where the options name none
	verifier verifier
}

// New checks the options and connects to nothing. Its errors never hold the URL's credentials.
func New(o Options) (*Source, error) {
	at, err := parse(o)
	if err != nil {
		return nil, fmt.Errorf("repository: %w", err)
	}
	if _, err := proxyFor(o.Proxy, at.address()); err != nil {
		return nil, err
	}
	o.Path = path.Clean(cmp.Or(o.Path, "."))
	if !fs.ValidPath(o.Path) {
		return nil, fmt.Errorf("path %q: must be relative to the repository and stay inside it", o.Path)
	}
	if err := checkRef(o.Ref); err != nil {
		return nil, err
	}
	if err := o.Trust.check(o.Ref); err != nil {
		return nil, err
	}
	chosen, err := newChoice(o)
	if err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Repo = at.name
	s := &Source{options: o, remote: at, choice: chosen, slot: make(chan struct{}, 1)}
	s.store, s.lineages = newStore(o.Cache, at.name), lineages{}
	s.verifier = verifier{Trust: o.Trust, evidence: map[plumbing.Hash]evidence{}}
	s.slot <- struct{}{}
	return s, nil
}

// Close gives up the store; a temporary one is removed. Snapshots stay as they are; the Source must not be used any more.
func (s *Source) Close() error {
	<-s.slot
	defer func() { s.slot <- struct{}{} }()
	s.store.release()
	return nil
}

// String names the repository without its credentials.
func (s *Source) String() string { return s.remote.name }

// Format keeps every verb from spelling out what the addresses held.
func (s *Source) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, s.String()) }

// Poll returns the snapshot at the ref's head. While the head stands still the very same Snapshot comes back, for the price of one ref listing; a
// pinned commit costs no request once it was given. Whatever the head is, is given: whether it may be applied after another one, Follows tells.
func (s *Source) Poll(ctx context.Context) (Snapshot, error) {
	var snap Snapshot
	err := s.visit(ctx, s.options.Ref, func(ctx context.Context, v *visit) (err error) {
		if s.last.Commit != "" && strings.EqualFold(string(s.last.Commit), s.options.Ref) {
			if snap, err = v.again(ctx, target{commit: string(s.last.Commit)}, s.last); snap.Commit != "" || err != nil {
				return err
			}
		}
		if snap, err = v.snapshot(ctx, s.options.Ref, s.last); err == nil {
			s.last = snap
		}
		return err
	})
	return snap, err
}

// At returns the snapshot of a branch, a tag, or a commit that a branch or tag reaches, by its hash or four digits of it and more. All 40 digits are
// a commit and never a name; so are fewer after "commit:". Expressions such as main~1 are an error. A commit that the store holds costs no
// request; one that no ref names may cost fetching the whole history.
func (s *Source) At(ctx context.Context, rev string) (Snapshot, error) {
	if err := checkRef(rev); err != nil {
		return Snapshot{}, err
	}
	var snap Snapshot
	err := s.visit(ctx, rev, func(ctx context.Context, v *visit) (err error) {
		snap, err = v.snapshot(ctx, rev, Snapshot{})
		return err
	})
	return snap, err
}

// Follows says whether commit is last or descends from it: nil, or an error that is ErrRewound, or ErrForgotten when the
// repository does not have last any more. With any other error it is not known. The server is asked, unless the store holds
// commit and last is a parent of it; answers that cannot change are remembered.
func (s *Source) Follows(ctx context.Context, commit, last api.Commit) error {
	if commit == last {
		return nil
	}
	if !plumbing.IsHash(string(commit)) || !plumbing.IsHash(string(last)) {
		return fmt.Errorf("compare %q with %q: want two hashes of 40 digits", commit, last)
	}
	return s.visit(ctx, string(commit), func(ctx context.Context, v *visit) error {
		if err, ok := s.lineages[[2]api.Commit{commit, last}]; ok {
			return err
		}
		err := v.descent(ctx, plumbing.NewHash(string(commit)), plumbing.NewHash(string(last)))
		s.lineages.keep(commit, last, err)
		return err
	})
}

// visit takes its turn, and explains what went wrong.
func (s *Source) visit(ctx context.Context, rev string, f func(context.Context, *visit) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	v := &visit{
		dialer: dialer{s.remote, route{source: s}}, path: s.options.Path, choice: s.choice, store: s.store, multiAck: &s.multiAck,
	}
	select {
	case <-s.slot:
		defer func() { s.slot <- struct{}{} }()
	case <-ctx.Done():
		return s.explain(v, rev, context.Cause(ctx))
	}
	v.before, v.verifier = s.before, s.verifier.next()
	err := v.leave(ctx, f(ctx, v))
	s.before = v.before
	return s.explain(v, rev, err)
}
