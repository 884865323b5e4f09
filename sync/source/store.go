package source

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
)

// Bounds of a store. One that is beyond them is created again before the next fetch, which then brings a whole commit. While a pack comes in, a
// store may be larger by MaxFetch.
const (
	// MaxStore bounds the packs and their indexes together, in bytes.
	MaxStore = 1 << 30
	// MaxPacks bounds the packs: every fetch adds one, and every look-up may have to ask them all.
	MaxPacks = 50
)

// storeFormat is what the file "format" of a store begins with; another one is a store to be created again.
const storeFormat = "linkwright store 1\n"

// store is a bare repository on disk that holds some commits whole, without their ancestors: those that its file "shallow" names, as in any
// repository of Git. Nothing in it is needed: it may vanish at any time, and is then created again.
//
//	CACHE/ID.lock        held by the process that uses ID; another one takes a temporary directory
//	CACHE/ID/            ID is made of the repository's address
//	CACHE/ID/in-*        a pack, or a file, that is coming in
//	CACHE/ID.new-*       a store that is being made
//	TMPDIR/linkwright-git-*/lock   held by the process that uses this temporary directory
type store struct {
	cache string // Options.Cache
	id    string
	note  string   // what makes ID, in words
	base  string   // the directory that is used; empty until it is
	temp  bool     // base is linkwright's own, and goes with us
	lock  *os.File // of base; nil: a temporary one could not be locked
}

func newStore(cache, address string) *store {
	sum := sha256.Sum256([]byte(address))
	return &store{cache: cache, id: hex.EncodeToString(sum[:8]), note: address}
}

func (s *store) dir() string   { return filepath.Join(s.base, s.id) }
func (s *store) packs() string { return filepath.Join(s.dir(), "objects", "pack") }

// open makes sure that there is a store, and that it is linkwright's alone.
func (s *store) open() error {
	if err := s.take(); err != nil {
		return s.explain("open", err)
	}
	if isPrivateDir(s.dir()) {
		text, err := os.ReadFile(filepath.Join(s.dir(), "format"))
		if err == nil && string(text) == s.format() && isDir(s.packs()) {
			return nil
		}
	}
	return s.wipe()
}

// isPrivateDir reports whether a directory is one, and no link to one, and that nobody else put it there or may write to it: others may write to the
// directory around it.
func isPrivateDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o002 == 0 && ownedByUs(info)
}

func (s *store) format() string { return storeFormat + s.note + "\n" }

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// take finds the directory to use. One that was taken from under us, with its lock, is looked for again.
func (s *store) take() error {
	if s.base != "" && (s.temp && isDir(s.base) || !s.temp && s.locked()) {
		return nil
	}
	s.release()
	if s.cache == "" {
		return s.takeTemp()
	}
	cache, err := filepath.Abs(s.cache)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	lock, err := tryLock(filepath.Join(cache, s.id+".lock"))
	if errors.Is(err, errLocked) {
		return s.takeTemp()
	}
	if err != nil {
		return err
	}
	s.base, s.lock = cache, lock
	s.sweep()
	return nil
}

// Temporary directories, and the file in each that its process holds.
const (
	tempPrefix = "linkwright-git-"
	tempLock   = "lock"
)

func (s *store) takeTemp() error {
	sweepTemp()
	dir, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return err
	}
	s.base, s.temp, s.lock = dir, true, lockTemp(dir)
	return nil
}

// lockTemp locks a temporary directory, so that nobody sweeps it. The file gets its name once it is held. nil: it cannot be locked, and is never
// swept.
func lockTemp(dir string) *os.File {
	aside := filepath.Join(dir, tempLock+".new")
	lock, err := tryLock(aside)
	if err != nil {
		return nil
	}
	if err := os.Rename(aside, filepath.Join(dir, tempLock)); err != nil {
		_ = lock.Close()
		return nil
	}
	return lock
}

// sweepTemp takes away the temporary directories of processes that were killed: those of this user whose lock nobody holds any more.
func sweepTemp() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range dirs {
		name := filepath.Join(dir, tempLock)
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || !isPrivateDir(dir) {
			continue
		}
		if lock, err := tryLock(name); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}

