package source

import (
	"errors"
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// tree reads the files under dir of a commit; what an older tree of the same choice has is taken from there.
func (o *objects) tree(commit plumbing.Hash, dir string, c choice, before *files) (*files, error) {
	top, err := o.treeOf(commit)
	if err != nil {
		return nil, err
	}
	root := entry{name: ".", dir: true, hash: top}
	for i := range len(dir) + 1 {
		if dir == "." || i < len(dir) && dir[i] != '/' {
			continue
		}
		if root, err = o.step(root, dir[:i]); err != nil {
			return nil, fmt.Errorf("%w in %s (check --path)", err, commit)
		}
	}
	root.name = "."
	return build(o, root, c, before)
}

// treeOf returns the tree of a commit.
func (o *objects) treeOf(hash plumbing.Hash) (plumbing.Hash, error) {
	c, err := o.commit(hash)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("read commit %s: %w", hash, err)
	}
	return c.TreeHash, nil
}

func (o *objects) commit(hash plumbing.Hash) (*object.Commit, error) {
	obj, err := o.decodable(plumbing.CommitObject, hash)
	if err != nil {
		return nil, err
	}
	c := &object.Commit{}
	return c, c.Decode(obj)
}

// step goes down into the directory at a path; it follows nothing else.
func (o *objects) step(from entry, at string) (entry, error) {
	entries, err := o.list(path.Dir(at), from)
	if err != nil {
		return entry{}, err
	}
	for _, e := range entries {
		switch {
		case e.name != path.Base(at):
		case errors.Is(e.bad, errLink):
			return e, fmt.Errorf("%w: %s is a symbolic link", ErrPathGone, at)
		case errors.Is(e.bad, errModule):
			return e, fmt.Errorf("%w: %s is a submodule", ErrPathGone, at)
		case !e.dir:
			return e, fmt.Errorf("%w: %s is a file", ErrPathGone, at)
		default:
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("%w: %s does not exist", ErrPathGone, at)
}

var (
	errLink   = errors.New("a symbolic link")
	errModule = errors.New("a submodule")
)

// list implements shelf.
func (o *objects) list(at string, e entry) ([]entry, error) {
	obj, err := o.decodable(plumbing.TreeObject, e.hash)
	if err != nil {
		return nil, fmt.Errorf("read directory %s: %w", at, err)
	}
	t := &object.Tree{}
	if err := t.Decode(obj); err != nil {
		return nil, fmt.Errorf("read directory %s: %w", at, err)
	}
	out := make([]entry, len(t.Entries))
	for i, e := range t.Entries {
		out[i] = entry{name: e.Name, hash: e.Hash, dir: e.Mode == filemode.Dir || e.Mode == filemode.Submodule}
		out[i].bad = unreadable(path.Join(at, e.Name), e.Mode)
	}
	return out, nil
}

func unreadable(at string, mode filemode.FileMode) error {
	switch mode {
	case filemode.Regular, filemode.Executable, filemode.Deprecated, filemode.Dir:
		return nil
	case filemode.Symlink:
		return excluded(at, errLink, "commit the file itself")
	case filemode.Submodule:
		return excluded(at, errModule, "commit the files themselves")
	}
	return excluded(at, fmt.Errorf("of mode %s", mode), "commit a regular file")
}

// open implements shelf.
func (o *objects) open(_ string, e entry) (int64, func() ([]byte, error), error) {
	obj, err := o.find(plumbing.BlobObject, e.hash)
	if err != nil {
		return 0, nil, err
	}
	return obj.Size(), func() ([]byte, error) { return o.read(obj, e.hash) }, nil
}
