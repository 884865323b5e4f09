package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Dir gives a plain directory on this machine, read once, under the rules that a commit is read under: what passes here
// passes from Git. Its own .git is left out; Commit is empty.
func Dir(dir string) (Snapshot, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read directory: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	into := newFiles()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return walk(into, root, name, d)
	})
	if err != nil {
		return Snapshot{}, fmt.Errorf("read directory %s: %w", dir, err)
	}
	return Snapshot{Tree: into}, nil
}

// File gives one file of this machine as a tree of its own, under the rules of Dir.
func File(name string) (Snapshot, error) {
	dir, base := filepath.Split(name)
	root, err := os.OpenRoot(cmp.Or(dir, "."))
	if err != nil {
		return Snapshot{}, fmt.Errorf("read file: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	info, err := root.Lstat(base)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read file: %w", err)
	}
	into := newFiles()
	if err := walk(into, root, base, fs.FileInfoToDirEntry(info)); err != nil {
		return Snapshot{}, fmt.Errorf("read file: %w", err)
	}
	return Snapshot{Tree: into}, nil
}

func walk(into *files, root *os.Root, name string, d fs.DirEntry) error {
	switch {
	case name == ".":
		return nil
	case name == ".git" && d.IsDir():
		return fs.SkipDir
	case name == ".git":
		return nil // of a second work tree, or of a submodule's
	case path.Base(name) == ".git":
		return refused(path.Dir(name), "a repository of its own", "commit the files themselves")
	case d.IsDir():
		return into.mkdir(name)
	case d.Type()&fs.ModeSymlink != 0:
		return refused(name, "a symbolic link", "put the file itself there")
	case !d.Type().IsRegular():
		return refused(name, "no regular file", "take it away")
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	return into.add(name, info.Size(), func() ([]byte, error) { return read(root, name, info.Size()) })
}

// read takes a file that still has the size it was counted with.
func read(root *os.Root, name string, size int64) ([]byte, error) {
	data, err := root.ReadFile(name)
	if err == nil && int64(len(data)) != size {
		return nil, errors.New("it changed while it was read")
	}
	return data, err
}
