package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/config"
)

// Dir gives the directory below of a plain directory on this machine, read once, under the rules that a commit is read
// under: what passes here passes from Git, with the same bounds. An empty one is dir itself; nothing beside it is looked
// at, but what dir's .gitmodules says. The .git of dir is left out; Commit is empty.
func Dir(dir, below string) (Snapshot, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read directory: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	into := newFiles()
	if err := into.dir(root, cmp.Or(below, ".")); err != nil {
		return Snapshot{}, fmt.Errorf("read directory %s: %w", dir, err)
	}
	return Snapshot{Tree: into}, nil
}

// dir fills in what is below a path.
func (f *files) dir(root *os.Root, at string) error {
	modules, err := submodules(root)
	if err != nil {
		return err
	}
	sub, err := descend(root, at)
	if err != nil {
		return err
	}
	defer sub.Close() //nolint:errcheck // nothing was written
	err = fs.WalkDir(sub.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return walk(f, sub, name, d)
	})
	if err != nil {
		return err
	}
	return f.hollow(at, modules)
}

// descend opens a directory below the root; it follows no link, as Git would not.
func descend(root *os.Root, at string) (*os.Root, error) {
	if !fs.ValidPath(at) {
		return nil, fmt.Errorf("path %q: must be relative to the directory and stay inside it", at)
	}
	if at == "." {
		return root.OpenRoot(".")
	}
	for i := range len(at) + 1 {
		if i < len(at) && at[i] != '/' {
			continue
		}
		info, err := root.Lstat(at[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: there is no %s", ErrPathGone, at[:i])
		case err != nil:
			return nil, err
		case info.Mode().Type() == fs.ModeSymlink:
			return nil, fmt.Errorf("%w: %s is a symbolic link", ErrPathGone, at[:i])
		case !info.IsDir():
			return nil, fmt.Errorf("%w: %s is a file", ErrPathGone, at[:i])
		}
	}
	if _, err := root.Lstat(at + "/.git"); err == nil {
		return nil, refused(at, "a repository of its own", "commit the files themselves")
	}
	return root.OpenRoot(at)
}

// submodules gives the paths that .gitmodules names. Where one was never checked out, nothing else in a work tree tells it
// from an empty directory.
func submodules(root *os.Root) ([]string, error) {
	const most = 1 << 20
	info, err := root.Lstat(".gitmodules")
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // without such a file there are none; what else it is, is told where the files are read
	}
	if info.Size() > most {
		return nil, fmt.Errorf(".gitmodules: is larger than %d MiB", most>>20)
	}
	data, err := root.ReadFile(".gitmodules")
	if err != nil {
		return nil, err
	}
	modules := config.NewModules()
	if err := modules.Unmarshal(data); err != nil {
		return nil, fmt.Errorf(".gitmodules: %w", err)
	}
	var out []string
	for _, m := range modules.Submodules {
		out = append(out, m.Path)
	}
	return slices.Sorted(slices.Values(out)), nil
}

// hollow refuses submodules that are not checked out.
func (f *files) hollow(at string, modules []string) error {
	for _, name := range modules {
		below := name
		if at != "." {
			below = strings.TrimPrefix(name, at+"/")
		}
		if n := f.nodes[below]; n != nil && n.dir && len(n.entries) == 0 && (at == "." || below != name) {
			return refused(below, "a submodule", "commit the files themselves")
		}
	}
	return nil
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
