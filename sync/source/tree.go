package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Bounds of one snapshot, under Path, be it of a commit or of a directory.
const (
	// MaxFiles bounds files and directories together: a tree may name one directory many times over.
	MaxFiles = 20_000
	// MaxBytes bounds the sum of the files' sizes.
	MaxBytes = 64 << 20
	// MaxDepth bounds directories in one another: names grow with each of them.
	MaxDepth = 64
	// MaxName bounds the name of a file or directory, in bytes, as file systems do.
	MaxName = 255
)

// tree takes the files under dir out of the objects of a commit.
func (o *objects) tree(at target, dir string) (plumbing.Hash, fs.FS, error) {
	hash, err := o.one(at)
	if err != nil {
		return hash, nil, err
	}
	commit, err := object.GetCommit(o, hash)
	if err != nil {
		return hash, nil, fmt.Errorf("read commit %s: %w", hash, err)
	}
	top, err := commit.Tree()
	if err != nil {
		return hash, nil, fmt.Errorf("read tree of commit %s: %w", hash, err)
	}
	root := top
	if dir != "." {
		root, err = top.Tree(dir)
	}
	if errors.Is(err, object.ErrDirectoryNotFound) {
		return hash, nil, fmt.Errorf("%w: %s in %s%s", ErrPathGone, dir, hash, instead(top, dir))
	}
	if err != nil {
		return hash, nil, fmt.Errorf("read %s of commit %s: %w", dir, hash, err)
	}
	into := newFiles()
	return hash, into, o.copy(into, root, ".")
}

// instead says what stands where a directory was looked for, if it is something that others would follow.
func instead(root *object.Tree, dir string) string {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		switch e, err := root.FindEntry(dir[:i]); {
		case err != nil:
			return ""
		case e.Mode == filemode.Symlink:
			return ": " + dir[:i] + " is a symbolic link"
		case e.Mode == filemode.Submodule:
			return ": " + dir[:i] + " is a submodule"
		}
	}
	return ""
}

// copy fills in one directory and what is below it.
func (o *objects) copy(into *files, t *object.Tree, dir string) error {
	for _, e := range t.Entries {
		name := path.Join(dir, e.Name)
		if len(e.Name) > MaxName {
			return fmt.Errorf("%s: holds an entry whose name has more than %d bytes", dir, MaxName)
		}
		if !fs.ValidPath(e.Name) || e.Name == "." || strings.Contains(e.Name, "/") {
			return fmt.Errorf("%s: holds an entry named %q, which is no file name", dir, e.Name)
		}
		if err := o.entry(into, e, name); err != nil {
			return err
		}
	}
	return nil
}

func (o *objects) entry(into *files, e object.TreeEntry, name string) error {
	switch e.Mode {
	case filemode.Regular, filemode.Executable, filemode.Deprecated:
		return o.file(into, e.Hash, name)
	case filemode.Dir:
		if err := into.mkdir(name); err != nil {
			return err
		}
		below, err := object.GetTree(o, e.Hash)
		if err != nil {
			return fmt.Errorf("read directory %s: %w", name, err)
		}
		return o.copy(into, below, name)
	case filemode.Symlink:
		return refused(name, "a symbolic link", "commit the file itself")
	case filemode.Submodule:
		return refused(name, "a submodule", "commit the files themselves")
	}
	return refused(name, fmt.Sprintf("of mode %s", e.Mode), "commit a regular file")
}

func (o *objects) file(into *files, hash plumbing.Hash, name string) error {
	blob, err := object.GetBlob(o, hash)
	if err != nil {
		return fmt.Errorf("read file %s: %w", name, err)
	}
	return into.add(name, blob.Size, func() ([]byte, error) {
		r, err := blob.Reader()
		if err != nil {
			return nil, err
		}
		defer r.Close() //nolint:errcheck // it reads from memory
		return io.ReadAll(r)
	})
}

func refused(name, what, hint string) error {
	return fmt.Errorf("%s: is %s, and only regular files and directories are read (%s)", name, what, hint)
}
