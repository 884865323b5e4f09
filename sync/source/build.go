package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Bounds of one snapshot, under Path, be it of a commit or of a directory. What Include and Exclude leave out counts nothing, but that it is read.
const (
	// MaxFiles bounds files and directories together: a tree may name one directory many times over.
	MaxFiles = 20_000
	// MaxBytes bounds the sum of the files' sizes.
	MaxBytes = 64 << 20
	// MaxDepth bounds directories in one another: names grow with each of them.
	MaxDepth = 64
	// MaxName bounds the name of a file or directory, in bytes, as file systems do.
	MaxName = 255
	// MaxEntries bounds the entries of directories that are read, chosen or not.
	MaxEntries = 1_000_000
)

// ErrTooLarge says that a tree exceeds these bounds.
var ErrTooLarge = errors.New("too large")

// entry is one line of a directory.
type entry struct {
	name string
	dir  bool
	hash plumbing.Hash // zero on this machine
	bad  error         // why it cannot be read; told only if somebody chose it
}

// treeReader is what a tree is read from: a commit, or a directory of this machine. Paths begin at its root, ".".
type treeReader interface {
	list(at string, e entry) ([]entry, error)
	// open gives a file's size, and reads it when it is called.
	open(at string, e entry) (int64, func() ([]byte, error), error)
}

// builder makes a tree of what patterns choose.
type builder struct {
	from     treeReader
	choice   choice
	old      map[plumbing.Hash][]byte // files of an older tree; nil until one is looked for
	before   *node                    // the older tree's root, built by the same choice, or nil
	sum      sum
	compared int
}

// build reads a tree; what stands unchanged in the one before is not read again. An Include that chose nothing is an error.
func build(from treeReader, root entry, c choice, before *files) (*files, error) {
	b := &builder{from: from, choice: c}
	if before != nil {
		b.before = before.root
	}
	n, err := b.dir(".", root, b.before, verdict{in: len(c.include) == 0})
	if err != nil {
		return nil, err
	}
	return &files{root: n}, c.missed(n.sum.hits)
}

// dir reads one directory and what is below it. One without a chosen file is nil where Include says what is chosen.
func (b *builder) dir(at string, e entry, old *node, v verdict) (*node, error) {
	if old != nil && old.dir && old.hash == e.hash && !e.hash.IsZero() {
		return old, b.count(at, old.sum)
	}
	entries, err := b.from.list(at, e)
	if err != nil {
		return nil, err
	}
	n := &node{name: e.name, dir: true, hash: e.hash, entries: make([]fs.DirEntry, 0, len(entries))}
	for _, c := range entries {
		child, err := b.entry(path.Join(at, c.name), c, old.child(c.name), v)
		if err != nil {
			return nil, err
		}
		if child != nil {
			n.entries = append(n.entries, child)
			n.sum.add(child.sum)
		}
	}
	if err := b.order(at, n); err != nil {
		return nil, err
	}
	if at == "." {
		return n, nil
	}
	if len(n.entries) == 0 && len(b.choice.include) > 0 {
		return nil, nil // nothing was chosen, which is no error
	}
	n.sum.add(sum{nodes: 1})
	return n, b.count(at, sum{nodes: 1})
}

// order sorts a directory. Git does as if a directory's name ended in a slash, and may say a name twice.
func (b *builder) order(at string, n *node) error {
	slices.SortFunc(n.entries, func(x, y fs.DirEntry) int { return cmp.Compare(x.Name(), y.Name()) })
	for i := 1; i < len(n.entries); i++ {
		if name := n.entries[i].Name(); name == n.entries[i-1].Name() {
			return fmt.Errorf("%s: is twice in its directory", path.Join(at, name))
		}
	}
	return nil
}

// entry returns nil for what is not chosen.
func (b *builder) entry(at string, e entry, old *node, v verdict) (*node, error) {
	if b.compared++; b.compared > MaxEntries {
		return nil, fmt.Errorf("%s: there are more than %d entries: name a smaller directory with --path", at, MaxEntries)
	}
	if err := e.check(at); err != nil {
		return nil, err
	}
	v = b.choice.judge(strings.Split(at, "/"), e.dir, v)
	switch {
	case v.out, !v.in && (!e.dir || e.bad != nil):
		return nil, nil //nolint:nilerr // it is not chosen, which is no error
	case e.bad != nil:
		return nil, e.bad
	case e.dir:
		return b.dir(at, e, old, v)
	}
	n, err := b.file(at, e, old)
	if err != nil {
		return nil, err
	}
	n.sum.hits = v.hits
	return n, nil
}

func (e entry) check(at string) error {
	switch {
	case len(e.name) > MaxName:
		return fmt.Errorf("%s: holds an entry whose name has more than %d bytes", path.Dir(at), MaxName)
	case !fs.ValidPath(e.name) || e.name == "." || strings.Contains(e.name, "/"):
		return fmt.Errorf("%s: holds an entry named %q, which is not a file name", path.Dir(at), e.name)
	case strings.Count(at, "/") > MaxDepth:
		return fmt.Errorf("%s: lies in more than %d directories", at, MaxDepth)
	}
	return nil
}

// file reads a file, if it fits in; one that the older tree has, at this path or another, is taken from there.
func (b *builder) file(at string, e entry, old *node) (*node, error) {
	data, ok := b.unchanged(e.hash, old)
	size, read := int64(len(data)), func() ([]byte, error) { return data, nil }
	if !ok {
		var err error
		if size, read, err = b.from.open(at, e); err != nil {
			return nil, fmt.Errorf("read file %s: %w", at, err)
		}
	}
	n := &node{name: e.name, hash: e.hash, sum: sum{nodes: 1, bytes: size}}
	if err := b.count(at, n.sum); err != nil {
		return nil, err
	}
	data, err := read()
	if err != nil {
		return nil, fmt.Errorf("read file %s: %w", at, err)
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("read file %s: %w", at, errChanged)
	}
	n.data = data
	return n, nil
}

var errChanged = errors.New("it changed while it was read")

// unchanged looks for a file in the older tree.
func (b *builder) unchanged(hash plumbing.Hash, old *node) ([]byte, bool) {
	if hash.IsZero() || b.before == nil {
		return nil, false
	}
	if old != nil && !old.dir && old.hash == hash {
		return old.data, true
	}
	if b.old == nil {
		b.old = map[plumbing.Hash][]byte{}
		b.before.blobs(b.old)
	}
	data, ok := b.old[hash]
	return data, ok
}

// count keeps the bounds.
func (b *builder) count(at string, s sum) error {
	b.sum.add(s)
	switch {
	case b.sum.bytes > MaxBytes:
		return fmt.Errorf("%w: with %s, the files are larger than %d MiB together (read less with --path, --include or --exclude)", ErrTooLarge, at, MaxBytes>>20)
	case b.sum.nodes > MaxFiles:
		return fmt.Errorf("%w: with %s, there are more than %d files and directories (read less with --path, --include or --exclude)", ErrTooLarge, at, MaxFiles)
	}
	return nil
}

func excluded(name string, what error, hint string) error {
	return fmt.Errorf("%s: is %w, and linkwright reads only regular files and directories (%s)", name, what, hint)
}