// locked reports whether the file we hold is still the one that others would find.
func (s *store) locked() bool {
	mine, err := s.lock.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Lstat(filepath.Join(s.base, s.id+".lock"))
	return err == nil && os.SameFile(mine, theirs)
}

// sweep takes away what a process left that was killed. What cannot go now, goes another time.
func (s *store) sweep() {
	for _, pattern := range []string{s.id + ".new-*", s.id + "/in-*"} {
		names, _ := filepath.Glob(filepath.Join(s.base, pattern))
		for _, name := range names {
			_ = os.RemoveAll(name)
		}
	}
}

// wipe makes the store again: aside, so that there is a whole one or none.
func (s *store) wipe() error {
	return s.explain("make", errors.Join(s.remove(), s.make()))
}

// renew makes a store again in which something was wrong, be it that it is gone, with all around it.
func (s *store) renew() error {
	if err := s.open(); err != nil {
		return err
	}
	return s.wipe()
}

func (s *store) remove() error { return os.RemoveAll(s.dir()) }

func (s *store) make() error {
	aside, err := os.MkdirTemp(s.base, s.id+".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(aside) //nolint:errcheck // it has moved, or is swept another time
	for _, dir := range []string{"objects/pack", "refs"} {
		if err := os.MkdirAll(filepath.Join(aside, dir), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/none\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
		"format": s.format(),
	} {
		if err := os.WriteFile(filepath.Join(aside, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.Rename(aside, s.dir())
}

// commits returns the commits that the store holds whole, the newest last. What it cannot read, it does not hold.
func (s *store) commits() []plumbing.Hash {
	text, err := os.ReadFile(filepath.Join(s.dir(), "shallow"))
	if err != nil {
		return nil
	}
	var out []plumbing.Hash
	for line := range strings.Lines(string(text)) {
		if digits := strings.TrimSpace(line); plumbing.IsHash(digits) {
			out = append(out, plumbing.NewHash(digits))
		}
	}
	return out
}

// addCommit records that a commit is there, whole.
func (s *store) addCommit(commit plumbing.Hash) error {
	var b bytes.Buffer
	for _, h := range s.commits() {
		if h != commit {
			b.WriteString(h.String() + "\n")
		}
	}
	b.WriteString(commit.String() + "\n")
	return s.explain("write", s.replace("shallow", b.Bytes()))
}

// replace writes a file of the store aside, under a name that nobody can have put there before, and then all at once.
func (s *store) replace(name string, text []byte) error {
	f, err := os.CreateTemp(s.dir(), "in-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir(), name))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what stays is swept another time
	}
	return err
}

// limitSize makes a store again that has grown beyond its bounds.
func (s *store) limitSize() error {
	entries, err := os.ReadDir(s.packs())
	if err != nil {
		return s.wipe()
	}
	var size int64
	packs := 0
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		if strings.HasSuffix(e.Name(), ".pack") {
			packs++
		}
	}
	if size > MaxStore || packs >= MaxPacks {
		return s.wipe()
	}
	return nil
}

// explain returns which directory it was, and what to do. Where there is no room, the store is given up: it may be what took it.
func (s *store) explain(verb string, err error) error {
	if err == nil {
		return nil
	}
	dir := cmp.Or(s.base, s.cache, os.TempDir())
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		if s.base != "" {
			_ = s.remove()
		}
		return fmt.Errorf("%s store of Git in %s: %w (make room, or name another directory: a store may need %d MiB)",
			verb, dir, err, (MaxStore+MaxFetch)>>20)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s store of Git in %s: %w (name a directory that linkwright may write to)", verb, dir, err)
	}
	return &damaged{fmt.Errorf("%s store of Git in %s: %w", verb, dir, err)}
}

// release gives up the directory; a temporary one goes.
func (s *store) release() {
	if s.temp {
		_ = os.RemoveAll(s.base)
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
	s.base, s.temp, s.lock = "", false, nil
}

// damaged is an error of the store that a fresh fetch into a new one may heal.
type damaged struct{ cause error }

func (d *damaged) Error() string { return d.cause.Error() }
func (d *damaged) Unwrap() error { return d.cause }
